//! The CA of an Identity need not be the one that issued the certificate. That is
//! legal, and a notice.

use core::time::Duration;

use liqo_auth::{
    crypto::{Authority, Entropy},
    machine::Notice,
    provider::Endpoint,
};

use crate::clusters::exchange::{API_SERVER, Setup, now};

#[test]
fn a_serving_ca_that_issued_nothing_is_a_notice() {
    let exchange = {
        let mut exchange = Setup::new().exchange();
        exchange.settle();
        exchange
    };
    assert!(!exchange.notices.contains(&Notice::IssuedByAnotherCa));

    let year = Duration::from_secs(365 * 86_400);
    let entropy = Entropy::from_bytes([77; 32]);
    let serving = Authority::new("serving-ca", now(), year, &entropy).unwrap();
    let mut setup = Setup::new();
    setup.endpoint = Endpoint::new(API_SERVER.parse().unwrap(), Some(serving.ca_bundle()));
    let mut exchange = setup.exchange();
    exchange.settle();
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
    assert!(exchange.notices.contains(&Notice::IssuedByAnotherCa));
}
