//! Certificate signing requests: the input as PEM, and near-honest requests that the
//! key has signed. The strict policy accepts exactly one request. A request that the
//! compatible policy accepts is also accepted in canonical PEM, with the same
//! result.
#![no_main]

use libfuzzer_sys::fuzz_target;
use liqo_auth::{
    Machine,
    crypto::{Csr, Subject, strategy},
    policy::Policy,
};
use liqo_auth_fuzz::{awaiting, draw};
use proptest::strategy::BoxedStrategy;

fuzz_target!(|bytes: &[u8]| {
    judge(bytes);
    if let Some(pem) = REQUESTS.with(|requests| draw(requests, bytes)) {
        judge(&pem);
    }
});

// Made once, because compiling the regular expressions takes long.
thread_local! {
    static REQUESTS: BoxedStrategy<Vec<u8>> = {
        let (consumer, key) = (&awaiting().consumer, &awaiting().consumer_key);
        strategy::any_csr(key.clone(), consumer.cluster_id())
    };
}

fn judge(pem: &[u8]) {
    let (consumer, key) = (awaiting().consumer.cluster_id(), &awaiting().consumer_key);
    let subject = Subject::control_plane(consumer);
    let public_key = key.public_key();
    if let Ok(csr) = Csr::verify(pem, &subject, public_key, &Policy::strict()) {
        let honest = Csr::make(&subject, &**key)
            .expect("the key signs")
            .at_once()
            .expect("the key answers immediately");
        assert_eq!(csr, honest);
        assert_eq!(csr.pem(), pem);
    }
    if let Ok(csr) = Csr::verify(pem, &subject, public_key, &Policy::compatible()) {
        let again = Csr::verify(csr.pem(), &subject, public_key, &Policy::compatible());
        assert_eq!(again, Ok(csr));
    }
}
