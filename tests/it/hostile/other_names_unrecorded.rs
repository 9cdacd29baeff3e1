//! Tenants of another name than the peer's ID, before a peering is on record, and the key of
//! a cluster that is a consumer and a provider.

use std::sync::Arc;

use liqo_auth::{
    Machine, View,
    crypto::SigningKey,
    error::{Error, LocalFault},
    model::{Kind, Namespace, Object, ObjectRef, Secret, Tenant, TenantCondition, names},
    provider::Phase,
};

use super::other_names::{apply, by, edit, invited, planted, rights, stored, tenant_id};
use crate::clusters::exchange::{Exchange, Setup, ed25519, id, secret_ref};

fn refusal(exchange: &Exchange) -> Error {
    match exchange.provider_phase() {
        Phase::Refused(error) => error,
        phase => panic!("{phase:?}"),
    }
}

/// Label, spec and place have to agree.
#[test]
fn a_tenant_that_does_not_name_the_peer_everywhere_is_not_found() {
    let changes: [fn(&mut Tenant); 4] = [
        |it| {
            it.metadata.labels.remove(names::REMOTE_CLUSTER_ID_LABEL);
        },
        |it| {
            let label = (names::REMOTE_CLUSTER_ID_LABEL, "cl-other");
            it.metadata.labels = [label].into_iter().collect();
        },
        |it| it.spec.cluster_id = "cl-other".to_owned(),
        |it| it.metadata.namespace = "default".to_owned(),
    ];
    for (at, change) in changes.into_iter().enumerate() {
        let mut exchange = invited();
        let mut tenant = exchange.tenant();
        tenant.metadata.name = "my-tenant".to_owned();
        tenant.metadata.namespace = "liqo-tenant-cl-consumer".to_owned();
        change(&mut tenant);
        exchange.at_provider.insert(tenant.into());
        assert_eq!(exchange.provider_phase().name(), "AwaitsTenant", "{at}");
    }
    // The namespace is the peer's by its labels, whatever its name is.
    let mut exchange = invited();
    apply(&mut exchange, "my-tenant");
    let namespace = ObjectRef::new(Kind::Namespace, "", "liqo-tenant-cl-consumer");
    exchange.at_provider.remove(&namespace).unwrap();
    assert_eq!(exchange.provider_phase().name(), "AwaitsTenant");
}

/// No person sees which of two Tenants is the right one, nor does a program.
#[test]
fn two_tenants_of_other_names_are_ambiguous_until_one_is_on_record() {
    let mut exchange = invited();
    apply(&mut exchange, "my-tenant");
    exchange.at_provider.insert(planted("another").into());
    let expected = LocalFault::Ambiguous {
        other: tenant_id("my-tenant").to_string(),
    };
    assert_eq!(refusal(&exchange).fault(), &expected.clone().into());
    let step = exchange.turn_of_provider();
    assert!(step.is_settled());
    assert_eq!(step.refused.len(), 1);
    assert_eq!(step.absent, None);
    let message = exchange.tenant();
    let error = exchange.hand_over(message).unwrap_err();
    assert_eq!(error.fault(), &expected.into());
    // One of the peer's name is the peer's.
    apply(&mut exchange, "cl-consumer");
    exchange.turns_of_provider();
    assert_eq!(exchange.provider_phase().name(), "Authenticated");
    assert_eq!(stored(&exchange, "my-tenant").metadata.finalizers, [""; 0]);
}

/// A peering without a record, as Liqo leaves it, with a second Tenant.
fn of_liqo() -> Exchange {
    let mut exchange = by("my-tenant");
    let record = secret_ref("liqo", "liqo-auth-provider-cl-consumer");
    exchange.at_provider.remove(&record).unwrap();
    exchange
}

/// A peering of Liqo is neither ended nor taken over while it is not clear whose it is.
#[test]
fn a_second_tenant_does_not_end_a_peering_of_liqo() {
    let mut exchange = of_liqo();
    assert_ne!(exchange.provider_phase().name(), "Ending");
    exchange.at_provider.insert(planted("another").into());
    assert_eq!(refusal(&exchange).code(), "object-ambiguous");
    assert_eq!(exchange.turn_of_provider().absent, None);
    exchange.turns_of_provider();
    assert_eq!(rights(&exchange), 2);
}

/// Of several Tenants, one that takes rights away counts first.
#[test]
fn two_tenants_keep_no_rights_that_one_takes_away() {
    let mut exchange = of_liqo();
    exchange.at_provider.insert(planted("another").into());
    exchange.at_provider.delete(&tenant_id("my-tenant"));
    assert_eq!(exchange.provider_phase().name(), "Ending");
    exchange.turns_of_provider();
    assert_eq!(rights(&exchange), 0);
    assert_eq!(exchange.at_provider.object(&tenant_id("my-tenant")), None);

    let mut exchange = of_liqo();
    exchange.at_provider.insert(planted("another").into());
    edit(&mut exchange, "my-tenant", |it| {
        it.spec.tenant_condition = Some(TenantCondition::Drained);
    });
    exchange.turns_of_provider();
    assert_eq!(exchange.provider_phase().name(), "Drained");
    assert_eq!(rights(&exchange), 0);
}

/// What cannot be read does not count as absent: no right is withdrawn for it.
#[test]
fn an_unreadable_tenant_of_another_name_is_no_absent_one() {
    let mut exchange = of_liqo();
    let mut value = Object::from(stored(&exchange, "my-tenant")).to_value();
    value["spec"]["csr"] = 7.into();
    exchange.at_provider.insert(Object::from_value(value));
    assert_eq!(refusal(&exchange).code(), "object-unreadable");
    exchange.turns_of_provider();
    assert_eq!(rights(&exchange), 2);
    // One that can be read comes before it.
    exchange.at_provider.insert(planted("another").into());
    assert_ne!(refusal(&exchange).code(), "object-unreadable");
    // A label of another peer says nothing.
    exchange.at_provider.remove(&tenant_id("another")).unwrap();
    let id = tenant_id("my-tenant");
    let mut object = exchange.at_provider.remove(&id).unwrap();
    object.metadata_mut().labels = [(names::REMOTE_CLUSTER_ID_LABEL, "cl-other")]
        .into_iter()
        .collect();
    exchange.at_provider.insert(object);
    assert_eq!(exchange.provider_phase().name(), "Ending");
}

/// A record that cannot be read keeps a peering with a Tenant of another name as one with the
/// peer's name: nothing but a withdrawal goes on.
#[test]
fn an_unreadable_record_ends_no_peering() {
    for name in ["cl-consumer", "my-tenant"] {
        let mut exchange = by(name);
        let id = secret_ref("liqo", "liqo-auth-provider-cl-consumer");
        let mut record: Secret = exchange
            .at_provider
            .get(&id.namespace, &id.name)
            .cloned()
            .unwrap();
        record.data.remove("seal");
        exchange.at_provider.insert(record.into());
        let view = exchange.provider_view();
        let phase = exchange.provider.look(&view, exchange.now);
        assert!(phase.is_err(), "{name}: {phase:?}");
        exchange.at_provider.delete(&tenant_id(name));
        assert_eq!(exchange.provider_phase().name(), "Ending", "{name}");
        exchange.turn_of_provider();
        assert_eq!(rights(&exchange), 0, "{name}");
    }
}

/// The Tenant of a peer that is let in by its label shows that the peer is a consumer, as one of
/// its name does. With the cluster's key in a kubeconfig, it could act as the cluster.
#[test]
fn a_peer_whose_tenant_has_another_name_does_not_get_the_clusters_key() {
    let consumer = Setup::new().consumer();
    let key: Arc<dyn SigningKey> = ed25519(1);
    let peer = id("cl-provider");
    let mut tenant = planted("my-tenant");
    tenant.metadata.namespace = "liqo-tenant-cl-provider".to_owned();
    tenant.spec.cluster_id = "cl-provider".to_owned();
    let label = (names::REMOTE_CLUSTER_ID_LABEL, "cl-provider");
    tenant.metadata.labels = [label].into_iter().collect();
    let mut unlabelled = tenant.clone();
    unlabelled.metadata.labels = []
        .into_iter()
        .collect::<Vec<(&str, &str)>>()
        .into_iter()
        .collect();
    let mut elsewhere = tenant.clone();
    elsewhere.metadata.namespace = "default".to_owned();
    let mut others = unlabelled.clone();
    others.metadata.namespace = "default".to_owned();
    let mut spoilt = Object::from(tenant.clone()).to_value();
    spoilt["spec"]["csr"] = 7.into();
    for (object, is_consumer) in [
        (tenant.into(), true),
        (unlabelled.into(), true),
        (elsewhere.into(), true),
        (Object::from_value(spoilt), true),
        (others.into(), false),
    ] {
        let namespace = Object::from(Namespace::for_tenant(&peer));
        let objects = [namespace, object];
        let view = View::of(&peer, &objects);
        let now = crate::clusters::exchange::now();
        let takes = consumer.takes_own_key(&view, &key, None, now).unwrap();
        assert_eq!(takes, is_consumer, "{:?}", objects[1]);
    }
    // A caller that looks objects up finds the labelled one.
    let interests = consumer.interests(&peer);
    let mut named = planted("my-tenant");
    named.metadata.labels = [label].into_iter().collect();
    let named = Object::from(named);
    assert!(interests.iter().any(|it| it.matches(&named)));
}

/// Liqo has let the peer in by a Tenant of another name. Then the peer plants one beside it.
#[test]
fn two_tenants_stop_no_drain_and_an_end_says_so() {
    let mut exchange = by("my-tenant");
    let record = secret_ref("liqo", "liqo-auth-provider-cl-consumer");
    exchange.at_provider.remove(&record).unwrap();
    exchange.at_provider.insert(planted("another").into());
    let view = exchange.provider_view();
    assert_eq!(
        exchange.provider.end(&view).unwrap_err().code(),
        "object-ambiguous"
    );
    let cordon = exchange
        .provider
        .set_condition(&view, TenantCondition::Cordoned);
    assert_eq!(cordon.unwrap_err().code(), "object-ambiguous");
    assert_eq!(rights(&exchange), 2);
    let drain = exchange
        .provider
        .set_condition(&view, TenantCondition::Drained);
    exchange.carry_out(true, drain.unwrap());
    exchange.turns_of_provider();
    assert_eq!(rights(&exchange), 0);
}
