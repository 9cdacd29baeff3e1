//! A tenant namespace that cannot be read. A withdrawal needs its metadata alone.

use liqo_auth::{
    Machine,
    crypto::Entropy,
    error::{Fault, LocalFault},
    machine::{Env, Objects},
    model::{Kind, Namespace, Object, ObjectRef, Tenant, TenantCondition, names},
};
use liqo_auth_rehearsal::{ALL, Occurrence, Rehearsal};
use serde_json::{Value, json};

#[test]
fn an_unreadable_tenant_namespace_stops_neither_a_drain_nor_an_end() {
    let spoils: [fn(&mut Value); 4] = [
        |metadata| metadata["annotations"] = json!({ "padding": "A".repeat(300 * 1024) }),
        // Its name tells whose it is.
        |metadata| metadata["labels"] = json!(5),
        |metadata| metadata["labels"]["padding"] = json!("A".repeat(300 * 1024)),
        |metadata| {
            metadata["labels"] = json!({ names::REMOTE_CLUSTER_ID_LABEL: "cl-consumer" });
            metadata["uid"] = json!(5);
        },
    ];
    for spoil in spoils {
        for is_drained in [true, false] {
            let mut rehearsal = authenticated();
            spoil_namespace(&mut rehearsal.at_provider, spoil);
            let granted = bindings(&rehearsal.at_provider);
            assert_eq!(granted.len(), 2);
            // Nothing is granted meanwhile, and nothing is taken away.
            assert_refused(&rehearsal, &rehearsal.at_provider);
            let mut without = rehearsal.at_provider.clone();
            without.remove(&granted[0]).unwrap();
            assert_refused(&rehearsal, &without);

            let view = rehearsal.at_provider.view(rehearsal.consumer.cluster_id());
            let step = match is_drained {
                true => rehearsal
                    .provider
                    .set_condition(&view, TenantCondition::Drained),
                false => rehearsal.provider.end(&view),
            };
            for effect in step.unwrap().effects {
                rehearsal.at_provider.apply(&effect).unwrap();
            }
            rehearsal
                .play(Occurrence::Provider { effects: ALL })
                .unwrap();
            assert_eq!(bindings(&rehearsal.at_provider), []);
            let tenant: Option<&Tenant> = rehearsal.at_provider.get(NAMESPACE, "cl-consumer");
            assert_eq!(tenant.is_some(), is_drained);
            // The Namespace is neither made again nor changed.
            assert!(rehearsal.at_provider.object(&namespace_id()).is_some());
        }
    }
}

/// A tenant namespace may have any name.
#[test]
fn an_unreadable_namespace_elsewhere_leaves_the_labelled_one_in_its_place() {
    let mut rehearsal = authenticated();
    for (name, labels) in [
        (
            "liqo-tenant-other",
            json!({ names::REMOTE_CLUSTER_ID_LABEL: "other" }),
        ),
        ("unlabelled", json!(5)),
        (
            "not-a-tenant-namespace",
            json!({ names::REMOTE_CLUSTER_ID_LABEL: "cl-consumer" }),
        ),
    ] {
        rehearsal.at_provider.insert(Object::from_value(json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": { "name": name, "labels": labels, "uid": 5 },
        })));
    }
    assert_refused(&rehearsal, &rehearsal.at_provider);
    let view = rehearsal.at_provider.view(rehearsal.consumer.cluster_id());
    let drained = rehearsal
        .provider
        .set_condition(&view, TenantCondition::Drained);
    for effect in drained.unwrap().effects {
        rehearsal.at_provider.apply(&effect).unwrap();
    }
    rehearsal
        .play(Occurrence::Provider { effects: ALL })
        .unwrap();
    assert_eq!(bindings(&rehearsal.at_provider), []);
}

/// It is unknown where the peer's Tenant is, so nothing counts as gone.
#[test]
fn without_a_namespace_that_is_the_peers_by_its_metadata_nothing_is_withdrawn() {
    let consumer = || "cl-consumer".parse().unwrap();
    let labels =
        Object::from(Namespace::for_tenant(&consumer())).to_value()["metadata"]["labels"].take();
    for more in [
        // The labels of two name the peer.
        vec![
            ("another", labels),
            (
                NAMESPACE,
                json!({ names::REMOTE_CLUSTER_ID_LABEL: "cl-consumer", names::TENANT_NAMESPACE_LABEL: "true" }),
            ),
        ],
        vec![
            ("another", json!(5)),
            (
                NAMESPACE,
                json!({ names::REMOTE_CLUSTER_ID_LABEL: "somebody-else" }),
            ),
        ],
    ] {
        let mut rehearsal = authenticated();
        rehearsal.at_provider.remove(&namespace_id()).unwrap();
        for (name, labels) in more {
            rehearsal.at_provider.insert(Object::from_value(json!({
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": { "name": name, "labels": labels, "uid": 5 },
            })));
        }
        let view = rehearsal.at_provider.view(rehearsal.consumer.cluster_id());
        let drained = rehearsal
            .provider
            .set_condition(&view, TenantCondition::Drained);
        assert_unreadable(drained);
        assert_refused(&rehearsal, &rehearsal.at_provider);
    }
}

/// Nor is a certificate issued that would wait for its rights.
#[test]
fn a_handshake_stops_while_the_tenant_namespace_cannot_be_read() {
    let mut rehearsal = Rehearsal::new(7).unwrap();
    let mut stopped = 0;
    for _ in 0..16 {
        rehearsal.play(Occurrence::Provider { effects: 1 }).unwrap();
        stopped += stops(&rehearsal);
        rehearsal
            .play(Occurrence::Consumer { effects: ALL })
            .unwrap();
        for message in 0..rehearsal.messages.len() {
            let delivered = Occurrence::Deliver {
                message,
                effects: 1,
            };
            rehearsal.play(delivered).unwrap();
            stopped += stops(&rehearsal);
        }
    }
    rehearsal.settle().unwrap();
    assert!(rehearsal.is_complete().unwrap());
    assert!(stopped > 16, "{stopped}");
}

/// The number of steps of the provider that give nothing, since its tenant namespace, if it
/// exists, cannot be read.
fn stops(rehearsal: &Rehearsal) -> usize {
    let mut objects = rehearsal.at_provider.clone();
    if objects.object(&namespace_id()).is_none() {
        return 0;
    }
    spoil_namespace(&mut objects, |metadata| metadata["labels"] = json!(5));
    let env = Env {
        now: rehearsal.now,
        entropy: Entropy::from_bytes([7; 32]),
    };
    let view = objects.view(rehearsal.consumer.cluster_id());
    if let Ok(step) = rehearsal.provider.reconcile(&view, env) {
        assert_eq!(step.effects, []);
    }
    1
}

fn assert_refused(rehearsal: &Rehearsal, objects: &Objects) {
    let view = objects.view(rehearsal.consumer.cluster_id());
    let env = Env {
        now: rehearsal.now,
        entropy: Entropy::from_bytes([7; 32]),
    };
    assert_unreadable(rehearsal.provider.look(&view, rehearsal.now));
    assert_unreadable(rehearsal.provider.reconcile(&view, env));
}

fn assert_unreadable<T: core::fmt::Debug>(result: Result<T, liqo_auth::error::Error>) {
    let error = result.unwrap_err();
    let fault = error.fault();
    let is_unreadable = matches!(fault, Fault::Local(LocalFault::Unreadable { .. }));
    assert!(is_unreadable, "{error}");
    let kind = error.at().object.as_ref().map(|id| id.kind);
    assert_eq!(kind, Some(Kind::Namespace), "{error}");
}

fn spoil_namespace(objects: &mut Objects, spoil: fn(&mut Value)) {
    let mut value = objects.object(&namespace_id()).unwrap().to_value();
    spoil(&mut value["metadata"]);
    objects.insert(Object::from_value(value));
    let stored = objects.object(&namespace_id()).unwrap();
    assert!(stored.as_unreadable().is_some());
}

fn namespace_id() -> ObjectRef {
    ObjectRef::new(Kind::Namespace, "", NAMESPACE)
}

fn authenticated() -> Rehearsal {
    let mut rehearsal = Rehearsal::new(7).unwrap();
    rehearsal.settle().unwrap();
    assert!(rehearsal.is_complete().unwrap());
    rehearsal
}

fn bindings(objects: &Objects) -> Vec<ObjectRef> {
    let ids = objects.iter().map(Object::id);
    ids.filter(|id| [Kind::RoleBinding, Kind::ClusterRoleBinding].contains(&id.kind))
        .collect()
}

const NAMESPACE: &str = "liqo-tenant-cl-consumer";
