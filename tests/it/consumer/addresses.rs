//! The addresses that a provider gives as those of its API server.

use liqo_auth::{
    consumer::PeerSettings,
    error::{Error, PolicyRefusal},
    model::{AuthParams, ResourceSliceConditionStatus::Accepted},
    policy::{Addresses, Policy},
};

use super::home::{Home, MINUTE, YEAR};

/// A provider could have this cluster send requests to its own machine, or to a Service.
#[test]
fn an_api_server_at_the_consumer_itself_is_refused() {
    for (url, address) in [
        ("https://127.0.0.1:6443", "127.0.0.1"),
        ("https://127.8.9.1", "127.8.9.1"),
        ("https://localhost:6443", "127.0.0.1"),
        ("https://A.localhost.:6443", "127.0.0.1"),
        ("https://[::1]:6443", "::1"),
        ("https://[::ffff:127.0.0.1]:6443", "127.0.0.1"),
        ("https://10.96.0.1", "10.96.0.1"),
        ("https://[::ffff:a60:1]", "10.96.0.1"),
    ] {
        let mut home = Home::with(settings(&[], None));
        home.sign_nonce(7);
        let given = at(home.issue(YEAR), url);
        let error = home.receive(home.identity(&given)).unwrap_err();
        is_refused(&error, address, "spec.authParams.apiServer");
        let right = home.identity(&home.issue(YEAR));
        home.receive(right).unwrap();
        home.settle();
        assert_eq!(home.phase(), "Authenticated");

        // A renewal.
        home.now = home.now + MINUTE;
        let newer = at(home.issue(2 * YEAR), url);
        home.answer_renew(newer);
        home.turn();
        let [error] = &home.refused[..] else {
            panic!("{:?}", home.refused);
        };
        is_refused(error, address, "status.authParams.apiServer");

        // A slice.
        home.request_slice();
        let given = at(home.issue_slice(YEAR), url);
        home.answer_slice(Accepted, Some(given));
        is_refused(
            &home.slice_refusal(),
            address,
            "status.authParams.apiServer",
        );
    }
}

#[test]
fn the_settings_allow_an_address() {
    for (allowed, url) in [
        ("127.0.0.0/8", "https://127.0.0.1:6443"),
        ("127.0.0.0/8", "https://localhost:6443"),
        ("10.96.7.0/24", "https://10.96.7.9:6443"),
    ] {
        let mut home = Home::with(settings(&[allowed], None));
        home.sign_nonce(7);
        let given = at(home.issue(YEAR), url);
        home.receive(home.identity(&given)).unwrap();
        home.settle();
        assert_eq!(home.phase(), "Authenticated", "{url}");
    }
}

/// The proxy looks up the API server in its own network, where the address may be another
/// cluster's.
#[test]
fn behind_a_proxy_the_address_of_the_proxy_counts() {
    let through = |proxy: &str, url: &str| {
        let mut home = Home::with(settings(&[], Some(proxy)));
        home.sign_nonce(7);
        let mut given = at(home.issue(YEAR), url);
        given.proxy_url = Some(proxy.to_owned());
        home.receive(home.identity(&given))
    };
    through("http://10.70.0.2:8118", "https://10.96.0.1").unwrap();
    let error = through("http://10.96.0.9:8118", "https://203.0.113.7").unwrap_err();
    is_refused(&error, "10.96.0.9", "spec.authParams.proxyURL");
}

/// The settings of a consumer with Services in 10.96.0.0/12.
fn settings(allowed: &[&str], proxy: Option<&str>) -> PeerSettings {
    let range = |text: &&str| text.parse().unwrap();
    let mut policy = Policy::strict();
    policy.addresses = Addresses {
        allowed: allowed.iter().map(range).collect(),
        refused: vec![range(&"10.96.0.0/12")],
    };
    PeerSettings {
        policy: Some(policy),
        proxy_url: proxy.map(|url| url.parse().unwrap()),
        ..PeerSettings::default()
    }
}

fn at(given: AuthParams, url: &str) -> AuthParams {
    AuthParams {
        api_server: url.to_owned(),
        ..given
    }
}

fn is_refused(error: &Error, address: &str, field: &str) {
    let address = address.parse().unwrap();
    let refusal = PolicyRefusal::AddressRefused { address };
    assert_eq!(*error.fault(), refusal.into());
    assert_eq!(error.at().field, field);
}
