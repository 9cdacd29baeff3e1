//! Identities: those of a manifest, and near-honest ones whose certificate the right
//! CA has signed. Nothing panics. A refused Identity changes nothing. An accepted
//! Identity has the consumer's key and subject, and the consumer writes a kubeconfig
//! for it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use liqo_auth::{
    Machine,
    crypto::Subject,
    machine::Message,
    model::{Identity, Resource, names},
    verify::{self, IdentityExpectation},
};
use liqo_auth_fuzz::{awaiting, draw, env, objects, policies};
use proptest::strategy::BoxedStrategy;

fuzz_target!(|bytes: &[u8]| {
    for object in objects(bytes) {
        if let Some(identity) = Identity::from_object(&object) {
            judge(identity);
        }
    }
    if let Some(identity) = IDENTITIES.with(|identities| draw(identities, bytes)) {
        judge(&identity);
    }
});

// Made once, because compiling the regular expressions takes long.
thread_local! {
    static IDENTITIES: BoxedStrategy<Identity> = awaiting().forged_identities();
}

fn judge(identity: &Identity) {
    let rehearsal = awaiting();
    let (provider, consumer) = (rehearsal.provider.cluster_id(), &rehearsal.consumer);
    let key = rehearsal.consumer_key.public_key();
    let expectation = IdentityExpectation::new(consumer.cluster_id(), provider, key, rehearsal.now);
    let [strict, compatible] =
        policies().map(|policy| verify::identity(identity, &expectation, &policy));
    assert!(strict.is_err() || compatible.is_ok(), "{compatible:?}");
    if let Ok(verified) = compatible {
        let leaf = verified
            .credentials
            .certificate()
            .expect("AWS keys are not accepted")
            .leaf();
        assert_eq!(leaf.spki_der, key.spki_der());
        assert!(leaf.subject_is(&Subject::control_plane(consumer.cluster_id())));
        assert!(verified.api_server.as_str().starts_with("https://"));
    }

    let mut objects = rehearsal.at_consumer.clone();
    let message = Message::new(provider, consumer.cluster_id(), identity.clone());
    if let Ok(step) = consumer.receive(&objects.view(provider), message, env()) {
        assert!(strict.is_ok(), "{step:?}");
        for effect in &step.effects {
            objects.apply(effect).expect("nothing is stored yet");
        }
        let step = consumer.reconcile(&objects.view(provider), env());
        let step = step.expect("an accepted Identity can be used");
        let kubeconfig = names::kubeconfig_secret(&names::identity_name(provider));
        let mut written = step.effects.iter().map(|effect| effect.id().name);
        assert!(written.any(|name| name == kubeconfig), "{step:?}");
    }

    // Another program may store the Identity without the library.
    let mut stored = rehearsal.at_consumer.clone();
    stored.insert(identity.clone().into());
    if let Ok(step) = consumer.reconcile(&stored.view(provider), env()) {
        assert!(
            step.refused.is_empty() || step.effects.is_empty(),
            "{step:?}"
        );
    }
}
