//! How a consumer recognizes its provider by the key that the provider proves:
//! on first contact, later, and when an attacker in the middle changes the
//! messages.

use core::time::Duration;
use std::sync::{Arc, Mutex};

use liqo_auth::{
    assurance::commitment::{Assurance, COMMITMENT_ANNOTATION},
    consumer::{self, PeerSettings},
    crypto::{
        Answer, Authority, BoxError, ClientKey, Entropy, Nonce, Payload, PublicKey, Purpose,
        Signature, SignatureError, SigningKey,
    },
    error::{CommitmentFault, Error, PeerIncompatible},
    machine::{MessageBody, Notice},
    model::{Bytes, ClusterId, Identity, Resource, Secret},
    policy::Policy,
};

use crate::clusters::{
    exchange::{self, Exchange, Setup, ed25519},
    store,
};

#[test]
fn the_first_proven_key_is_pinned_and_counts_as_continuity() {
    let setup = Setup::new();
    let mut exchange = setup.exchange();
    exchange.settle();
    assert_eq!(assurance(&exchange), Assurance::Continuity);
    assert_eq!(exchange.notices, []);
    assert_eq!(pinned(&exchange), Some(fingerprint(&setup)));
}

#[test]
fn the_providers_key_learns_to_which_consumer_it_commits() {
    /// Notes what it signs, and for whom.
    struct Noting(
        Arc<dyn SigningKey>,
        Mutex<Vec<(Purpose, Option<ClusterId>)>>,
    );
    impl SigningKey for Noting {
        fn public_key(&self) -> &PublicKey {
            self.0.public_key()
        }
        fn sign(&self, payload: &Payload<'_>) -> Result<Answer<Signature>, BoxError> {
            let noted = (payload.purpose(), payload.peer().cloned());
            self.1.lock().unwrap().push(noted);
            self.0.sign(payload)
        }
        fn client_key(&self) -> ClientKey {
            self.0.client_key()
        }
    }
    let key = Arc::new(Noting(ed25519(2), Mutex::default()));
    let mut setup = Setup::new();
    setup.provider_key = Some(key.clone());
    setup.exchange().settle();
    let expected = (Purpose::Commitment, Some(exchange::id("cl-consumer")));
    assert_eq!(*key.1.lock().unwrap(), [expected]);
}

#[test]
fn a_key_that_the_consumer_was_configured_with_is_authenticated() {
    let mut setup = Setup::new();
    let another = ed25519(50).public_key().fingerprint();
    let own = setup.provider_key.as_ref().unwrap().public_key();
    setup.settings.provider_keys = vec![another, own.fingerprint()];
    let mut exchange = setup.exchange();
    exchange.settle();
    assert_eq!(assurance(&exchange), Assurance::Authenticated);
}

#[test]
fn a_key_other_than_the_configured_one_is_refused_and_nothing_is_stored() {
    let mut setup = Setup::new();
    setup.settings.provider_keys = vec![ed25519(50).public_key().fingerprint()];
    let mut exchange = setup.exchange();
    exchange.settle();
    let expected = CommitmentFault::OtherKey {
        found: fingerprint(&setup),
    };
    assert_eq!(faults(&exchange.refused), [expected]);
    assert_eq!(exchange.phases(), ("Authenticated", "AwaitsIdentity"));
    assert!(exchange.at_consumer.iter().all(|object| {
        Identity::from_object(object).is_none() && !object.id().name.starts_with("kubeconfig-")
    }));
    assert_eq!(pinned(&exchange), None);
}

#[test]
fn a_provider_without_a_key_is_unproven() {
    let mut setup = Setup::new();
    setup.provider_key = None;
    let mut exchange = setup.exchange();
    exchange.settle();
    assert_eq!(assurance(&exchange), Assurance::Unproven);
    assert_eq!(exchange.notices, [Notice::ProviderUnproven]);
    assert_eq!(pinned(&exchange), None);
}

#[test]
fn a_nonce_of_unmodified_liqo_is_signed_and_its_provider_is_unproven() {
    let mut setup = Setup::new();
    setup.provider_key = None;
    let mut exchange = setup.exchange();
    let nonce = Nonce::random(&Entropy::from_bytes([5; 32]));
    assert_eq!(nonce.structured(), None);
    exchange.turn_of_provider();
    let secret = exchange::nonce_secret("liqo-tenant-cl-consumer", nonce.as_str().as_bytes());
    exchange.at_provider.insert(secret);
    exchange.vouched.push(nonce);
    exchange.settle();
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
    assert_eq!(assurance(&exchange), Assurance::Unproven);
    assert_eq!(exchange.notices, [Notice::ProviderUnproven]);
}

#[test]
fn a_provider_that_has_to_prove_a_key_cannot_leave_the_proof_out() {
    // The key is configured. This is the first contact.
    let mut setup = Setup::new();
    let own = setup.provider_key.as_ref().unwrap().public_key();
    setup.settings.provider_keys = vec![own.fingerprint()];
    let mut exchange = setup.exchange();
    exchange.on_the_way = strip;
    exchange.settle();
    assert_eq!(faults(&exchange.refused), [CommitmentFault::Missing]);
    assert_eq!(exchange.phases(), ("Authenticated", "AwaitsIdentity"));

    // The key is pinned by an earlier contact.
    let mut exchange = Setup::new().exchange();
    exchange.settle();
    let before = exchange.at_consumer.clone();
    exchange.on_the_way = strip;
    let message = MessageBody::Identity(Box::new(exchange.identity()));
    let error = exchange.hand_over(message).unwrap_err();
    assert_eq!(faults(&[error]), [CommitmentFault::Missing]);
    assert_eq!(exchange.at_consumer, before);

    // The key is pinned, and the proof is removed from the stored Identity.
    let mut identity = exchange.stored_identity();
    identity.metadata.annotations.clear();
    exchange.at_consumer.insert(identity.into());
    let consumer::Phase::Refused(error) = exchange.consumer_phase() else {
        panic!("{:?}", exchange.consumer_phase());
    };
    assert_eq!(faults(&[error]), [CommitmentFault::Missing]);
}

#[test]
fn a_key_that_is_proven_after_an_unproven_first_contact_is_pinned() {
    let mut setup = Setup::new();
    setup.settings.accept_unproven_provider = true;
    let mut exchange = setup.exchange();
    exchange.on_the_way = strip;
    exchange.settle();
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
    assert_eq!(assurance(&exchange), Assurance::Unproven);
    exchange.on_the_way = |_| {};
    exchange.settle();
    assert_eq!(assurance(&exchange), Assurance::Continuity);
    exchange.on_the_way = strip;
    let message = MessageBody::Identity(Box::new(exchange.identity()));
    let error = exchange.hand_over(message).unwrap_err();
    assert_eq!(faults(&[error]), [CommitmentFault::Missing]);
}

#[test]
fn a_malformed_commitment_is_refused_even_if_none_is_required() {
    for garbage in ["", ".", "AAAA", "AAAA.AAAA", "%.%", &"A".repeat(100_000)] {
        let mut exchange = Setup::new().exchange();
        exchange.settle();
        let mut identity = exchange.identity();
        set_commitment(&mut identity, garbage);
        exchange.at_consumer = store::empty();
        exchange.deliver("nonce");
        let message = MessageBody::Identity(Box::new(identity));
        let error = exchange.hand_over(message).unwrap_err();
        let [fault] = faults(std::slice::from_ref(&error)).try_into().unwrap();
        assert!(
            matches!(fault, CommitmentFault::Encoding | CommitmentFault::Key(_)),
            "{fault:?}"
        );
        assert!(error.to_string().len() < 400, "{error}");
    }
}

/// The provider signs these fields. They are changed afterwards.
#[test]
fn a_field_that_is_changed_on_the_way_is_refused() {
    type Change = fn(&mut MessageBody);
    let changes: [(&str, Change); 3] = [
        ("apiServer", |message| {
            in_identity(message, |identity| {
                identity.spec.auth_params.api_server = "https://10.9.9.9:6443".to_owned();
            });
        }),
        ("ca", |message| {
            in_identity(message, |identity| {
                identity.spec.auth_params.ca = another_ca();
            });
        }),
        ("namespace", |message| {
            in_identity(message, |identity| {
                identity.spec.namespace = Some("kube-system".to_owned());
            });
        }),
    ];
    for (field, change) in changes {
        let mut setup = Setup::new();
        // The strict policy refuses another namespace before it checks the
        // commitment.
        setup.policy = Policy::compatible();
        let mut exchange = setup.exchange();
        exchange.on_the_way = change;
        exchange.settle();
        let mismatch = CommitmentFault::Signature(SignatureError::Mismatch);
        assert_eq!(faults(&exchange.refused), [mismatch], "{field}");
        assert_eq!(
            exchange.phases(),
            ("Authenticated", "AwaitsIdentity"),
            "{field}"
        );
    }
}

/// The Tenant's proxy is not signed. An attacker who removes it from the Tenant
/// has to add it again to the Identity. But the provider's signature does not
/// cover the added proxy.
#[test]
fn a_proxy_that_the_provider_did_not_sign_is_refused() {
    let mut setup = Setup::new();
    setup.settings = PeerSettings {
        proxy_url: Some("http://10.70.0.2:8118".parse().unwrap()),
        ..PeerSettings::default()
    };
    let mut exchange = setup.exchange();
    exchange.on_the_way = |message| match message {
        MessageBody::Tenant(tenant) => tenant.spec.proxy_url = None,
        MessageBody::Identity(identity) => {
            identity.spec.auth_params.proxy_url = Some("http://10.70.0.2:8118".to_owned());
        }
        _ => {}
    };
    exchange.settle();
    let mismatch = CommitmentFault::Signature(SignatureError::Mismatch);
    assert_eq!(faults(&exchange.refused), [mismatch]);

    let mut undisturbed = setup.exchange();
    undisturbed.settle();
    assert_eq!(assurance(&undisturbed), Assurance::Continuity);
}

/// An attacker in the middle signs with his own key. On first contact the nonce
/// reveals him, later the pinned key.
#[test]
fn a_commitment_of_another_key_is_refused() {
    let mut setup = Setup::new();
    let mut exchange = setup.exchange();
    exchange.settle();
    // The same provider and the same record key, but another provider key.
    setup.provider_key = Some(ed25519(50));
    let record_key = liqo_auth::crypto::RecordKey::new(exchange::RECORD_KEY).unwrap();
    let impostor = Exchange {
        provider: setup.provider(record_key),
        at_provider: exchange::cluster_roles(),
        ..setup.exchange()
    };
    let mut impostor = Exchange {
        consumer: exchange.consumer.clone(),
        at_consumer: exchange.at_consumer.clone(),
        ..impostor
    };
    // The impostor makes his own nonce. It names both clusters and commits to
    // his own key.
    impostor.settle();
    let expected = CommitmentFault::OtherKey {
        found: fingerprint(&setup),
    };
    assert_eq!(faults(&impostor.refused), [expected]);

    // On first contact, with the honest provider's nonce.
    let mut identity = impostor.identity();
    let honest = exchange.identity();
    identity.spec = honest.spec;
    exchange.at_consumer = store::empty();
    exchange.deliver("nonce");
    let message = MessageBody::Identity(Box::new(identity));
    let error = exchange.hand_over(message).unwrap_err();
    // The commitment is for another nonce; therefore its signature does not
    // verify.
    let mismatch = CommitmentFault::Signature(SignatureError::Mismatch);
    assert_eq!(faults(&[error]), [mismatch]);
}

/// A provider whose endpoint changes signs the new endpoint with its own key.
/// But the consumer has pinned the old endpoint, so its administrator has to
/// decide.
#[test]
fn a_changed_endpoint_is_refused_even_with_a_valid_commitment() {
    let mut setup = Setup::new();
    let mut exchange = setup.exchange();
    exchange.settle();
    setup.endpoint = exchange::endpoint("https://172.19.0.4:6443");
    let record_key = liqo_auth::crypto::RecordKey::new(exchange::RECORD_KEY).unwrap();
    exchange.provider = setup.provider(record_key);
    exchange.settle();
    let [error] = &exchange.refused[..] else {
        panic!("{:?}", exchange.refused);
    };
    assert_eq!(error.fault(), &PeerIncompatible::EndpointChanged.into());
    assert_eq!(error.at().field, "spec.authParams.apiServer");

    // A consumer without pins accepts the new endpoint.
    exchange.at_consumer = store::empty();
    exchange.settle();
    assert_eq!(assurance(&exchange), Assurance::Continuity);
}

/// After its use, the consumer does not need the signed nonce any more.
#[test]
fn an_identity_stays_valid_without_its_signed_nonce() {
    let mut exchange = Setup::new().exchange();
    exchange.settle();
    let signed = exchange::secret_ref("liqo-tenant-cl-provider", "liqo-signed-nonce");
    exchange.at_consumer.remove(&signed).unwrap();
    assert_eq!(assurance(&exchange), Assurance::Continuity);
    // The nonce in the record does not make another Identity acceptable.
    let mut identity = exchange.stored_identity();
    identity.spec.auth_params.ca = another_ca();
    let message = MessageBody::Identity(Box::new(identity));
    let error = exchange.hand_over(message).unwrap_err();
    assert_eq!(error.fault(), &PeerIncompatible::EndpointChanged.into());
}

/// The nonce may be replaced during a peering. The stored Identity was
/// committed to under the earlier nonce.
#[test]
fn a_nonce_that_is_replaced_later_does_not_invalidate_the_identity() {
    let mut exchange = Setup::new().exchange();
    exchange.settle();
    let env = exchange.env();
    let step = exchange
        .provider
        .replace_nonce(&exchange.provider_view(), env)
        .unwrap();
    exchange.carry_out(true, step);
    exchange.deliver("nonce");
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
    exchange.settle();
    assert_eq!(exchange.refused, []);
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
    assert_eq!(assurance(&exchange), Assurance::Continuity);

    // A consumer that has lost all its objects knows only the later nonce.
    exchange.at_consumer = store::empty();
    exchange.settle();
    assert_eq!(exchange.refused, []);
    assert_eq!(assurance(&exchange), Assurance::Continuity);
}

fn assurance(exchange: &Exchange) -> Assurance {
    match exchange.consumer_phase() {
        consumer::Phase::Authenticated(held) => held.accepted.assurance,
        other => panic!("{other:?}, {:?}", exchange.refused),
    }
}

fn faults(errors: &[Error]) -> Vec<CommitmentFault> {
    errors
        .iter()
        .map(|error| {
            assert_eq!(
                error.at().field,
                "metadata.annotations[liqo-auth/commitment]",
                "{error}"
            );
            match error.fault() {
                liqo_auth::error::Fault::PeerIncompatible(PeerIncompatible::Commitment(fault)) => {
                    fault.clone()
                }
                liqo_auth::error::Fault::PeerIncompatible(PeerIncompatible::CommitmentMissing) => {
                    CommitmentFault::Missing
                }
                other => panic!("{other:?}"),
            }
        })
        .collect()
}

/// The provider's key that the consumer has pinned in its record.
fn pinned(exchange: &Exchange) -> Option<String> {
    let record: &Secret = exchange
        .at_consumer
        .get("liqo", "liqo-auth-consumer-cl-provider")?;
    let record: serde_json::Value = serde_json::from_slice(record.data["record"].expose()).unwrap();
    Some(record.get("providerKey")?.as_str()?.to_owned())
}

fn fingerprint(setup: &Setup) -> String {
    let key: &Arc<dyn SigningKey> = setup.provider_key.as_ref().unwrap();
    key.public_key().fingerprint().to_string()
}

fn strip(message: &mut MessageBody) {
    in_identity(message, |identity| identity.metadata.annotations.clear());
}

fn in_identity(message: &mut MessageBody, change: impl FnOnce(&mut Identity)) {
    if let MessageBody::Identity(identity) = message {
        change(identity);
    }
}

fn set_commitment(identity: &mut Identity, text: &str) {
    identity
        .metadata
        .annotations
        .insert(COMMITMENT_ANNOTATION.to_owned(), text.to_owned());
}

fn another_ca() -> Bytes {
    let authority = Authority::new(
        "cl-provider-ca",
        exchange::now(),
        Duration::from_secs(86_400),
        &Entropy::from_bytes([99; 32]),
    )
    .unwrap();
    Bytes::from(authority.ca_bundle().pem())
}
