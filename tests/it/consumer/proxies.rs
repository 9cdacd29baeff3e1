//! The proxy that a consumer has asked for, in each answer of its provider.

use liqo_auth::{
    consumer::PeerSettings,
    error::{Error, PeerIncompatible},
    model::{AuthParams, ResourceSliceConditionStatus::Accepted},
};

use super::home::{Home, MINUTE, YEAR};

/// Without the proxy, or with another one, the consumer would send its requests another way
/// than its administrator wants.
#[test]
fn only_an_answer_with_the_proxy_that_was_asked_for_is_accepted() {
    for given in [None, Some(""), Some("http://10.70.0.3:8118")] {
        let mut home = asking_for_a_proxy();
        home.sign_nonce(7);
        let without = through(home.issue(YEAR), given);
        is_refused(&home.receive(home.identity(&without)).unwrap_err(), "spec");
        let right = through(home.issue(YEAR), Some(PROXY));
        home.receive(home.identity(&right)).unwrap();
        home.settle();
        assert_eq!(home.phase(), "Authenticated");
        assert!(
            home.kubeconfig("controlplane-cl-provider")
                .unwrap()
                .contains(PROXY)
        );

        // A slice.
        home.request_slice();
        let right = home.issue_slice(YEAR);
        home.answer_slice(Accepted, Some(through(right.clone(), given)));
        is_refused(&home.slice_refusal(), "status");
        home.answer_slice(Accepted, Some(through(right, Some(PROXY))));
        home.settle();
        assert_eq!(home.slice_phase(), "Held");

        // A renewal.
        home.now = home.now + MINUTE;
        let newer = home.issue(2 * YEAR);
        home.answer_renew(through(newer, given));
        home.turn();
        let [error] = &home.refused[..] else {
            panic!("{:?}", home.refused);
        };
        is_refused(error, "status");
    }
}

fn asking_for_a_proxy() -> Home {
    Home::with(PeerSettings {
        proxy_url: Some(PROXY.parse().unwrap()),
        ..PeerSettings::default()
    })
}

fn through(mut given: AuthParams, proxy: Option<&str>) -> AuthParams {
    given.proxy_url = proxy.map(str::to_owned);
    given
}

fn is_refused(error: &Error, part: &str) {
    assert_eq!(*error.fault(), PeerIncompatible::ProxyMismatch.into());
    assert_eq!(error.at().field, format!("{part}.authParams.proxyURL"));
}

const PROXY: &str = "http://10.70.0.2:8118";
