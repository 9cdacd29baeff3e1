//! Keys by provider, and the migration from one key for the whole cluster.

use std::sync::Arc;

use liqo_auth::{
    Machine,
    assurance::succession::KEY_SUCCESSION_ANNOTATION,
    consumer::PeerSettings,
    crypto::{Entropy, KeysByProvider, Nonce, SigningKey},
    error::{Fault, PeerIncompatible},
    machine::{Awaited, Message, MessageBody, Notice},
    model::{Kubeconfig, Tenant, UserCredential},
};

use crate::{
    clusters::{exchange::ed25519, succession},
    consumer::home::{
        self, HOUR, Home, IDENTITY, MINUTE, YEAR, consumer, crash_everywhere, issue_control_plane,
        issue_slice, mypool, provider,
    },
};

fn cluster_key() -> Arc<dyn SigningKey> {
    ed25519(1)
}

fn own_key() -> Arc<dyn SigningKey> {
    ed25519(2)
}

/// A consumer that authenticated with the cluster's key, and now has a separate
/// key for the provider.
fn migrating(mut home: Home) -> Home {
    let keys =
        KeysByProvider::new(cluster_key()).insert(provider(), own_key(), Some(cluster_key()));
    home.consumer = consumer(PeerSettings::default(), Arc::new(keys));
    home
}

fn private_key(home: &Home, identity: &str) -> Vec<u8> {
    let kubeconfig = Kubeconfig::parse(&home.kubeconfig(identity).unwrap()).unwrap();
    match kubeconfig.credential {
        UserCredential::KeyData { key, .. } => key.expose().to_vec(),
        other => panic!("{other:?}"),
    }
}

fn pem(key: &dyn SigningKey) -> Vec<u8> {
    match key.client_key() {
        liqo_auth::crypto::ClientKey::Pem(pem) => pem.expose().as_bytes().to_vec(),
        other => panic!("{other:?}"),
    }
}

fn tenant(home: &Home) -> Tenant {
    match home.sent.as_slice() {
        [
            Message {
                body: MessageBody::Tenant(tenant),
                ..
            },
        ] => (**tenant).clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_new_provider_gets_only_its_own_key() {
    let keys = KeysByProvider::new(cluster_key()).insert(provider(), own_key(), None);
    let mut home = Home::with_keys(PeerSettings::default(), Arc::new(keys));
    home.sign_nonce(7);
    let tenant = tenant(&home);
    assert_eq!(
        tenant.spec.public_key.as_slice(),
        own_key().public_key().to_tenant_field()
    );
    assert!(tenant.metadata.annotations.is_empty());
}

#[test]
fn the_old_key_is_used_until_the_provider_sends_a_new_nonce() {
    let mut home = migrating(Home::with_slice(YEAR));
    let step = home.settle();
    assert_eq!(home.phase(), "Authenticated");
    assert!(home.held().accepted.awaits_new_key);
    assert_eq!(home.held().accepted.key(), cluster_key().public_key());
    assert!(home.notices.contains(&Notice::NewKeyAwaitsNonce));
    assert!(step.wait.awaiting.contains(&Awaited::Nonce));
    assert_eq!(home.sent, []);
    assert_eq!(private_key(&home, IDENTITY), pem(&*cluster_key()));
    assert_eq!(
        private_key(&home, "resourceslice-mypool"),
        pem(&*cluster_key())
    );
    assert_eq!(home.slice_phase(), "Held");
    // A nonce from before the migration is not signed by the new key.
    home.sign_nonce(7);
    assert_eq!(home.notices, [Notice::NewKeyAwaitsNonce]);
    assert_eq!(home.sent, []);
}

#[test]
fn the_old_key_signs_the_new_key_and_a_new_identity_replaces_the_old_one() {
    let mut home = migrating(Home::with_slice(YEAR));
    home.settle();
    home.sign_nonce(8);
    let sent = tenant(&home);
    let nonce = Nonce::random(&Entropy::from_bytes([8; 32]));
    let annotation = sent
        .metadata
        .annotations
        .get(KEY_SUCCESSION_ANNOTATION)
        .unwrap();
    let (old, new) = (cluster_key(), own_key());
    let clusters = ("cl-provider", "cl-consumer");
    assert!(succession::holds(
        annotation,
        &nonce,
        clusters,
        old.public_key(),
        new.public_key()
    ));
    assert_eq!(
        sent.spec.public_key.as_slice(),
        own_key().public_key().to_tenant_field()
    );
    // The Tenant is sent in each step. Until the answer comes, the old key is
    // used.
    home.settle();
    assert_eq!(tenant(&home), sent);
    assert_eq!(private_key(&home, IDENTITY), pem(&*cluster_key()));
    assert!(!home.notices.contains(&Notice::NewKeyAwaitsNonce));

    // The answer is accepted, although its certificate expires before the one
    // held.
    let given = issue_control_plane(&*own_key(), home.now, HOUR);
    let identity = Box::new(home.identity(&given));
    home.receive(MessageBody::Identity(identity)).unwrap();
    home.settle();
    assert_eq!(home.phase(), "Authenticated");
    assert!(!home.held().accepted.awaits_new_key);
    assert_eq!(private_key(&home, IDENTITY), pem(&*own_key()));
    // The slice requests a certificate for the new key. It keeps the old one
    // until the new one is there.
    let request = home.slice().spec.csr;
    assert_eq!(home.slice_phase(), "Held");
    assert_eq!(
        private_key(&home, "resourceslice-mypool"),
        pem(&*cluster_key())
    );
    let of_slice = issue_slice(&home.slice(), own_key().public_key(), home.now, YEAR);
    home.answer_slice(
        liqo_auth::model::ResourceSliceConditionStatus::Accepted,
        Some(of_slice),
    );
    home.settle();
    assert_eq!(private_key(&home, "resourceslice-mypool"), pem(&*own_key()));
    assert_eq!(home.slice().spec.csr, request);

    // From then on, the predecessor is not needed.
    let keys = KeysByProvider::new(cluster_key()).insert(provider(), own_key(), None);
    home.consumer = consumer(PeerSettings::default(), Arc::new(keys));
    assert!(home.settle().is_settled());
    assert_eq!(home.phase(), "Authenticated");
    assert_eq!(home.slice_phase(), "Held");
}

#[test]
fn the_certificate_for_the_new_key_may_come_through_the_renew() {
    let mut home = migrating(Home::authenticated(YEAR));
    home.sign_nonce(8);
    home.settle();
    let given = issue_control_plane(&*own_key(), home.now, HOUR);
    home.answer_renew(given.clone());
    home.settle();
    assert_eq!(home.identity_of(IDENTITY).spec.auth_params, given);
    assert_eq!(private_key(&home, IDENTITY), pem(&*own_key()));
    // A certificate for the old key cannot replace the new one.
    home.now = home.now + MINUTE;
    home.answer_renew(home.issue(YEAR));
    assert!(home.turn().is_settled());
    assert!(matches!(
        home.refused[0].fault(),
        Fault::PeerIncompatible(PeerIncompatible::CertificateKey { .. })
    ));
    let older = Box::new(home.identity(&home.issue(YEAR)));
    let error = home.receive(MessageBody::Identity(older)).unwrap_err();
    assert!(matches!(
        error.fault(),
        Fault::PeerIncompatible(PeerIncompatible::CertificateKey { .. })
    ));
}

#[test]
fn a_renewal_before_the_new_nonce_is_for_the_old_key() {
    let mut home = migrating(Home::authenticated(HOUR));
    home.now = home.now + 41 * MINUTE;
    home.settle();
    let renew = home.renew().unwrap();
    assert_eq!(
        renew.spec.public_key.as_slice(),
        cluster_key().public_key().to_tenant_field()
    );
    home.answer_renew(home.issue(HOUR));
    home.settle();
    assert_eq!(home.phase(), "Authenticated");
    assert!(home.held().accepted.awaits_new_key);
    assert_eq!(private_key(&home, IDENTITY), pem(&*cluster_key()));
}

#[test]
fn without_the_predecessor_the_identity_is_refused() {
    let mut home = Home::authenticated(YEAR);
    let keys = KeysByProvider::new(cluster_key()).insert(provider(), own_key(), None);
    home.consumer = consumer(PeerSettings::default(), Arc::new(keys));
    assert_eq!(home.phase(), "Refused");
}

#[test]
fn a_slice_requested_before_the_new_nonce_is_for_the_old_key() {
    let mut home = migrating(Home::authenticated(YEAR));
    let step = home
        .consumer
        .request_slice(&home.view(), &mypool(), home::env(home.now))
        .unwrap();
    home.carry_out(step);
    issue_slice(&home.slice(), cluster_key().public_key(), home.now, YEAR);
    assert_eq!(home.slice_phase(), "AwaitsDecision");
}

#[test]
fn a_nonce_that_was_stored_by_hand_is_signed_by_the_new_key() {
    let mut home = migrating(Home::authenticated(YEAR));
    let mut secret: liqo_auth::model::Secret = home.get("liqo-signed-nonce").unwrap();
    let nonce = Nonce::random(&Entropy::from_bytes([8; 32]));
    secret
        .data
        .insert("nonce".to_owned(), nonce.as_str().as_bytes().into());
    home.objects.insert(secret.into());
    home.settle();
    assert!(
        tenant(&home)
            .metadata
            .annotations
            .contains_key(KEY_SUCCESSION_ANNOTATION)
    );
}

#[test]
fn a_crash_anywhere_loses_nothing() {
    let start = migrating(Home::with_slice(YEAR));
    crash_everywhere(&start, |home| {
        let nonce = Nonce::random(&Entropy::from_bytes([8; 32]));
        let view = home.view();
        let message = Message::new(view.peer(), home.consumer.cluster_id(), nonce);
        home.consumer
            .receive(&view, message, home::env(home.now))
            .unwrap()
    });
    let mut start = migrating(Home::with_slice(YEAR));
    start.sign_nonce(8);
    let given = issue_control_plane(&*own_key(), start.now, HOUR);
    start.answer_renew(given);
    crash_everywhere(&start, Home::reconciled);
}
