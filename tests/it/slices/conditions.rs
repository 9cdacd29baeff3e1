//! Cordoned, drained and active again: what happens to a peer's slices, and who
//! may lift a recorded condition.

use core::time::Duration;
use std::collections::BTreeSet;

use liqo_auth::{
    audit::Decision,
    error::{Fault, Precondition},
    machine::{Effect, Notice},
    model::{
        Kind, Object, ObjectRef, Resource, ResourceSlice, ResourceSliceConditionStatus as Said,
        ResourceSliceConditionType as About, TenantCondition, names,
    },
};

use crate::clusters::pool::{NAMESPACE, Pool, consumer, replica, resources};

const ACCEPTED: [Option<Said>; 2] = [Some(Said::Accepted), Some(Said::Accepted)];
pub(super) const RECORD: &str = "liqo-auth-provider-cl-consumer";

#[test]
fn cordoning_annotates_existing_slices_and_denies_new_ones() {
    let mut pool = Pool::new();
    pool.bring(replica("old")).settle();
    let told = pool.slice("old").unwrap().status.clone();
    pool.write_condition(TenantCondition::Cordoned).settle();
    assert!(is_marked(&pool, "old"));
    assert_eq!(pool.slice("old").unwrap().status, told);

    pool.bring(replica("new")).settle();
    assert!(is_marked(&pool, "new"));
    assert_eq!(pool.said("new"), [Some(Said::Accepted), Some(Said::Denied)]);
    let denied = pool.condition("new", About::Resources).unwrap();
    assert_eq!(
        (denied.reason.as_str(), denied.message.as_str()),
        (
            "ResourceSliceResourcesDenied",
            "ResourceSlice resources denied"
        )
    );
    assert_eq!(pool.phase("new"), "Denied");
    assert_eq!(bindings(&pool), 2);

    // No more resources are granted, even if the annotation is removed.
    pool.edit("old", |slice| {
        slice.spec.resources = resources(&[("cpu", "200")]);
        slice.metadata.annotations.clear();
    })
    .settle();
    assert!(is_marked(&pool, "old"));
    assert_eq!(pool.slice("old").unwrap().status, told);
    pool.edit("old", |slice| {
        let annotations = &mut slice.metadata.annotations;
        annotations.insert(names::CORDON_TENANT_ANNOTATION.into(), "false".into());
    })
    .settle();
    assert!(is_marked(&pool, "old"));

    // Active again: the annotation is removed, and the resources are decided
    // on.
    pool.administer(|provider, objects, _| {
        provider.set_condition(&objects.view(&consumer()), TenantCondition::Active)
    });
    pool.settle();
    for name in ["old", "new"] {
        assert!(!is_marked(&pool, name), "{name}");
        assert_eq!(pool.said(name), ACCEPTED, "{name}");
    }
    assert_eq!(
        pool.slice("old").unwrap().status.resources,
        resources(&[("cpu", "200")])
    );
    assert_eq!(pool.signer.different(), 2);
}

#[test]
fn certificates_of_a_cordoned_peer_are_renewed() {
    let mut pool = Pool::with(|builder| {
        builder.configure(|config| config.certificate_lifetime = Duration::from_secs(90))
    });
    pool.bring(replica("mypool")).settle();
    pool.write_condition(TenantCondition::Cordoned).settle();
    pool.wait(Duration::from_secs(61)).settle();
    assert_eq!(pool.signer.different(), 2);
}

#[test]
fn draining_denies_and_then_deletes_the_slices_and_withdraws_the_rights() {
    let mut pool = Pool::new();
    pool.bring(replica("mypool")).settle();
    let mut local = replica("local");
    local.metadata.labels = [
        (names::REPLICATION_LABEL, "true"),
        (names::REPLICATION_DESTINATION_LABEL, "cl-consumer"),
        (names::REMOTE_CLUSTER_ID_LABEL, "cl-consumer"),
    ]
    .map(|(key, value)| (key.to_owned(), value.to_owned()))
    .into();
    pool.bring(local);
    pool.write_condition(TenantCondition::Drained);
    assert_eq!(pool.phase("mypool"), "Drained");
    pool.look(usize::MAX);
    assert_eq!(bindings(&pool), 0);
    assert_eq!(
        pool.said("mypool"),
        [Some(Said::Accepted), Some(Said::Denied)]
    );
    // A status that the peer writes does not prevent the deletion.
    pool.edit("mypool", |slice| {
        slice.status.conditions[1].status = Said::Accepted;
    });
    pool.settle();
    assert!(pool.slice("mypool").is_none());
    assert!(pool.slice("local").is_some(), "it is this cluster's own");
    assert_eq!(pool.records().len(), 1, "the name stays taken");
    assert!(pool.kept("mypool").is_none());

    // A slice that comes during a drain is not signed.
    pool.bring(replica("late")).settle();
    assert!(pool.slice("late").is_none());
    assert_eq!(pool.signer.different(), 1);

    // When the peer is active again, it gets its rights back, and its slice
    // when it is made anew.
    pool.administer(|provider, objects, _| {
        provider.set_condition(&objects.view(&consumer()), TenantCondition::Active)
    });
    pool.settle();
    assert_eq!(bindings(&pool), 2);
    pool.bring(replica("mypool")).settle();
    assert_eq!(pool.said("mypool"), ACCEPTED);
    let decisions: Vec<&str> = pool
        .events
        .iter()
        .map(|event| event.decision.name())
        .collect();
    assert!(decisions.contains(&"ResourcesDenied"));
    assert!(decisions.contains(&"ConditionLifted"));
}

/// The drain has denied the resources, and the slice is not deleted yet.
#[test]
fn a_slice_that_outlives_a_drain_is_decided_on_again_and_keeps_its_certificate() {
    let mut pool = Pool::new();
    pool.bring(replica("mypool")).settle();
    let signed_at = pool.now;
    pool.wait(Duration::from_secs(60));
    pool.write_condition(TenantCondition::Drained)
        .look(usize::MAX);
    assert_eq!(
        pool.said("mypool"),
        [Some(Said::Accepted), Some(Said::Denied)]
    );
    pool.administer(|provider, objects, _| {
        provider.set_condition(&objects.view(&consumer()), TenantCondition::Active)
    });
    pool.wait(Duration::from_secs(60)).settle();
    let since = [Some(signed_at), Some(pool.now)];
    assert_eq!(pool.said("mypool"), ACCEPTED);
    assert_eq!(pool.since("mypool"), since);
    // Both times are on record.
    pool.wait(Duration::from_secs(60));
    pool.edit("mypool", |slice| slice.status = Default::default())
        .settle();
    assert_eq!(pool.since("mypool"), since);
    assert_eq!(pool.signer.different(), 1);
}

#[test]
fn unreadable_objects_do_not_prevent_the_deletion_of_drained_slices() {
    let mut pool = Pool::new();
    pool.bring(replica("mypool")).settle();
    for name in [
        "liqo-remote-certificate-mypool",
        "liqo-nonce",
        "liqo-remote-certificate",
    ] {
        pool.at_provider
            .insert(Object::from_value(serde_json::json!({
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": { "namespace": NAMESPACE, "name": name },
                "data": 5,
            })));
    }
    pool.administer(|provider, objects, _| {
        provider.set_condition(&objects.view(&consumer()), TenantCondition::Drained)
    });
    for _ in 0..4 {
        pool.look(usize::MAX);
    }
    assert!(pool.slice("mypool").is_none());
    assert_eq!(bindings(&pool), 0);
}

#[test]
fn a_crash_while_draining_or_cordoning_loses_nothing() {
    for condition in [TenantCondition::Cordoned, TenantCondition::Drained] {
        let ends: BTreeSet<Vec<ObjectRef>> = (0..40)
            .map(|number| {
                let mut pool = Pool::new();
                pool.bring(replica("one")).bring(replica("two")).settle();
                pool.write_condition(condition);
                for _ in 0..number / 8 {
                    pool.look(usize::MAX);
                }
                pool.look(number % 8);
                pool.settle();
                assert_eq!(pool.signer.different(), 2);
                assert_eq!(is_held(&pool), Some(condition));
                pool.at_provider.iter().map(Object::id).collect()
            })
            .collect();
        assert_eq!(ends.len(), 1);
    }
}

#[test]
fn the_administrator_can_change_each_condition_to_each_other_one() {
    use TenantCondition::{Active, Cordoned, Drained};
    for from in [Active, Cordoned, Drained] {
        for to in [Active, Cordoned, Drained] {
            for crash_after in [1, usize::MAX] {
                let mut pool = Pool::new();
                pool.bring(replica("mypool")).settle();
                let set = |pool: &Pool, condition| {
                    pool.provider
                        .set_condition(&pool.at_provider.view(&consumer()), condition)
                        .unwrap()
                };
                for effect in &set(&pool, from).effects {
                    pool.at_provider.apply(effect).unwrap();
                }
                pool.settle();
                for effect in set(&pool, to).effects.iter().take(crash_after) {
                    pool.at_provider.apply(effect).unwrap();
                }
                pool.settle();
                let held = is_held(&pool).unwrap_or(Active);
                assert_eq!(held, to, "from {from:?}, after {crash_after}");
                if crash_after != 1 {
                    assert_eq!(pool.tenant().spec.tenant_condition.unwrap_or(Active), to);
                }
                assert_eq!(
                    is_marked(&pool, "mypool"),
                    to == Cordoned && from != Drained
                );
                assert_eq!(bindings(&pool), if to == Drained { 0 } else { 2 });
            }
        }
    }
    let pool = Pool::new();
    let nobody = "cl-nobody".parse().unwrap();
    let error = pool
        .provider
        .set_condition(&pool.at_provider.view(&nobody), Drained)
        .unwrap_err();
    assert_eq!(error.fault(), &Fault::Precondition(Precondition::NoTenant));
}

/// `liqoctl cordon resourceslice` sets the annotation alone. The peer may remove it.
#[test]
fn a_cordon_that_a_look_has_seen_is_recorded() {
    let annotate = |pool: &mut Pool, value: &str| {
        pool.edit("mypool", |slice| {
            let annotations = &mut slice.metadata.annotations;
            annotations.insert(names::CORDON_ANNOTATION.into(), value.into());
        });
    };
    let shown = |pool: &Pool| {
        let annotations = &pool.slice("mypool").unwrap().metadata.annotations;
        annotations.get(names::CORDON_ANNOTATION).cloned()
    };
    for value in ["true", "", "yes"] {
        let mut pool = Pool::new();
        pool.bring(replica("mypool")).settle();
        annotate(&mut pool, value);
        pool.events.clear();
        pool.settle();
        let decisions: Vec<_> = pool.events.iter().map(|event| &event.decision).collect();
        assert_eq!(decisions, [&Decision::SliceCordoned]);
        pool.edit("mypool", |slice| slice.metadata.annotations.clear());
        let slice = pool.slice("mypool").unwrap().id();
        let held = Notice::SliceCordonHeld { slice };
        assert_eq!(pool.reconcile().notices, [held]);
        pool.settle();
        assert_eq!(shown(&pool).as_deref(), Some("true"));
        assert_eq!(pool.reconcile().notices, []);
        pool.administer(|provider, objects, _| {
            provider.uncordon_slice(&objects.view(&consumer()), "mypool")
        });
        pool.settle();
        assert_eq!(shown(&pool), None);
    }
    for value in ["false", "False", "0"] {
        let mut pool = Pool::new();
        pool.bring(replica("mypool")).settle();
        annotate(&mut pool, value);
        assert_eq!(pool.reconcile().effects, Vec::<Effect>::new(), "{value}");
    }
    // Before the slice has a request on record.
    let mut pool = Pool::new();
    let mut waiting = replica("mypool");
    waiting.spec.csr = Vec::new().into();
    pool.bring(waiting);
    annotate(&mut pool, "true");
    pool.settle();
    pool.edit("mypool", |slice| {
        *slice = ResourceSlice {
            metadata: slice.metadata.clone(),
            ..replica("mypool")
        }
    });
    pool.edit("mypool", |slice| slice.metadata.annotations.clear())
        .settle();
    assert_eq!(shown(&pool).as_deref(), Some("true"));
    assert_eq!(pool.said("mypool"), ACCEPTED);
}

/// A controller looks between the two changes of the call, or the program crashes there.
#[test]
fn a_lifted_cordon_stays_lifted_if_a_look_comes_between() {
    for effects in 0..2 {
        let mut pool = Pool::new();
        pool.bring(replica("mypool")).settle();
        pool.administer(|provider, objects, _| {
            provider.cordon_slice(&objects.view(&consumer()), "mypool")
        });
        pool.settle();
        let view = pool.at_provider.view(&consumer());
        let step = pool.provider.uncordon_slice(&view, "mypool").unwrap();
        assert_eq!(step.effects.len(), 2);
        for effect in step.effects.iter().take(effects) {
            pool.at_provider.apply(effect).unwrap();
        }
        pool.settle();
        let annotations = &pool.slice("mypool").unwrap().metadata.annotations;
        let is_cordoned = annotations.get(names::CORDON_ANNOTATION).is_some();
        assert_eq!(is_cordoned, effects == 0, "after {effects} effects");
    }
}

#[test]
fn a_single_slice_stays_cordoned_until_the_administrator_lifts_it() {
    let mut pool = Pool::new();
    pool.bring(replica("mypool"))
        .bring(replica("other"))
        .settle();
    let told = pool.slice("mypool").unwrap().status.clone();
    let cordon = |pool: &mut Pool| {
        pool.administer(|provider, objects, _| {
            provider.cordon_slice(&objects.view(&consumer()), "mypool")
        });
    };
    let is_cordoned = |pool: &Pool| {
        let slice = pool.slice("mypool").unwrap();
        let annotations = &slice.metadata.annotations;
        annotations
            .get(names::CORDON_ANNOTATION)
            .map(String::as_str)
            == Some("true")
    };
    cordon(&mut pool);
    pool.settle();
    assert!(is_cordoned(&pool));
    assert_eq!(pool.slice("mypool").unwrap().status, told);
    // The peer removes the annotation, or makes the slice anew.
    pool.edit("mypool", |slice| slice.metadata.annotations.clear())
        .settle();
    assert!(is_cordoned(&pool));
    pool.remove("mypool").settle();
    assert!(pool.kept("mypool").is_none());
    pool.bring(replica("mypool")).settle();
    assert!(is_cordoned(&pool));
    assert_eq!(pool.said("mypool"), ACCEPTED);

    pool.administer(|provider, objects, _| {
        provider.uncordon_slice(&objects.view(&consumer()), "mypool")
    });
    pool.settle();
    assert!(!is_cordoned(&pool));
    let last = &pool.events.last().unwrap().decision;
    assert_eq!(last, &Decision::SliceUncordoned);

    // A slice can be cordoned before there is a record of it.
    pool.bring(replica("third"));
    pool.administer(|provider, objects, _| {
        provider.cordon_slice(&objects.view(&consumer()), "third")
    });
    pool.settle();
    assert_eq!(pool.said("third"), ACCEPTED);
    pool.edit("third", |slice| slice.metadata.annotations.clear())
        .settle();
    let annotations = &pool.slice("third").unwrap().metadata.annotations;
    let cordoned = annotations.get(names::CORDON_ANNOTATION);
    assert_eq!(cordoned.map(String::as_str), Some("true"));
    assert_eq!(pool.signer.different(), 4);

    // No record of the slices stays after the last of their certificates.
    let id = ObjectRef::new(Kind::Tenant, NAMESPACE, "cl-consumer");
    pool.at_provider.remove(&id).unwrap();
    for name in ["mypool", "other", "third"] {
        pool.remove(name);
    }
    pool.settle();
    assert_eq!(pool.records().len(), 3);
    pool.wait(Duration::from_secs(366 * 24 * 3600)).settle();
    assert_eq!(pool.records(), Vec::<String>::new());
}

/// The condition on record, or `None` if it is Active.
pub(super) fn is_held(pool: &Pool) -> Option<TenantCondition> {
    let record = pool.secret("liqo", RECORD).unwrap();
    let text: serde_json::Value = serde_json::from_slice(record.get("record").unwrap()).unwrap();
    serde_json::from_value(text["condition"].clone()).ok()
}

pub(super) fn is_marked(pool: &Pool, slice: &str) -> bool {
    pool.slice(slice).is_some_and(|slice| {
        let annotations = &slice.metadata.annotations;
        annotations
            .get(names::CORDON_TENANT_ANNOTATION)
            .map(String::as_str)
            == Some("true")
    })
}

pub(super) fn bindings(pool: &Pool) -> usize {
    pool.at_provider
        .iter()
        .filter(|object| {
            matches!(
                object.id().kind,
                Kind::RoleBinding | Kind::ClusterRoleBinding
            )
        })
        .count()
}
