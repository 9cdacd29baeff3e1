use core::time::Duration;

use liqo_auth::{
    consumer::Consumer,
    machine::Awaited,
    model::{Identity, ResourceSlice, Secret},
};

use super::*;

const IDENTITY: &str = "controlplane-cl-provider";
const OF_SLICE: &str = "resourceslice-mypool";

type Guard = Guarded<Consumer>;

/// A guard with the nonce that Liqo has signed.
fn guard_of(exchange: &Exchange) -> Guard {
    let mut guard = Guarded::new(Setup::new().consumer(), "cl-provider", exchange.now);
    assert!(guard.write(signed_nonce(exchange)).is_settled());
    guard
}

fn signed_nonce(exchange: &Exchange) -> Secret {
    stored(
        &exchange.at_consumer,
        AT_CONSUMER,
        names::SIGNED_NONCE_SECRET,
    )
}

fn identity(exchange: &Exchange, name: &str) -> Identity {
    let mut identity: Identity = stored(&exchange.at_consumer, AT_CONSUMER, name);
    identity.status = Default::default();
    identity
}

fn kubeconfig(exchange: &Exchange, identity: &str) -> Secret {
    let name = names::kubeconfig_secret(identity);
    stored(&exchange.at_consumer, AT_CONSUMER, &name)
}

#[test]
fn an_identity_is_let_through_once_its_provider_is_pinned() {
    let exchange = made();
    let mut guard = guard_of(&exchange);
    assert_eq!(guard.write(identity(&exchange, IDENTITY)).effects.len(), 1);
    assert!(guard.write(identity(&exchange, IDENTITY)).is_settled());
    assert!(guard.write(kubeconfig(&exchange, IDENTITY)).is_settled());
    let mut moved = identity(&exchange, IDENTITY);
    moved.spec.auth_params.api_server = "https://198.51.100.7:6443".into();
    let field = "spec.authParams.apiServer".to_owned();
    assert_eq!(guard.refused(moved), ("endpoint-changed", field));
}

fn record(guard: &Guard) -> serde_json::Value {
    let record: Secret = stored(&guard.objects, "liqo", "liqo-auth-consumer-cl-provider");
    serde_json::from_slice(record.get("record").unwrap()).unwrap()
}

/// As with Liqo, nothing proves the provider's key.
fn made_by_liqo() -> Exchange {
    made_by(&Setup {
        provider_key: None,
        ..Setup::new()
    })
}

fn moved(exchange: &Exchange) -> Identity {
    let mut moved = identity(exchange, IDENTITY);
    moved.spec.auth_params.api_server = "https://198.51.100.7:6443".into();
    moved
}

#[test]
fn a_provider_whose_identity_is_not_stored_is_pinned_for_a_minute() {
    let exchange = made_by_liqo();
    let mut guard = guard_of(&exchange);
    guard.reserve(&identity(&exchange, IDENTITY).into());
    guard.now = guard.now + Duration::from_secs(59);
    assert_eq!(guard.refused(moved(&exchange)).0, "endpoint-changed");
    // The same Identity comes again, and has another minute.
    assert_eq!(
        guard
            .reserve(&identity(&exchange, IDENTITY).into())
            .effects
            .len(),
        1
    );
    guard.now = guard.now + Duration::from_secs(59);
    assert_eq!(guard.refused(moved(&exchange)).0, "endpoint-changed");
    guard.now = guard.now + Duration::from_secs(1);
    let step = guard.reserve(&moved(&exchange).into());
    // The watch of the Identities may be behind.
    let place = identity(&exchange, IDENTITY);
    assert_eq!(step.absent, Some(place.id()));
    assert_eq!(
        record(&guard)["endpoint"]["apiServer"],
        "https://198.51.100.7:6443"
    );
    assert_eq!(guard.refused(place).0, "endpoint-changed");
}

#[test]
fn a_provider_whose_identity_is_stored_is_pinned_for_good() {
    let exchange = made_by_liqo();
    let shows: [fn(&mut Guard, &Exchange); 3] = [
        |guard, exchange| {
            let stored = identity(exchange, IDENTITY);
            assert_eq!(guard.confirm(&stored.id()).effects.len(), 1);
            assert!(guard.confirm(&stored.id()).is_settled());
        },
        |guard, exchange| drop(guard.write(kubeconfig(exchange, IDENTITY))),
        // Nobody looks within the minute.
        |_, _| {},
    ];
    for shown in shows {
        let mut guard = guard_of(&exchange);
        guard.reserve(&identity(&exchange, IDENTITY).into());
        guard.objects.insert(identity(&exchange, IDENTITY).into());
        shown(&mut guard, &exchange);
        guard.now = guard.now + Duration::from_secs(3600);
        assert_eq!(guard.refused(moved(&exchange)).0, "endpoint-changed");
    }
}

#[test]
fn a_release_ends_a_reservation() {
    let exchange = made_by_liqo();
    let mut guard = guard_of(&exchange);
    guard.reserve(&identity(&exchange, IDENTITY).into());
    assert!(record(&guard)["reserved"].is_object());
    let view = guard.objects.view(&id("cl-provider"));
    let released = guard.machine.release_pins(&view).unwrap();
    guard.objects.apply(&released.effects[0]).unwrap();
    assert_eq!(record(&guard)["reserved"], serde_json::Value::Null);
    assert_eq!(record(&guard)["released"], true);
}

#[test]
fn an_identity_that_liqo_had_before_says_where_the_provider_is() {
    let exchange = made();
    let mut guard = guard_of(&exchange);
    guard.objects.insert(identity(&exchange, IDENTITY).into());
    let mut moved = identity(&exchange, IDENTITY);
    moved.spec.auth_params.api_server = "https://198.51.100.7:6443".into();
    assert_eq!(guard.refused(moved.clone()).0, "endpoint-changed");
    // What cannot be used says nothing.
    let mut broken = identity(&exchange, IDENTITY);
    broken.spec.auth_params.signed_crt = Default::default();
    guard.objects.insert(broken.into());
    guard.write(identity(&exchange, IDENTITY));
}

#[test]
fn the_identity_of_a_slice_is_at_the_pinned_provider() {
    let exchange = made();
    let mut guard = guard_of(&exchange);
    let slice: ResourceSlice = stored(&exchange.at_consumer, AT_CONSUMER, "mypool");
    let of_slice = identity(&exchange, OF_SLICE);
    assert_eq!(guard.refused(of_slice.clone()).0, "slice-not-requested");
    guard.write(slice);
    assert_eq!(guard.refused(of_slice.clone()).0, "not-authenticated");
    // Liqo had this Identity before there was a guard.
    guard.objects.insert(identity(&exchange, IDENTITY).into());
    assert!(guard.judge(&of_slice.clone().into()).is_ok());
    guard.write(identity(&exchange, IDENTITY));
    guard.write(of_slice.clone());
    guard.write(kubeconfig(&exchange, OF_SLICE));
    let mut moved = of_slice.clone();
    moved.spec.auth_params.api_server = "https://198.51.100.7:6443".into();
    assert_eq!(guard.refused(moved).0, "endpoint-changed");
    let mut other = of_slice;
    other.spec.auth_params.signed_crt = identity(&exchange, IDENTITY).spec.auth_params.signed_crt;
    assert_eq!(guard.refused(other).0, "certificate-refused");
}

#[test]
fn an_identity_has_the_name_and_the_place_of_its_provider() {
    let exchange = made();
    let guard = guard_of(&exchange);
    let mut renamed = identity(&exchange, IDENTITY);
    renamed.metadata.name = "controlplane-cl-other".into();
    assert_eq!(guard.refused(renamed).0, "name-mismatch");
    let mut elsewhere = identity(&exchange, IDENTITY);
    elsewhere.metadata.namespace = "default".into();
    assert_eq!(guard.refused(elsewhere).0, "namespace-unexpected");
    let unreadable = serde_json::json!({
        "apiVersion": "authentication.liqo.io/v1beta1",
        "kind": "Identity",
        "metadata": {"name": IDENTITY, "namespace": AT_CONSUMER},
        "spec": {"clusterID": 7},
    });
    guard.judge(&Object::from_value(unreadable)).unwrap_err();
}

#[test]
fn a_kubeconfig_is_the_one_that_its_identity_gives() {
    let exchange = made();
    let mut guard = guard_of(&exchange);
    let refused = ("kubeconfig-of-no-identity", "data.kubeconfig".to_owned());
    assert_eq!(guard.refused(kubeconfig(&exchange, IDENTITY)), refused);
    guard.write(identity(&exchange, IDENTITY));
    let mut other = kubeconfig(&exchange, IDENTITY);
    let text = exchange.kubeconfig().replace("https://", "https://user@");
    other
        .data
        .insert(names::KUBECONFIG.into(), text.into_bytes().into());
    assert_eq!(guard.refused(other), refused);
    // Liqo's replicator writes where the annotation says.
    let mut moved = kubeconfig(&exchange, IDENTITY);
    let annotation = names::REMOTE_TENANT_NAMESPACE_ANNOTATION;
    let other = (annotation.to_owned(), "liqo-tenant-cl-x".to_owned());
    moved.metadata.annotations.extend([other]);
    assert_eq!(guard.refused(moved), refused);
    // Liqo finds it by its label, whatever its name is.
    let mut renamed = kubeconfig(&exchange, IDENTITY);
    renamed.metadata.name = "another".into();
    assert_eq!(guard.refused(renamed), refused);
    let mut unlabelled = kubeconfig(&exchange, IDENTITY);
    unlabelled.metadata.name = "another".into();
    unlabelled
        .metadata
        .labels
        .remove(names::IDENTITY_TYPE_LABEL);
    assert!(guard.write(unlabelled).is_settled());
}

#[test]
fn a_nonce_to_be_signed_is_a_nonce() {
    let exchange = made();
    let mut guard = guard_of(&exchange);
    let signed = signed_nonce(&exchange);
    guard.write(signed.clone());
    let mut empty = signed.clone();
    empty.data.clear();
    guard.write(empty);
    // Liqo signs an empty text as well.
    for text in ["eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJhZG1pbiJ9", ""] {
        let mut other = signed.clone();
        let text = text.as_bytes().to_vec();
        other.data.insert(names::NONCE.into(), text.into());
        assert_eq!(guard.refused(other).1, "data.nonce");
    }
}

/// A finalizer keeps what is being deleted, and Liqo still acts on it.
#[test]
fn what_is_being_deleted_is_judged_as_before() {
    let exchange = made_by_liqo();
    let mut guard = guard_of(&exchange);
    guard.reserve(&identity(&exchange, IDENTITY).into());
    let mut deleted = identity(&exchange, IDENTITY);
    deleted.metadata.deletion_timestamp = Some(Timestamp::EPOCH);
    guard.objects.insert(deleted.clone().into());
    assert_eq!(guard.confirm(&deleted.id()).effects.len(), 1);
    assert!(guard.confirm(&deleted.id()).is_settled());
    deleted.spec.auth_params.signed_crt = Default::default();
    assert_eq!(guard.refused(deleted).0, "credentials-missing");

    let mut kubeconfig = kubeconfig(&exchange, IDENTITY);
    kubeconfig.metadata.deletion_timestamp = Some(Timestamp::EPOCH);
    assert!(guard.write(kubeconfig.clone()).is_settled());
    kubeconfig.data.clear();
    assert_eq!(guard.refused(kubeconfig).0, "kubeconfig-of-no-identity");
    let mut signed = signed_nonce(&exchange);
    signed.metadata.deletion_timestamp = Some(Timestamp::EPOCH);
    assert!(guard.write(signed.clone()).is_settled());
    signed
        .data
        .insert(names::NONCE.into(), "".as_bytes().into());
    assert_eq!(guard.refused(signed).1, "data.nonce");
}

#[test]
fn nothing_is_judged_before_the_own_key_is_known() {
    let exchange = made();
    let mut guard = guard_of(&exchange);
    guard.machine = Consumer::new(
        liqo_auth::consumer::ConsumerConfig::new(id("cl-consumer")),
        std::sync::Arc::new(NoKey),
    );
    for object in [
        Object::from(identity(&exchange, IDENTITY)),
        kubeconfig(&exchange, IDENTITY).into(),
    ] {
        let step = guard.judge(&object).unwrap();
        assert_eq!(step.wait.awaiting, [Awaited::OwnKey]);
        assert!(step.is_settled());
    }
}

struct NoKey;

impl liqo_auth::crypto::KeyStore for NoKey {
    fn find(
        &self,
        _: &liqo_auth::model::ClusterId,
    ) -> Result<
        liqo_auth::crypto::Answer<std::sync::Arc<dyn liqo_auth::crypto::SigningKey>>,
        liqo_auth::crypto::BoxError,
    > {
        Ok(liqo_auth::crypto::Answer::Pending)
    }
}

#[cfg(feature = "yaml")]
#[test]
fn a_kubeconfig_that_the_settings_name_is_let_through_without_an_identity() {
    use liqo_auth::{
        consumer::{ConsumerConfig, PeerSettings},
        crypto::OneKey,
    };
    use sha2::{Digest, Sha256};

    use crate::clusters::exchange::ed25519;

    let exchange = made();
    let mut made_by_hand = kubeconfig(&exchange, IDENTITY);
    made_by_hand.metadata.name = "cplane-secret".to_owned();
    let text = made_by_hand.get(names::KUBECONFIG).unwrap();
    let digits: String = Sha256::digest(text)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let mut config = ConsumerConfig::new(id("cl-consumer"));
    let settings = PeerSettings {
        kubeconfig_digest: Some(format!("SHA256:{digits}").parse().unwrap()),
        ..PeerSettings::default()
    };
    config.peers.insert(id("cl-provider"), settings);
    let named = Consumer::new(config, std::sync::Arc::new(OneKey(ed25519(1))));

    let mut guard = guard_of(&exchange);
    let field = "data.kubeconfig".to_owned();
    assert_eq!(
        guard.refused(made_by_hand.clone()),
        ("kubeconfig-of-no-identity", field.clone())
    );
    guard.machine = named;
    assert!(guard.write(made_by_hand.clone()).is_settled());
    let slice: ResourceSlice = stored(&exchange.at_consumer, AT_CONSUMER, "mypool");
    guard.write(slice);
    assert!(guard.judge(&identity(&exchange, OF_SLICE).into()).is_ok());
    let mut other = made_by_hand.clone();
    other
        .data
        .insert(names::KUBECONFIG.to_owned(), "other".as_bytes().into());
    assert_eq!(guard.refused(other).0, "kubeconfig-of-no-identity");
    // An Identity takes its place.
    guard.write(identity(&exchange, IDENTITY));
    assert_eq!(
        guard.refused(made_by_hand),
        ("kubeconfig-of-no-identity", field)
    );
}
