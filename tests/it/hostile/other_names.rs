//! Tenants of another name than the peer's ID, beside a peering that is on record. A peer
//! writes them in its tenant namespace.

use std::sync::{Arc, Mutex};

use liqo_auth::{
    Machine, View,
    crypto::Answer,
    machine::Step,
    model::{
        AuthzPolicy, Kind, Metadata, Namespace, Object, ObjectRef, Tenant, TenantCondition, names,
    },
    provider::Phase,
};

use crate::clusters::{
    exchange::{Exchange, FixedAnswer, Setup, id},
    notary::{Notary, YEAR},
};

const NAMESPACE: &str = "liqo-tenant-cl-consumer";

/// A peering by a Tenant of this name, which a person has applied.
pub(super) fn by(name: &str) -> Exchange {
    let mut exchange = invited();
    apply(&mut exchange, name);
    exchange.settle();
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
    exchange
}

/// The consumer has sent its Tenant, and nobody has applied it.
pub(super) fn invited() -> Exchange {
    let mut exchange = Setup::new().exchange();
    exchange.turn_of_provider();
    exchange.turns_of_provider();
    exchange.deliver("nonce");
    exchange.turn_of_consumer();
    exchange
}

/// Applies the consumer's Tenant under this name.
pub(super) fn apply(exchange: &mut Exchange, name: &str) {
    let mut tenant = exchange.tenant();
    tenant.metadata.name = name.to_owned();
    tenant.metadata.namespace = NAMESPACE.to_owned();
    exchange.at_provider.insert(tenant.into());
}

pub(super) fn tenant_id(name: &str) -> ObjectRef {
    ObjectRef::new(Kind::Tenant, NAMESPACE, name)
}

pub(super) fn stored(exchange: &Exchange, name: &str) -> Tenant {
    let found: Option<&Tenant> = exchange.at_provider.get(NAMESPACE, name);
    found.unwrap().clone()
}

pub(super) fn edit(exchange: &mut Exchange, name: &str, edit: impl FnOnce(&mut Tenant)) {
    let mut tenant = stored(exchange, name);
    edit(&mut tenant);
    exchange.at_provider.insert(tenant.into());
}

/// A Tenant that names the peer, as a peer can write it.
pub(super) fn planted(name: &str) -> Tenant {
    let mut tenant = Tenant {
        metadata: Metadata {
            name: name.to_owned(),
            namespace: NAMESPACE.to_owned(),
            labels: [(names::REMOTE_CLUSTER_ID_LABEL, "cl-consumer")]
                .into_iter()
                .collect(),
            ..Metadata::default()
        },
        ..Tenant::default()
    };
    tenant.spec.cluster_id = "cl-consumer".to_owned();
    tenant
}

/// What a peer may plant: as it is, without handshake, drained, unreadable, being deleted.
pub(super) fn plants(name: &str) -> Vec<Object> {
    let with = |change: fn(&mut Tenant)| {
        let mut tenant = planted(name);
        change(&mut tenant);
        Object::from(tenant)
    };
    let mut unreadable = with(|_| {}).to_value();
    unreadable["spec"]["csr"] = 7.into();
    let unreadable = Object::from_value(unreadable);
    assert!(unreadable.as_unreadable().is_some());
    vec![
        with(|_| {}),
        with(|it| it.spec.authz_policy = Some(AuthzPolicy::TolerateNoHandshake)),
        with(|it| it.spec.tenant_condition = Some(TenantCondition::Drained)),
        with(|it| {
            it.metadata.deletion_timestamp = Some(crate::clusters::exchange::now());
            it.metadata.finalizers = vec!["example.com/kept".to_owned()];
        }),
        unreadable,
    ]
}

pub(super) fn rights(exchange: &Exchange) -> usize {
    let is_binding =
        |it: &&Object| matches!(it, Object::RoleBinding(_) | Object::ClusterRoleBinding(_));
    exchange.at_provider.iter().filter(is_binding).count()
}

/// The provider has nothing to do, and the peering runs.
#[track_caller]
fn assert_runs(exchange: &mut Exchange, why: &str) {
    assert_eq!(exchange.provider_phase().name(), "Authenticated", "{why}");
    let step = exchange.turn_of_provider();
    assert!(step.is_settled(), "{why}: {:#?}", step.effects);
    assert_eq!(step.refused, [], "{why}");
    assert_eq!(rights(exchange), 2, "{why}");
}

fn look_without(exchange: &mut Exchange, name: &str) -> Step {
    exchange.at_provider.remove(&tenant_id(name)).unwrap();
    let view = exchange.provider_view();
    exchange.provider.reconcile(&view, exchange.env()).unwrap()
}

#[test]
fn a_second_tenant_neither_stops_nor_replaces_a_recorded_peering() {
    for (own, other) in [
        ("cl-consumer", "my-tenant"),
        ("my-tenant", "cl-consumer"),
        ("my-tenant", "another"),
        ("my-tenant", "cl-other"),
    ] {
        let mut exchange = by(own);
        for object in plants(other) {
            let mut exchange = Exchange {
                at_provider: exchange.at_provider.clone(),
                ..by(own)
            };
            let why = format!("{own}, {other}: {object:?}");
            exchange.at_provider.insert(object.clone());
            assert_runs(&mut exchange, &why);
            // Nor does the second one's deletion.
            exchange.at_provider.remove(&tenant_id(other)).unwrap();
            assert_runs(&mut exchange, &why);
        }
        // Other programs may have set the finalizer, too.
        let mut with_finalizer = planted(other);
        with_finalizer.metadata.finalizers = vec![names::TENANT_FINALIZER.to_owned()];
        exchange.at_provider.insert(with_finalizer.into());
        exchange.at_provider.delete(&tenant_id(other));
        assert_runs(&mut exchange, other);
    }
}

#[test]
fn the_end_of_the_recorded_tenant_is_the_end_of_the_peering() {
    for (own, other) in [("cl-consumer", "my-tenant"), ("my-tenant", "another")] {
        for object in plants(other) {
            let mut exchange = by(own);
            exchange.at_provider.insert(object.clone());
            exchange.at_provider.delete(&tenant_id(own));
            assert_eq!(exchange.provider_phase().name(), "Ending");
            exchange.turns_of_provider();
            let why = format!("{own}: {object:?}");
            assert_eq!(exchange.at_provider.object(&tenant_id(own)), None, "{why}");
            assert_eq!(rights(&exchange), 0, "{why}");
            assert_ne!(exchange.provider_phase().name(), "Authenticated", "{why}");
        }
    }
}

/// Nobody has looked in between: another Tenant takes the place of the one on record.
#[test]
fn a_recorded_tenant_that_is_gone_takes_the_rights_with_it() {
    for (own, other) in [("cl-consumer", "my-tenant"), ("my-tenant", "cl-consumer")] {
        for object in plants(other) {
            let mut exchange = by(own);
            exchange.at_provider.insert(object.clone());
            let step = look_without(&mut exchange, own);
            // The driver asks for the Tenant that is on record.
            assert_eq!(step.absent, Some(tenant_id(own)));
            exchange.carry_out(true, step);
            exchange.turns_of_provider();
            assert_eq!(rights(&exchange), 0, "{own}: {object:?}");
        }
    }
}

/// An object that has the place of the recorded one and cannot be read is another one, unless
/// its UID cannot be read either.
#[test]
fn an_unreadable_tenant_at_the_recorded_place_counts_by_its_uid() {
    let spoilt = |exchange: &Exchange, uid: &str, name: &str| {
        let mut value = Object::from(stored(exchange, "my-tenant")).to_value();
        value["metadata"]["name"] = name.into();
        value["spec"]["csr"] = 7.into();
        value["metadata"]["uid"] = uid.into();
        Object::from_value(value)
    };
    for (uid, name, phase) in [
        (None, "my-tenant", "Refused"),
        (Some(""), "my-tenant", "Refused"),
        (Some("other"), "my-tenant", "Ending"),
        (Some(""), "another", "Ending"),
    ] {
        let mut exchange = by("my-tenant");
        let own = stored(&exchange, "my-tenant").metadata.uid;
        let object = spoilt(&exchange, uid.unwrap_or(&own), name);
        exchange.at_provider.remove(&tenant_id("my-tenant"));
        exchange.at_provider.load(object);
        assert_eq!(exchange.provider_phase().name(), phase, "{uid:?}");
    }
}

/// A drain and an administrator's calls act on the Tenant that is on record.
#[test]
fn a_tenant_of_another_name_is_drained_and_ended() {
    let mut exchange = by("my-tenant");
    let drained = |it: &mut Tenant| it.spec.tenant_condition = Some(TenantCondition::Drained);
    exchange.at_provider.insert(planted("another").into());
    edit(&mut exchange, "my-tenant", drained);
    exchange.turns_of_provider();
    assert_eq!(exchange.provider_phase().name(), "Drained");
    assert_eq!(rights(&exchange), 0);
    let view = exchange.provider_view();
    let step = exchange.provider.lift_condition(&view).unwrap();
    exchange.carry_out(true, step);
    edit(&mut exchange, "my-tenant", |it| {
        it.spec.tenant_condition = None;
    });
    exchange.settle();
    assert_runs(&mut exchange, "lifted");

    let step = exchange.provider.end(&exchange.provider_view()).unwrap();
    exchange.carry_out(true, step);
    exchange.turns_of_provider();
    assert_eq!(exchange.at_provider.object(&tenant_id("my-tenant")), None);
    assert_eq!(rights(&exchange), 0);
    assert!(exchange.at_provider.object(&tenant_id("another")).is_some());
}

/// The name of a Tenant in the namespace of one peer says nothing about another one.
#[test]
fn a_tenant_that_has_the_name_of_another_peer_is_its_own_peers() {
    let mut exchange = by("cl-other");
    let namespace = Namespace::for_tenant(&id("cl-other"));
    exchange.at_provider.insert(namespace.into());
    let look = |view: View<'_>| exchange.provider.look(&view, exchange.now).unwrap().phase;
    let other = id("cl-other");
    assert_eq!(look(exchange.at_provider.view(&other)).name(), "Uninvited");
    // An embedder may pass the objects of all peers, or those that the peer's look-ups find.
    let all = View::of(&other, exchange.at_provider.iter());
    assert_eq!(look(all).name(), "Uninvited");
    let interests = exchange.provider.interests(&other);
    let is_seen = |object: &&Object| interests.iter().any(|it| it.matches(object));
    let found = exchange.at_provider.iter().filter(is_seen);
    assert_eq!(look(View::of(&other, found)).name(), "Uninvited");
}

/// In a namespace that belongs to no peer, a second one of the peer's name stops nothing.
#[test]
fn a_second_tenant_of_the_peers_name_elsewhere_stops_no_recorded_peering() {
    for own in ["cl-consumer", "my-tenant"] {
        for object in plants("cl-consumer") {
            let mut exchange = by(own);
            let mut value = object.to_value();
            value["metadata"]["namespace"] = "default".into();
            exchange.at_provider.insert(Object::from_value(value));
            assert_runs(&mut exchange, own);
        }
    }
}

/// The peer writes its Tenant. The label comes back, and everything else goes on meanwhile.
#[test]
fn a_label_that_the_peer_changes_comes_back_to_the_recorded_tenant() {
    for name in ["cl-consumer", "my-tenant"] {
        for value in [None, Some("cl-other"), Some("")] {
            let mut exchange = by(name);
            edit(&mut exchange, name, |tenant| {
                let labels = &mut tenant.metadata.labels;
                labels.remove(names::REMOTE_CLUSTER_ID_LABEL);
                labels.extend(
                    value.map(|it| (names::REMOTE_CLUSTER_ID_LABEL.to_owned(), it.to_owned())),
                );
            });
            assert_eq!(exchange.provider_phase().name(), "Authenticated");
            let step = exchange.turn_of_provider();
            assert_eq!(step.effects.len(), 1, "{:#?}", step.effects);
            assert_eq!(step.refused, []);
            let labels = stored(&exchange, name).metadata.labels;
            let label = labels.get(names::REMOTE_CLUSTER_ID_LABEL).unwrap();
            assert_eq!(label, "cl-consumer");
            assert_runs(&mut exchange, name);
        }
    }
    // The spec that names another cluster is not the peer's any more.
    let mut exchange = by("my-tenant");
    edit(&mut exchange, "my-tenant", |tenant| {
        tenant
            .metadata
            .labels
            .remove(names::REMOTE_CLUSTER_ID_LABEL);
        tenant.spec.cluster_id = "cl-other".to_owned();
    });
    assert!(matches!(exchange.provider_phase(), Phase::Refused(_)));
    assert!(exchange.turn_of_provider().is_settled());
}

/// After the end, whoever comes next needs another invitation.
#[test]
fn a_tenant_that_was_planted_before_the_end_comes_to_nothing() {
    let mut exchange = by("my-tenant");
    let mut copy = stored(&exchange, "my-tenant");
    copy.metadata.name = "copy".to_owned();
    copy.metadata.uid.clear();
    copy.metadata.finalizers.clear();
    exchange.at_provider.insert(copy.into());
    exchange.at_provider.delete(&tenant_id("my-tenant"));
    exchange.turns_of_provider();
    let Phase::Refused(error) = exchange.provider_phase() else {
        panic!("{:?}", exchange.provider_phase());
    };
    assert_eq!(error.code(), "nonce-missing");
    assert_eq!(rights(&exchange), 0);
    // Another one of its kind does not matter, and is not a peer's either.
    exchange.at_provider.insert(planted("another").into());
    assert_eq!(exchange.provider_phase().name(), "Ended");
    // What Liqo gives late is taken away at once.
    let late = by("my-tenant").at_provider;
    let is_binding = |it: &&Object| matches!(it, Object::ClusterRoleBinding(_));
    for object in late.iter().filter(is_binding) {
        exchange.at_provider.insert(object.clone());
    }
    for planted in ["another", "copy"] {
        assert_eq!(exchange.provider_phase().name(), "Ending");
        exchange.at_provider.remove(&tenant_id(planted)).unwrap();
    }
    exchange.turns_of_provider();
    assert_eq!(rights(&exchange), 0);
}

/// After an end and another invitation, a Tenant is found by its label again.
#[test]
fn a_peer_may_come_back_by_another_name() {
    let mut exchange = by("cl-consumer");
    let view = exchange.consumer_view();
    let step = exchange.consumer.unauthenticate(&view).unwrap();
    exchange.carry_out(false, step);
    for _ in 0..8 {
        exchange.turn_of_consumer();
    }
    exchange.at_provider.delete(&tenant_id("cl-consumer"));
    exchange.turns_of_provider();
    exchange.sent.clear();
    exchange.invite();
    exchange.turns_of_provider();
    exchange.deliver("nonce");
    exchange.turn_of_consumer();
    apply(&mut exchange, "my-tenant");
    exchange.settle();
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
    assert_runs(&mut exchange, "again");
}

/// A proof that waits for its certificate has given no rights yet.
#[test]
fn a_proof_without_rights_ends_with_its_tenant() {
    let mut setup = Setup::new();
    setup.signer = Arc::new(FixedAnswer(Mutex::new(Answer::Pending)));
    let mut exchange = setup.exchange();
    exchange.settle();
    assert_eq!(exchange.provider_phase().name(), "NeedsCredential");
    exchange.at_provider.insert(planted("my-tenant").into());
    let step = look_without(&mut exchange, "cl-consumer");
    assert_eq!(step.absent, Some(tenant_id("cl-consumer")));
}

/// The name of the stored Tenant is no name for a message.
#[test]
fn a_message_names_the_peer() {
    for own in ["cl-consumer", "my-tenant"] {
        let mut exchange = by(own);
        let mut message = exchange.tenant();
        message.metadata.name = "another".to_owned();
        let error = exchange.hand_over(message).unwrap_err();
        assert_eq!(error.code(), "name-mismatch", "{own}");
        let mut message = exchange.tenant();
        message.metadata.labels = Metadata::default().labels;
        let error = exchange.hand_over(message).unwrap_err();
        assert_eq!(error.code(), "name-mismatch", "{own}");
        exchange.hand_over(exchange.tenant()).unwrap();
        assert_runs(&mut exchange, own);
    }
}

/// As Liqo's page on declarative peering has it.
#[test]
fn a_tolerated_peer_may_have_a_tenant_of_any_name() {
    let notary = Notary::new(YEAR);
    let mut exchange = invited();
    exchange.provider = notary.provider(|builder| {
        builder.configure(|config| {
            let settings = config.peers.entry(id("cl-consumer")).or_default();
            settings.tolerate_no_handshake = true;
        })
    });
    let mut tenant = planted("my-tenant");
    tenant.spec.authz_policy = Some(AuthzPolicy::TolerateNoHandshake);
    exchange.at_provider.insert(tenant.clone().into());
    exchange.turns_of_provider();
    assert_eq!(exchange.provider_phase().name(), "Tolerated");
    assert_eq!(rights(&exchange), 1);
    // It is on record, so that no other one takes its place.
    tenant.metadata.name = "another".to_owned();
    exchange.at_provider.insert(tenant.into());
    edit(&mut exchange, "my-tenant", |it| {
        it.metadata.labels.remove(names::REMOTE_CLUSTER_ID_LABEL);
    });
    exchange.turns_of_provider();
    assert_eq!(exchange.provider_phase().name(), "Tolerated");
    assert_eq!(stored(&exchange, "another").metadata.finalizers, [""; 0]);
    let label = stored(&exchange, "my-tenant").metadata.labels;
    assert!(label.contains_key(names::REMOTE_CLUSTER_ID_LABEL));

    let step = look_without(&mut exchange, "my-tenant");
    assert_eq!(step.absent, Some(tenant_id("my-tenant")));
    assert_eq!(step.events.len(), 1, "{:?}", step.events);
    exchange.carry_out(true, step);
    assert_eq!(rights(&exchange), 0);
}

/// The peer strips the finalizer, deletes its Tenant, and makes another one of the same name.
#[test]
fn another_tenant_in_the_place_of_the_one_on_record_delays_no_withdrawal() {
    let mut exchange = by("my-tenant");
    let mut again = stored(&exchange, "my-tenant");
    exchange.at_provider.remove(&tenant_id("my-tenant"));
    again.metadata.uid.clear();
    again.metadata.resource_version.clear();
    again.metadata.finalizers.clear();
    exchange.at_provider.insert(again.into());
    let view = exchange.provider_view();
    let step = exchange.provider.reconcile(&view, exchange.env());
    // The store has an object there, so nobody can confirm an absence.
    assert_eq!(step.unwrap().absent, None);
    exchange.settle();
    assert_eq!(rights(&exchange), 0);
    assert_ne!(exchange.phases().0, "Authenticated");
}
