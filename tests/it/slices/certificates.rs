//! Signing the request of a slice: late, not at all, again, and in time.

use core::time::Duration;
#[cfg(feature = "ecdsa")]
use liqo_auth::crypto::{Algorithm, KeyPair};
#[cfg(feature = "ecdsa")]
use std::sync::Arc;

use liqo_auth::{
    crypto::{Answer, CertificateError, SigningKey},
    error::{ApiMisuse, Backend, Fault, LocalFault, PolicyRefusal},
    machine::Awaited,
    model::{
        AuthzPolicy, ResourceSliceConditionStatus as Said, ResourceSliceConditionType as About,
        Tenant, names,
    },
};

use crate::clusters::{
    exchange,
    pool::{self, Pool, key, replica, replica_of},
};

const ACCEPTED: [Option<Said>; 2] = [Some(Said::Accepted), Some(Said::Accepted)];

#[test]
fn a_slice_that_is_made_anew_gets_a_new_certificate() {
    let mut pool = Pool::new();
    pool.bring(replica("mypool")).settle();
    let first = pool.certificate("mypool");
    // The slice is made anew. It has another UID and the same request.
    pool.remove("mypool").bring(replica("mypool")).settle();
    assert_eq!(pool.said("mypool"), ACCEPTED);
    assert_eq!(pool.signer.different(), 2);
    assert_ne!(pool.certificate("mypool").pem(), first.pem());
}

#[cfg(feature = "ecdsa")]
#[test]
fn a_csr_with_a_new_signature_gets_a_new_certificate() {
    let key: Arc<dyn SigningKey> =
        Arc::new(KeyPair::generate(Algorithm::EcdsaP256, &mut getrandom::SysRng).unwrap());
    let mut pool = Pool::of(Arc::clone(&key), |builder| builder);
    pool.bring(replica_of("cl-consumer", "mypool", &*key))
        .settle();
    let first = pool.certificate("mypool");
    let again = replica_of("cl-consumer", "mypool", &*key).spec.csr;
    assert_ne!(again, pool.slice("mypool").unwrap().spec.csr);
    pool.edit("mypool", |slice| slice.spec.csr = again).settle();
    assert_eq!(pool.said("mypool"), ACCEPTED);
    assert_eq!(pool.signer.different(), 2);
    assert_ne!(pool.certificate("mypool").pem(), first.pem());
    pool.settle();
    assert_eq!(pool.signer.different(), 2);
}

#[test]
fn a_signer_may_answer_later_or_deny() {
    let mut pool = Pool::new();
    pool.signer.answer(Some(Answer::Pending));
    pool.bring(replica("mypool")).settle();
    assert_eq!(pool.phase("mypool"), "NeedsCredential");
    let step = pool.reconcile();
    let awaited = |awaited: &Awaited| matches!(awaited, Awaited::Credential(_));
    assert!(step.wait.awaiting.iter().any(awaited));
    pool.signer.answer(Some(Answer::Denied("not today".into())));
    pool.settle();
    assert_eq!(
        pool.refused[0].1.fault(),
        &PolicyRefusal::CredentialDenied {
            reason: "not today".into()
        }
        .into()
    );
    // The signer answers with a certificate for another key.
    let mut other = Pool::new();
    other.bring(replica("other")).settle();
    pool.signer
        .answer(Some(Answer::Ready(other.certificate("other"))));
    pool.settle();
    assert!(matches!(
        pool.refused[0].1.fault(),
        Fault::ApiMisuse(ApiMisuse::SignerCertificate(
            CertificateError::Subject { .. }
        ))
    ));
    pool.signer.answer(None);
    pool.settle();
    assert_eq!(pool.said("mypool"), ACCEPTED);
    assert_eq!(pool.signer.different(), 1);
}

#[test]
fn a_certificate_of_90_seconds_is_renewed_in_time_without_a_loop() {
    let mut pool = Pool::with(|builder| {
        builder.configure(|config| config.certificate_lifetime = Duration::from_secs(90))
    });
    pool.bring(replica("mypool")).settle();
    let start = pool.now;
    let mut certificates = vec![pool.certificate("mypool")];
    for _ in 0..600 {
        // An embedder sleeps until the time at which it has to reconcile.
        let Some(wake_at) = pool.settle().wake_at else {
            panic!("it does not say when to look again");
        };
        assert!(wake_at > pool.now, "it would look again at once");
        assert!(wake_at <= pool.certificate("mypool").leaf().not_after);
        pool.now = wake_at;
        let old = pool.certificate("mypool");
        // Crashes between record and Secret, and between Secret and status. The
        // old certificate is handed out until the new one is there.
        pool.look(1);
        assert_eq!(pool.certificate("mypool").pem(), old.pem());
        pool.look(usize::MAX);
        pool.settle();
        let new = pool.certificate("mypool");
        if new.pem() != old.pem() {
            assert!(new.leaf().not_after > old.leaf().not_after);
            certificates.push(new);
        }
        if pool.now.since(start) > Duration::from_secs(3599) {
            break;
        }
    }
    assert_eq!(certificates.len(), 61, "one at the start, and each minute");
    assert_eq!(pool.signer.different(), 61, "each was asked for once");
    assert_eq!(pool.said("mypool"), ACCEPTED);
    assert_eq!(
        pool.condition("mypool", About::Authentication)
            .unwrap()
            .last_transition_time,
        Some(start)
    );
    assert_eq!(
        key(1).public_key().spki_der(),
        certificates[3].leaf().spki_der
    );
}

#[test]
fn without_a_renewal_the_certificate_stays_until_it_expires() {
    let mut pool = Pool::with(|builder| {
        builder.configure(|config| config.certificate_lifetime = Duration::from_secs(90))
    });
    pool.bring(replica("mypool")).settle();
    let issued = pool.certificate("mypool");
    pool.now = pool.wake_at.unwrap();
    pool.signer.answer(Some(Answer::Pending));
    pool.settle();
    assert_eq!(pool.said("mypool"), ACCEPTED);
    assert_eq!(pool.certificate("mypool").pem(), issued.pem());
    let expired = issued.leaf().not_after + Duration::from_secs(1);
    assert_eq!(pool.wake_at, Some(expired));

    // A signer that fails is asked again soon, and nothing else is delayed.
    pool.signer
        .fails
        .store(true, std::sync::atomic::Ordering::Relaxed);
    pool.edit("mypool", |slice| slice.status = Default::default())
        .settle();
    assert_eq!(
        pool.refused[0].1.fault(),
        &LocalFault::Backend {
            backend: Backend::Credentials,
            message: "the signer is away".into()
        }
        .into()
    );
    assert_eq!(pool.said("mypool"), ACCEPTED);
    // A tenth of the certificate's lifetime, at least ten seconds and at most a
    // minute.
    assert_eq!(pool.wake_at, Some(pool.now + Duration::from_secs(10)));
    pool.signer
        .fails
        .store(false, std::sync::atomic::Ordering::Relaxed);

    // If the signer returns the same certificate, that is no renewal and causes
    // no loop.
    pool.signer.answer(Some(Answer::Ready(issued.clone())));
    pool.settle();
    assert_eq!(
        pool.refused[0].1.fault(),
        &PolicyRefusal::RenewalEndsNoLater {
            found: issued.leaf().not_after,
            present: issued.leaf().not_after,
        }
        .into()
    );
    // The signer is asked again after a pause, whatever the peer writes in
    // between.
    let asked = |pool: &Pool| pool.signer.asked.load(std::sync::atomic::Ordering::Relaxed);
    let (before, again_at) = (asked(&pool), pool.now + Duration::from_secs(10));
    assert_eq!(pool.wake_at, Some(again_at));
    for _ in 0..4 {
        pool.edit("mypool", |slice| slice.status = Default::default())
            .settle();
        assert_eq!(asked(&pool), before);
        assert_eq!(pool.wake_at, Some(again_at));
    }
    pool.now = again_at;
    pool.signer.answer(Some(Answer::Denied("not today".into())));
    pool.settle();
    pool.settle();
    assert_eq!(asked(&pool), before + 1);
    assert_eq!(
        pool.refused[0].1.fault(),
        &PolicyRefusal::CredentialDenied {
            reason: "not today".into()
        }
        .into()
    );

    pool.now = expired;
    pool.signer.answer(None);
    pool.settle();
    assert_eq!(pool.said("mypool"), ACCEPTED);
    assert_ne!(pool.certificate("mypool").pem(), issued.pem());
}

#[test]
fn without_a_required_handshake_a_slice_may_have_its_own_key() {
    let mut pool = Pool::with(|builder| {
        builder.configure(|config| {
            config
                .peers
                .entry(pool::consumer())
                .or_default()
                .tolerate_no_handshake = true
        })
    });
    pool.at_provider = exchange::cluster_roles();
    let mut tenant = Tenant::default();
    tenant.metadata.name = "cl-consumer".into();
    tenant.metadata.namespace = pool::NAMESPACE.into();
    let label = (
        names::REMOTE_CLUSTER_ID_LABEL.to_owned(),
        "cl-consumer".to_owned(),
    );
    tenant.metadata.labels.extend([label]);
    tenant.spec.cluster_id = "cl-consumer".into();
    tenant.spec.authz_policy = Some(AuthzPolicy::TolerateNoHandshake);
    pool.at_provider.insert(tenant.into());
    let stranger = key(9);
    pool.bring(replica_of("cl-consumer", "mypool", &stranger))
        .settle();
    assert_eq!(pool.refused, []);
    assert_eq!(pool.said("mypool"), ACCEPTED);
    assert_eq!(
        pool.certificate("mypool").leaf().spki_der,
        stranger.public_key().spki_der()
    );

    // The handshake is required of this peer.
    let strict = Pool::new();
    pool.provider = strict.provider;
    pool.bring(replica_of("cl-consumer", "other", &stranger))
        .settle();
    assert_eq!(pool.phase("other"), "AwaitsPeer");
    assert_eq!(pool.said("other"), [None, None]);
}
