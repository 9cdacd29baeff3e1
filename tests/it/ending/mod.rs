//! The end of a peering: which objects are deleted, in which order, and what
//! stays on record.

mod again;
mod late_watches;
mod record;

use std::sync::Arc;

use liqo_auth::{
    Machine,
    audit::Decision,
    error::{Fault, Precondition},
    machine::{Awaited, Effect, Step},
    model::{
        Kind, Metadata, Object, ObjectRef, Renew, RenewSpec, Resource, ResourceSlice, Secret,
        TenantCondition, names,
    },
    provider,
};

use crate::clusters::{
    exchange::{Exchange, Setup, nonce_secret, now, secret_ref},
    notary::{DAY, Notary, YEAR},
};

const NAMESPACE: &str = "liqo-tenant-cl-consumer";
const RECORD: &str = "liqo-auth-provider-cl-consumer";

#[test]
fn a_peering_is_not_ended_while_it_has_slices() {
    let mut exchange = authenticated(&Notary::new(YEAR));
    let slice = slice("mypool");
    exchange.at_provider.insert(slice.clone());
    let broken = Object::from_value(serde_json::json!({
        "apiVersion": "authentication.liqo.io/v1beta1",
        "kind": "ResourceSlice",
        "metadata": { "name": "broken", "namespace": NAMESPACE },
        "spec": 7,
    }));
    exchange.at_provider.insert(broken.clone());
    for (remaining, found) in [(Some(slice.id()), 2), (Some(broken.id()), 1), (None, 0)] {
        let view = exchange.provider_view();
        let ended = exchange.provider.end(&view);
        let Some(id) = remaining else {
            assert_eq!(deleted(&ended.unwrap()), [exchange.stored_tenant().id()]);
            break;
        };
        let error = ended.unwrap_err();
        let fault = Precondition::SlicesRemain {
            found,
            one: id.to_string(),
        };
        assert_eq!(error.fault(), &fault.into());
        assert_eq!(error.at().object.as_ref(), Some(&id));
        exchange.at_provider.remove(&id).unwrap();
    }
}

/// Each cluster may be the other's provider. Then one tenant namespace has the
/// slices of both directions.
#[test]
fn slices_that_this_cluster_requests_from_the_peer_do_not_count() {
    let mut exchange = authenticated(&Notary::new(YEAR));
    let Object::ResourceSlice(mut asked) = slice("ours") else {
        panic!("a slice");
    };
    asked.metadata.labels = [
        (names::REPLICATION_LABEL, "true"),
        (names::REPLICATION_DESTINATION_LABEL, "cl-consumer"),
        (names::REMOTE_CLUSTER_ID_LABEL, "cl-consumer"),
    ]
    .map(|(label, value)| (label.to_owned(), value.to_owned()))
    .into();
    let mut unreadable = Object::from((*asked).clone()).to_value();
    unreadable["metadata"]["name"] = "unreadable".into();
    unreadable["spec"] = 7.into();
    exchange.at_provider.insert(Object::from_value(unreadable));
    exchange.at_provider.insert((*asked).clone().into());
    let ended = exchange.provider.end(&exchange.provider_view());
    assert_eq!(deleted(&ended.unwrap()), [exchange.stored_tenant().id()]);
    // The labels of a replica decide, even if the object also has those of an
    // original.
    for (label, value) in [
        (names::REPLICATED_LABEL, "true"),
        (names::REPLICATION_ORIGIN_LABEL, "cl-consumer"),
    ] {
        asked
            .metadata
            .labels
            .insert(label.to_owned(), value.to_owned());
    }
    exchange.at_provider.insert((*asked).into());
    let error = exchange.provider.end(&exchange.provider_view());
    assert!(matches!(
        error.unwrap_err().fault(),
        Fault::Precondition(Precondition::SlicesRemain { found: 1, .. })
    ));
}

#[test]
fn a_finalizer_of_a_drained_peer_does_not_prevent_the_end() {
    let mut exchange = authenticated(&Notary::new(YEAR));
    let mut held = ResourceSlice {
        metadata: replica("held"),
        ..ResourceSlice::default()
    };
    held.metadata.finalizers = vec!["peer.example/never".into()];
    held.metadata.deletion_timestamp = Some(now());
    exchange.at_provider.insert(held.into());
    let ended = exchange.provider.end(&exchange.provider_view());
    assert!(matches!(
        ended.unwrap_err().fault(),
        Fault::Precondition(Precondition::SlicesRemain { found: 1, .. })
    ));
    exchange.edit_tenant(|tenant| tenant.spec.tenant_condition = Some(TenantCondition::Drained));
    exchange.turns_of_provider();
    let ended = exchange.provider.end(&exchange.provider_view());
    assert_eq!(deleted(&ended.unwrap()), [exchange.stored_tenant().id()]);
}

/// First the rights, then the Tenant, then the objects in the tenant namespace.
/// When no certificate is valid any more, the record.
#[test]
fn objects_are_deleted_in_order() {
    let notary = Notary::new(30 * YEAR);
    let mut exchange = authenticated(&notary);
    exchange.at_provider.insert(renew());
    exchange
        .at_provider
        .insert(certificate_of_a_slice("cl-consumer"));
    // Objects of other peers, and objects with another purpose.
    let stays = [
        certificate_of_a_slice("cl-other"),
        nonce_secret("liqo-tenant-cl-other", b"theirs"),
    ];
    for object in &stays[..1] {
        let mut other = object.clone();
        other.metadata_mut().name = "liqo-remote-certificate-of-another".into();
        exchange.at_provider.insert(other);
    }
    exchange.at_provider.insert(stays[1].clone());
    let until = exchange.certificate().leaf().not_after;

    let step = exchange.provider.end(&exchange.provider_view()).unwrap();
    assert_eq!(deleted(&step), [exchange.stored_tenant().id()]);
    exchange.carry_out(true, step);
    let step = exchange.turn_of_provider();
    let kinds: Vec<Kind> = step.effects.iter().map(|effect| effect.id().kind).collect();
    assert_eq!(
        kinds,
        [
            Kind::RoleBinding,
            Kind::ClusterRoleBinding,
            // The record forgets the proof.
            Kind::Secret,
            Kind::Tenant
        ]
    );
    assert_eq!(
        decisions(&step),
        [Decision::RightsWithdrawn, Decision::Ended]
    );

    let step = exchange.turn_of_provider();
    assert_eq!(
        deleted(&step),
        [
            secret_ref(NAMESPACE, "liqo-nonce"),
            secret_ref(NAMESPACE, "liqo-remote-certificate"),
            secret_ref(NAMESPACE, "liqo-remote-certificate-mypool"),
            ObjectRef::new(Kind::Renew, NAMESPACE, "controlplane-cl-provider"),
        ]
    );
    let step = exchange.turn_of_provider();
    assert!(step.is_settled());
    assert_eq!(step.wait.awaiting, [Awaited::Invitation]);
    assert_eq!(step.wait.wake_at, Some(until + SECOND));
    let provider::Phase::Ended { kept_until } = exchange.provider_phase() else {
        panic!("{:?}", exchange.provider_phase());
    };
    assert_eq!(kept_until, step.wait.wake_at);

    exchange.now = until;
    assert!(exchange.turn_of_provider().is_settled());
    exchange.now = step.wait.wake_at.unwrap();
    let step = reconciled(&exchange);
    assert_eq!(deleted(&step), [secret_ref("liqo", RECORD)]);
    assert_eq!(decisions(&step), [Decision::Forgotten]);
    exchange.carry_out(true, step);
    assert_eq!(exchange.provider_phase().name(), "Uninvited");
    // The tenant namespace stays, and all objects that do not belong to the
    // peering.
    let namespace = ObjectRef::new(Kind::Namespace, "", NAMESPACE);
    assert!(
        exchange
            .at_provider
            .iter()
            .any(|object| object.id() == namespace)
    );
    let left = exchange.at_provider.iter();
    assert_eq!(
        left.filter(|object| object.id().kind == Kind::Secret)
            .count(),
        2
    );
}

#[test]
fn an_end_withdraws_an_invitation() {
    let mut exchange = Setup::new().exchange();
    exchange.invite();
    let step = exchange.provider.end(&exchange.provider_view()).unwrap();
    // The record first: a nonce that is not on record is worth nothing.
    let [Effect::Replace { object, .. }, Effect::Delete { id, .. }] = &step.effects[..] else {
        panic!("{step:?}");
    };
    assert_eq!(object.id(), secret_ref("liqo", RECORD));
    assert_eq!(*id, secret_ref(NAMESPACE, "liqo-nonce"));
    exchange.carry_out(true, step);
    assert_eq!(exchange.provider_phase().name(), "Ended");
    let step = exchange.turn_of_provider();
    assert_eq!(deleted(&step), [secret_ref("liqo", RECORD)]);
    assert_eq!(exchange.provider_phase().name(), "Uninvited");
    let step = exchange.provider.end(&exchange.provider_view()).unwrap();
    assert!(step.is_settled());
}

/// Its offer would look like a new invitation after the end.
#[test]
fn no_nonce_is_made_while_a_peering_ends() {
    let mut exchange = authenticated(&Notary::new(YEAR));
    let step = exchange.provider.end(&exchange.provider_view()).unwrap();
    exchange.carry_out(true, step);
    let step = exchange
        .provider
        .replace_nonce(&exchange.provider_view(), exchange.env())
        .unwrap();
    assert_eq!(
        decisions(&step),
        [Decision::RightsWithdrawn, Decision::Ended]
    );
    exchange.carry_out(true, step);
    exchange.turns_of_provider();
    assert_eq!(exchange.provider_phase().name(), "Ended");
}

/// A program that invites uninvited consumers by itself does not invite this one again.
#[test]
fn a_record_that_is_kept_outlives_the_last_certificate() {
    let notary = Notary::new(30 * YEAR);
    let mut exchange = authenticated(&notary);
    let provider = |keep_record| {
        notary.provider(|builder| {
            builder.configure(|config| {
                let peer = "cl-consumer".parse().unwrap();
                config.peers.entry(peer).or_default().keep_record = keep_record;
            })
        })
    };
    exchange.provider = provider(true);
    end(&mut exchange);
    exchange.now = exchange.now + YEAR;
    let step = exchange.turn_of_provider();
    assert!(step.is_settled() && step.wait.wake_at.is_none(), "{step:?}");
    assert_eq!(exchange.provider_phase().name(), "Ended");
    exchange.invite();
    assert_eq!(exchange.provider_phase().name(), "AwaitsTenant");

    let step = exchange.provider.end(&exchange.provider_view()).unwrap();
    exchange.carry_out(true, step);
    exchange.provider = provider(false);
    assert_eq!(
        decisions(&exchange.turn_of_provider()),
        [Decision::Forgotten]
    );
    assert_eq!(exchange.provider_phase().name(), "Uninvited");
}

/// A peer that never used its invitation had no peering that could have ended.
#[test]
fn the_record_of_an_unused_invitation_is_not_kept() {
    let notary = Notary::new(30 * YEAR);
    let mut exchange = Setup::new().exchange();
    exchange.provider = notary.provider(|builder| {
        builder.configure(|config| {
            let peer = "cl-consumer".parse().unwrap();
            config.peers.entry(peer).or_default().keep_record = true;
        })
    });
    exchange.invite();
    let nonce = secret_ref(NAMESPACE, "liqo-nonce");
    exchange.at_provider.remove(&nonce).unwrap();
    exchange.now = exchange.now + YEAR;
    assert_eq!(exchange.provider_phase().name(), "Ended");
    assert_eq!(
        decisions(&exchange.turn_of_provider()),
        [Decision::Forgotten]
    );
    assert_eq!(exchange.provider_phase().name(), "Uninvited");
}

#[test]
fn a_crash_after_any_effect_of_the_end_leaves_no_object_behind() {
    let notary = Notary::new(30 * YEAR);
    let prepared = || {
        let mut exchange = authenticated(&notary);
        exchange.at_provider.insert(renew());
        exchange
            .at_provider
            .insert(certificate_of_a_slice("cl-consumer"));
        exchange
    };
    let mut undisturbed = prepared();
    end(&mut undisturbed);
    for steps in 0..4 {
        for effects in 0..5 {
            let mut crashing = prepared();
            let step = crashing.provider.end(&crashing.provider_view()).unwrap();
            crashing.carry_out(true, step);
            for _ in 0..steps {
                crashing.turn_of_provider();
            }
            for effect in reconciled(&crashing).effects.iter().take(effects) {
                crashing.at_provider.apply(effect).unwrap();
            }
            crashing.turns_of_provider();
            let ids = |exchange: &Exchange| -> Vec<ObjectRef> {
                exchange.at_provider.iter().map(Object::id).collect()
            };
            assert_eq!(ids(&crashing), ids(&undisturbed), "{steps} {effects}");
        }
    }
}

/// The Tenant of an authenticated peer goes when its finalizer is released. A Tenant
/// that nobody has looked at has no finalizer, and goes at once.
#[test]
fn an_end_is_told_once() {
    let mut not_looked_at = Setup::new().exchange();
    not_looked_at.invite();
    not_looked_at.deliver("nonce");
    let tenant = not_looked_at.tenant();
    not_looked_at.hand_over(tenant).unwrap();
    for mut exchange in [authenticated(&Notary::new(30 * YEAR)), not_looked_at] {
        let step = exchange.provider.end(&exchange.provider_view()).unwrap();
        let mut told = decisions(&step);
        exchange.carry_out(true, step);
        for turn in 0.. {
            assert!(turn < 64, "the provider does not settle");
            if exchange.provider_phase().name() == "Uninvited" {
                break;
            }
            let step = reconciled(&exchange);
            told.extend(decisions(&step));
            if exchange.carry_out(true, step).is_settled() {
                break;
            }
        }
        let ends = told.iter().filter(|decision| **decision == Decision::Ended);
        assert_eq!(ends.count(), 1, "{told:?}");
    }
}

fn authenticated(notary: &Arc<Notary>) -> Exchange {
    let mut exchange = Setup::new().exchange();
    exchange.provider = notary
        .provider(|builder| builder.configure(|config| config.certificate_lifetime = 90 * DAY));
    exchange.settle();
    assert_eq!(exchange.provider_phase().name(), "Authenticated");
    exchange
}

/// Ends the peering and lets the provider clean up.
fn end(exchange: &mut Exchange) {
    let step = exchange.provider.end(&exchange.provider_view()).unwrap();
    exchange.carry_out(true, step);
    exchange.turns_of_provider();
}

fn reconciled(exchange: &Exchange) -> Step {
    let view = exchange.provider_view();
    exchange.provider.reconcile(&view, exchange.env()).unwrap()
}

/// The objects that the step deletes. It has no other effects.
fn deleted(step: &Step) -> Vec<ObjectRef> {
    let id = |effect: &Effect| match effect {
        Effect::Delete { id, .. } => id.clone(),
        other => panic!("{other:?}"),
    };
    step.effects.iter().map(id).collect()
}

fn decisions(step: &Step) -> Vec<Decision> {
    step.events
        .iter()
        .map(|event| event.decision.clone())
        .collect()
}

fn replica(name: &str) -> Metadata {
    let labels = [
        (names::REPLICATED_LABEL, "true"),
        (names::REPLICATION_ORIGIN_LABEL, "cl-consumer"),
        (names::REMOTE_CLUSTER_ID_LABEL, "cl-consumer"),
    ];
    Metadata {
        name: name.into(),
        namespace: NAMESPACE.into(),
        labels: labels
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into(),
        ..Metadata::default()
    }
}

fn slice(name: &str) -> Object {
    ResourceSlice {
        metadata: replica(name),
        ..ResourceSlice::default()
    }
    .into()
}

fn renew() -> Object {
    Renew {
        metadata: replica("controlplane-cl-provider"),
        spec: RenewSpec {
            consumer_cluster_id: "cl-consumer".into(),
            ..RenewSpec::default()
        },
        ..Renew::default()
    }
    .into()
}

fn certificate_of_a_slice(peer: &str) -> Object {
    let mut metadata = replica("liqo-remote-certificate-mypool");
    metadata
        .labels
        .insert(names::REMOTE_CLUSTER_ID_LABEL.into(), peer.into());
    Secret {
        metadata,
        ..Secret::default()
    }
    .into()
}

const SECOND: core::time::Duration = core::time::Duration::from_secs(1);
