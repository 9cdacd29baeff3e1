//! Texts for a consumer to sign: the input itself, and texts that are nearly a
//! nonce.
#![no_main]

use libfuzzer_sys::fuzz_target;
use liqo_auth::{
    Machine,
    crypto::{Nonce, strategy},
    machine::Message,
    verify::{self, NonceExpectation},
};
use liqo_auth_fuzz::{awaiting, draw, env, policies};
use proptest::strategy::BoxedStrategy;

fuzz_target!(|bytes: &[u8]| {
    judge(bytes);
    if let Some(text) = TEXTS.with(|texts| draw(texts, bytes)) {
        judge(&text);
    }
});

// Made once, because compiling the regular expressions takes long.
thread_local! {
    static TEXTS: BoxedStrategy<Vec<u8>> = strategy::any_nonce_text();
}

fn judge(text: &[u8]) {
    let (provider, consumer) = (&awaiting().provider, &awaiting().consumer);
    let expectation = NonceExpectation {
        provider: provider.cluster_id(),
        consumer: consumer.cluster_id(),
        now: awaiting().now,
        provider_key_known: false,
    };
    let [strict, compatible] =
        policies().map(|policy| verify::nonce_to_sign(text, &expectation, &policy));
    if let Ok(nonce) = &strict {
        assert_eq!(nonce.as_str().as_bytes(), text);
        assert_eq!(text.len(), 88);
        assert_eq!(Ok(nonce), compatible.as_ref());
    }
    if let Ok(nonce) = compatible {
        assert!((24..=129).contains(&nonce.as_str().len()));
        signed_only_if_strict(nonce, strict.is_ok());
    }
}

fn signed_only_if_strict(nonce: Nonce, is_strict: bool) {
    let view = awaiting()
        .at_consumer
        .view(awaiting().provider.cluster_id());
    let message = Message::new(view.peer(), awaiting().consumer.cluster_id(), nonce);
    let step = awaiting().consumer.receive(&view, message, env());
    assert_eq!(step.is_ok(), is_strict, "{step:?}");
}
