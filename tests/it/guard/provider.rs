mod acted_on;

use core::time::Duration;
use std::sync::Arc;

use liqo_auth::{
    crypto::RecordKey,
    model::{
        AuthzPolicy, IdentityType, Metadata, Renew, ResourceSlice, Secret, Tenant, TenantCondition,
    },
    provider::{Endpoint, NameTable, Provider},
};

use super::*;
use crate::clusters::{
    exchange::{API_SERVER, ed25519, nonce_secret},
    notary::YEAR,
};

type Guard = Guarded<Provider>;

/// A guard with the nonce that Liqo has made, and the Tenant of the exchange.
fn guard_of(exchange: &Exchange) -> (Guard, Tenant) {
    guard_with(exchange, |config| {
        config.peer_again = Some(YEAR);
    })
}

fn guard_with(
    exchange: &Exchange,
    configure: impl Fn(&mut liqo_auth::provider::ProviderConfig),
) -> (Guard, Tenant) {
    let (mut guard, tenant) = guard_after(exchange, configure);
    assert_eq!(guard.write(liqos_nonce(exchange)).effects.len(), 1);
    (guard, tenant)
}

/// A guard that comes after Liqo's nonce.
fn guard_after(
    exchange: &Exchange,
    configure: impl Fn(&mut liqo_auth::provider::ProviderConfig),
) -> (Guard, Tenant) {
    let endpoint = Endpoint::new(API_SERVER.parse().unwrap(), None);
    // Liqo's nonce is none of this provider's own.
    let record_key = RecordKey::new([77; 32]).unwrap();
    let provider = Provider::builder(id("cl-provider"), endpoint, record_key)
        .principals(Arc::new(NameTable::default()))
        .key(ed25519(2))
        .configure(configure)
        .build();
    let mut guard = Guarded::new(provider, "cl-consumer", exchange.now);
    guard.objects.insert(liqos_nonce(exchange));
    (guard, claimed(exchange.tenant()))
}

fn liqos_nonce(exchange: &Exchange) -> Object {
    let mut secret = nonce_secret(AT_PROVIDER, exchange.nonce().as_str().as_bytes());
    let labels = &mut secret.metadata_mut().labels;
    labels.insert(names::NONCE_LABEL.into(), names::TRUE.into());
    secret
}

/// The Tenant as an API server shows it to a webhook.
fn claimed(mut tenant: Tenant) -> Tenant {
    tenant.metadata.namespace = AT_PROVIDER.into();
    tenant.metadata.uid = "first".into();
    tenant
}

/// The Tenant that another key makes for the same nonce.
fn by_another_key(exchange: &Exchange) -> Tenant {
    let mut other = Setup {
        consumer_key: ed25519(9),
        ..Setup::new()
    }
    .exchange();
    other.now = exchange.now;
    other.hand_over(exchange.nonce()).unwrap();
    claimed(other.tenant())
}

fn slice(exchange: &Exchange) -> ResourceSlice {
    stored(&exchange.at_provider, AT_PROVIDER, "mypool")
}

fn renew(exchange: &Exchange) -> Renew {
    let mut renew: Renew = stored(
        &exchange.at_provider,
        AT_PROVIDER,
        "controlplane-cl-provider",
    );
    renew.spec.csr = exchange.tenant().spec.csr;
    renew
}

#[test]
fn a_tenant_is_let_through_once_its_key_and_nonce_are_on_record() {
    let exchange = made();
    let (mut guard, tenant) = guard_of(&exchange);
    assert_eq!(guard.write(tenant.clone()).effects.len(), 1);
    assert!(
        guard
            .objects
            .object(&secret("liqo", "liqo-auth-provider-cl-consumer"))
            .is_some()
    );
    // Liqo adds its finalizer and what it knows.
    let mut served = tenant.clone();
    served.metadata.finalizers = vec![names::TENANT_FINALIZER.into()];
    assert!(guard.write(served).is_settled());
    // Nobody else gets in, not even with the same nonce.
    let mut other = by_another_key(&exchange);
    assert_eq!(guard.refused(other.clone()).0, "key-changed");
    other.metadata.uid = "second".into();
    assert_eq!(guard.refused(other).0, "key-changed");
}

#[test]
fn two_tenants_at_once_pin_one_key() {
    let exchange = made();
    let (mut guard, tenant) = guard_of(&exchange);
    let other = guard.judge(&by_another_key(&exchange).into()).unwrap();
    guard.write(tenant);
    assert_eq!(other.effects.len(), 1);
    guard.objects.apply(&other.effects[0]).unwrap_err();
}

#[test]
fn a_key_whose_tenant_is_not_stored_is_pinned_for_a_minute() {
    let exchange = made();
    let (mut guard, tenant) = guard_with(&exchange, |_| {});
    let reserved = guard.reserve(&tenant.clone().into());
    assert_eq!(reserved.effects.len(), 1);
    let mut other = by_another_key(&exchange);
    other.metadata.uid = "other".into();
    guard.now = exchange.now + Duration::from_secs(59);
    assert_eq!(guard.refused(other.clone()).0, "key-changed");
    // Its own key tries again, with the nonce that nobody has used.
    let mut again = tenant.clone();
    again.metadata.uid = "again".into();
    assert_eq!(guard.reserve(&again.into()).effects.len(), 1);
    guard.now = guard.now + Duration::from_secs(59);
    assert_eq!(guard.refused(other.clone()).0, "key-changed");
    guard.now = guard.now + Duration::from_secs(1);
    let step = guard.reserve(&other.clone().into());
    assert_eq!(step.effects.len(), 1);
    // The watch of the Tenants may be behind.
    assert_eq!(step.absent, Some(tenant.id()));
    assert_eq!(guard.refused(tenant.clone()).0, "key-changed");
    guard.objects.insert(other.into());
    guard.now = guard.now + Duration::from_secs(3600);
    assert_eq!(guard.refused(tenant).0, "key-changed");
}

#[test]
fn a_key_whose_tenant_is_stored_is_pinned_for_good() {
    let exchange = made();
    let (mut guard, tenant) = guard_with(&exchange, |_| {});
    guard.reserve(&tenant.clone().into());
    guard.objects.insert(tenant.clone().into());
    // Not by a Tenant that somebody has changed past the guard.
    let mut changed = tenant.clone();
    changed.spec.signature = by_another_key(&exchange).spec.signature;
    guard.objects.insert(changed.clone().into());
    let stored = guard.objects.object(&changed.id()).unwrap().clone();
    assert_eq!(guard.refused(stored).0, "nonce-signature-wrong");
    guard.objects.insert(tenant.clone().into());
    assert_eq!(guard.confirm(&tenant.id()).effects.len(), 1);
    assert!(guard.confirm(&tenant.id()).is_settled());
    guard.objects.remove(&tenant.id());
    guard.now = guard.now + Duration::from_secs(3600);
    let mut other = by_another_key(&exchange);
    other.metadata.uid = "other".into();
    assert_eq!(guard.refused(other).0, "key-changed");
    let mut again = tenant;
    again.metadata.uid = "again".into();
    assert_eq!(guard.refused(again).0, "nonce-used");
}

/// An update is refused by somebody else, and the Tenant stays as it was.
#[test]
fn an_update_that_is_not_stored_pins_nothing() {
    let exchange = made();
    let (mut guard, tenant) = guard_with(&exchange, |_| {});
    let mut before = by_another_key(&exchange);
    before.spec.signature = Default::default();
    guard.objects.insert(before.clone().into());
    guard.reserve(&tenant.clone().into());
    guard.now = guard.now + Duration::from_secs(61);
    let id = before.id();
    let stored = guard.objects.object(&id).unwrap().clone();
    assert_eq!(guard.refused(stored).0, "key-changed");
    let other = by_another_key(&exchange);
    assert_eq!(guard.reserve(&other.into()).effects.len(), 1);
}

#[test]
fn a_slice_shows_that_the_tenant_is_stored() {
    let exchange = made();
    let (mut guard, tenant) = guard_of(&exchange);
    guard.reserve(&tenant.clone().into());
    guard.objects.insert(tenant.into());
    assert_eq!(guard.write(slice(&exchange)).effects.len(), 1);
    assert!(guard.write(slice(&exchange)).is_settled());
}

#[test]
fn a_tenant_that_was_stored_before_confirms_nothing() {
    let exchange = made();
    let (mut guard, tenant) = guard_after(&exchange, |_| {});
    guard.objects.insert(tenant.clone().into());
    assert!(guard.confirm(&tenant.id()).is_settled());
    assert_eq!(guard.refused(slice(&exchange)).0, "tenant-not-on-record");
    // Nor does the nonce that was there, whoever changes the Tenant.
    let mut labelled = tenant;
    let labels = &mut labelled.metadata.labels;
    labels.insert("liqo-auth/adopt".into(), "true".into());
    let refused = guard.refused(labelled.clone());
    assert_eq!(refused, ("nonce-not-on-record", "data.nonce".to_owned()));
    // An administrator adopts it.
    let step = vouching(&guard, &exchange, &labelled).unwrap();
    assert_eq!(step.effects.len(), 1);
    guard.objects.apply(&step.effects[0]).unwrap();
    guard.objects.insert(labelled.clone().into());
    guard.confirm(&labelled.id());
    assert!(guard.write(slice(&exchange)).is_settled());
    guard.now = guard.now + Duration::from_secs(3600);
    assert!(guard.write(slice(&exchange)).is_settled());
}

/// An administrator lets the nonce count that is there.
fn vouching(guard: &Guard, exchange: &Exchange, changed: &Tenant) -> Result<Step, Error> {
    let view = guard.objects.view(&id("cl-consumer"));
    let view = view.vouch_for_nonce(&exchange.nonce());
    guard.judge_in(&view, &changed.clone().into())
}

#[test]
fn a_nonce_counts_that_liqo_makes_behind_the_guard() {
    let exchange = made();
    let (mut guard, tenant) = guard_after(&exchange, |_| {});
    assert_eq!(guard.refused(tenant.clone()).0, "nonce-not-on-record");
    let nonce = liqos_nonce(&exchange);
    for change in [
        |nonce: &mut Metadata| nonce.name = "other".into(),
        |nonce: &mut Metadata| nonce.labels.clear(),
    ] {
        let mut other = nonce.clone();
        change(other.metadata_mut());
        assert!(guard.reserve(&other).is_settled());
    }
    let mut elsewhere = nonce.clone();
    elsewhere.metadata_mut().namespace = "liqo-tenant-other".into();
    assert_eq!(guard.refused(elsewhere).0, "namespace-unexpected");
    assert!(guard.reserve(&nonce_secret(AT_PROVIDER, b"")).is_settled());
    assert_eq!(guard.refused(tenant.clone()).0, "nonce-not-on-record");
    assert_eq!(guard.write(nonce.clone()).effects.len(), 1);
    assert!(guard.write(nonce.clone()).is_settled());
    assert_eq!(guard.write(tenant).effects.len(), 1);
    // Nobody uses it again.
    assert!(guard.write(nonce).is_settled());
    assert!(!record(&guard).contains("offered"));
}

#[test]
fn with_a_key_its_nonce_is_given_back_if_liqo_has_made_it() {
    let exchange = made();
    let after_an_hour = |guard: &mut Guard| guard.now = guard.now + Duration::from_secs(3600);
    let (mut guard, tenant) = guard_with(&exchange, |_| {});
    guard.reserve(&tenant.clone().into());
    assert!(record(&guard).contains("offered"));
    after_an_hour(&mut guard);
    guard.judge(&by_another_key(&exchange).into()).unwrap();
    // One that an administrator has let count for a Tenant counts for this Tenant alone.
    let (mut guard, tenant) = guard_after(&exchange, |_| {});
    let step = vouching(&guard, &exchange, &tenant).unwrap();
    guard.objects.apply(&step.effects[0]).unwrap();
    assert!(!record(&guard).contains("offered"));
    after_an_hour(&mut guard);
    let refused = guard.refused(by_another_key(&exchange)).0;
    assert_eq!(refused, "nonce-not-on-record");
}

fn record(guard: &Guard) -> String {
    let record: Secret = stored(&guard.objects, "liqo", "liqo-auth-provider-cl-consumer");
    let texts = record.data.keys().filter_map(|key| record.get(key));
    texts.map(String::from_utf8_lossy).collect()
}

#[test]
fn what_no_honest_consumer_sends_is_refused() {
    let exchange = made();
    let (guard, tenant) = guard_of(&exchange);
    let changed = |change: &dyn Fn(&mut Tenant)| {
        let mut tenant = tenant.clone();
        change(&mut tenant);
        guard.refused(tenant)
    };
    let at = |code, field: &str| (code, field.to_owned());
    assert_eq!(
        changed(&|it| it.metadata.namespace = "liqo-tenant-other".into()),
        at("namespace-unexpected", "metadata.namespace")
    );
    assert_eq!(
        changed(&|it| it.spec.signature = by_another_key(&exchange).spec.signature),
        at("nonce-signature-wrong", "spec.signature")
    );
    assert_eq!(
        changed(&|it| it.spec.csr = slice(&exchange).spec.csr),
        at("csr-refused", "spec.csr")
    );
    assert_eq!(
        changed(&|it| it.spec.cluster_id = "cl-other".into()),
        at("name-mismatch", "spec.clusterID")
    );
    assert_eq!(
        changed(&|it| it.spec.authz_policy = Some(AuthzPolicy::TolerateNoHandshake)),
        at("self-declared-policy", "spec.authzPolicy")
    );
    // A condition hides nothing from the guard: Liqo may lift it later.
    assert_eq!(
        changed(&|it| {
            it.spec.tenant_condition = Some(TenantCondition::Drained);
            it.spec.csr = slice(&exchange).spec.csr;
        }),
        at("csr-refused", "spec.csr")
    );
    let unreadable = serde_json::json!({
        "apiVersion": "authentication.liqo.io/v1beta1",
        "kind": "Tenant",
        "metadata": {"name": "cl-consumer", "namespace": AT_PROVIDER},
        "spec": {"clusterID": 7},
    });
    guard.judge(&Object::from_value(unreadable)).unwrap_err();
}

#[test]
fn a_nonce_counts_where_liqo_finds_it() {
    let exchange = made();
    let (mut guard, tenant) = guard_of(&exchange);
    let nonce = nonce_secret(AT_PROVIDER, exchange.nonce().as_str().as_bytes());
    guard.objects.insert(nonce);
    assert_eq!(guard.refused(tenant.clone()).0, "nonce-not-on-record");
    guard
        .objects
        .remove(&secret(AT_PROVIDER, names::NONCE_SECRET));
    assert_eq!(guard.refused(tenant).0, "nonce-missing");
}

#[test]
fn a_nonce_serves_again_after_an_end_for_the_same_key() {
    let exchange = made();
    let (mut guard, tenant) = guard_of(&exchange);
    guard.write(tenant.clone());
    let mut again = tenant.clone();
    again.metadata.uid = "second".into();
    let (forgetful, _) = guard_with(&exchange, |_| {});
    let objects = guard.objects.clone();
    guard.objects.remove(&tenant.id());
    assert_eq!(guard.write(again.clone()).effects.len(), 1);
    // Unless the guard was told that it does not.
    let mut forgetful = Guarded {
        objects,
        ..forgetful
    };
    forgetful.objects.remove(&tenant.id());
    assert_eq!(forgetful.refused(again).0, "nonce-used");
}

#[test]
fn slices_and_renewals_carry_the_key_of_the_tenant() {
    let exchange = made();
    let (mut guard, tenant) = guard_of(&exchange);
    assert_eq!(guard.refused(slice(&exchange)).0, "tenant-missing");
    guard.objects.insert(tenant.clone().into());
    // Liqo let this Tenant in before there was a guard.
    assert_eq!(guard.refused(slice(&exchange)).0, "tenant-not-on-record");
    assert_eq!(guard.refused(renew(&exchange)).0, "tenant-not-on-record");
    guard.write(tenant);
    assert!(guard.write(slice(&exchange)).is_settled());
    assert!(guard.write(renew(&exchange)).is_settled());

    let mut other = slice(&exchange);
    other.spec.csr = exchange.tenant().spec.csr;
    assert_eq!(guard.refused(other).0, "csr-refused");
    let mut other = slice(&exchange);
    other.metadata.namespace = "liqo-tenant-other".into();
    assert_eq!(guard.refused(other).0, "namespace-unexpected");
    let mut other = slice(&exchange);
    other.spec.consumer_cluster_id = Some("cl-other".into());
    assert_eq!(guard.refused(other).0, "name-mismatch");

    let mut other = renew(&exchange);
    other.spec.csr = slice(&exchange).spec.csr;
    assert_eq!(guard.refused(other).0, "csr-refused");
    let mut of_slice = renew(&exchange);
    of_slice.metadata.name = "resourceslice-mypool".into();
    of_slice.spec.identity_type = IdentityType::ResourceSlice;
    assert_eq!(guard.refused(of_slice).0, "name-mismatch");
    let mut empty = renew(&exchange);
    empty.spec.csr = Default::default();
    assert!(guard.write(empty).is_settled());
}

#[test]
fn what_liqo_does_not_act_on_is_let_through() {
    let exchange = made();
    let (mut guard, _) = guard_of(&exchange);
    // What this cluster asks of the peer is no replica.
    for consumer in [None, Some("cl-provider".to_owned())] {
        let mut own = slice(&exchange);
        own.metadata.labels.remove(names::REPLICATED_LABEL);
        own.spec.consumer_cluster_id = consumer;
        assert!(guard.write(own).is_settled());
    }
    let mut own = renew(&exchange);
    own.metadata.labels.remove(names::REPLICATED_LABEL);
    assert!(guard.write(own).is_settled());
    let secret = Secret {
        metadata: Metadata::default(),
        ..Secret::default()
    };
    assert!(guard.write(secret).is_settled());
}

#[test]
fn the_settings_name_who_needs_no_handshake() {
    let exchange = made();
    let (mut guard, mut tenant) = guard_with(&exchange, |config| {
        let peer = config.peers.entry(id("cl-consumer")).or_default();
        peer.tolerate_no_handshake = true;
    });
    tenant.spec.authz_policy = Some(AuthzPolicy::TolerateNoHandshake);
    tenant.spec.signature = Default::default();
    assert!(guard.write(tenant).is_settled());
    assert!(guard.write(slice(&exchange)).is_settled());
    // Its Tenant vouches for no key.
    assert_eq!(guard.refused(renew(&exchange)).0, "tenant-not-on-record");
}

#[test]
fn a_running_peering_is_adopted_if_the_guard_may() {
    let exchange = made();
    let (mut guard, _) = guard_after(&exchange, |config| config.adopt_from_liqo = true);
    for object in exchange.at_provider.iter() {
        if object.metadata().namespace != names::LIQO_NAMESPACE {
            guard.objects.insert(object.clone());
        }
    }
    assert_eq!(guard.write(slice(&exchange)).effects.len(), 1);
    assert!(guard.write(renew(&exchange)).is_settled());
}

#[test]
fn a_tenant_of_another_name_is_let_through_as_the_only_one() {
    let exchange = made();
    let (mut guard, tenant) = guard_of(&exchange);
    let named = |name: &str, uid: &str| {
        let mut tenant = tenant.clone();
        tenant.metadata.name = name.into();
        tenant.metadata.uid = uid.into();
        tenant
    };
    assert_eq!(guard.write(named("my-tenant", "first")).effects.len(), 1);
    assert!(guard.write(slice(&exchange)).is_settled());
    for name in ["another", "cl-consumer"] {
        let code = guard.refused(named(name, "second")).0;
        assert_eq!(code, "namespace-unexpected", "{name}");
    }
    // Liqo finds it by its label, and nobody puts it right.
    for label in [None, Some("cl-other")] {
        let mut other = named("my-tenant", "first");
        other.metadata.labels.clear();
        let label = label.map(|it| (names::REMOTE_CLUSTER_ID_LABEL.to_owned(), it.to_owned()));
        other.metadata.labels.extend(label);
        assert_eq!(guard.refused(other).0, "name-mismatch");
    }
    // When it is gone, another one takes its place, and is on record then.
    guard.objects.remove(&named("my-tenant", "first").id());
    assert_eq!(guard.write(named("another", "second")).effects.len(), 1);
    assert!(guard.write(named("another", "second")).is_settled());
    let code = guard.refused(named("my-tenant", "third")).0;
    assert_eq!(code, "namespace-unexpected");
}
