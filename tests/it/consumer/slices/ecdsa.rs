//! Requests by ECDSA keys, whose signatures differ each time.

use liqo_auth::{
    consumer::PeerSettings,
    crypto::{Csr, Subject},
    policy::Policy,
};

use crate::{
    clusters::exchange::id,
    consumer::home::{Home, YEAR, issue_control_plane},
};

#[test]
fn a_request_whose_signature_would_differ_each_time_is_kept() {
    use std::sync::Arc;

    use liqo_auth::crypto::{Algorithm, KeyPair, OneKey, SigningKey};

    let key: Arc<dyn SigningKey> =
        Arc::new(KeyPair::generate(Algorithm::EcdsaP256, &mut getrandom::SysRng).unwrap());
    let keys = Arc::new(OneKey(Arc::clone(&key)));
    let mut home = Home::with_keys(PeerSettings::default(), keys);
    home.sign_nonce(7);
    let identity = home.identity(&issue_control_plane(&*key, home.now, YEAR));
    home.receive(identity).unwrap();
    home.settle();
    home.request_slice();
    let csr = home.slice().spec.csr;
    for _ in 0..2 {
        assert!(home.request_slice().is_settled());
        home.settle();
    }
    assert_eq!(home.slice().spec.csr, csr);
    let subject = Subject::resource_slice("mypool", &id("cl-consumer"));
    assert!(
        Csr::verify(
            csr.as_slice(),
            &subject,
            key.public_key(),
            &Policy::strict()
        )
        .is_ok()
    );
}
