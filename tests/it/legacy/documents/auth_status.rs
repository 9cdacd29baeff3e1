//! The statements of Liqo's documentation about `authStatus`.

use liqo_auth::{
    crypto::Entropy,
    error::{Disposition, Fault, PeerIncompatible},
    legacy::{AuthToken, Phase},
    model::{AuthStatus, ForeignClusterStatus},
};

use crate::legacy::pair::{Pair, ask};

#[test]
fn pending_means_that_the_request_has_not_been_sent() {
    let mut pair = Pair::new();
    assert_eq!(pair.status(), AuthStatus::Pending);
    assert!(pair.next_request().is_some());
}

#[test]
fn pending_means_that_no_answer_has_come_yet() {
    let mut pair = Pair::new();
    let request = pair.next_request().unwrap();
    let response = ask(&pair.foreign, &mut pair.at_foreign, &request.http).response;
    pair.receive(&request, &response.unwrap()).unwrap();
    let first = pair.next_request().unwrap();
    for status in [500, 503, 502, 429] {
        let mut response = liqo_auth::legacy::HttpResponse::unavailable();
        response.status = status;
        let error = pair.receive(&first, &response).unwrap_err();
        assert_eq!(
            error.fault(),
            &Fault::PeerIncompatible(PeerIncompatible::Status { found: status })
        );
        assert_eq!(error.disposition(), Disposition::Retry);
        assert_eq!(pair.status(), AuthStatus::Pending);
    }
    // The next request is the same, byte for byte.
    assert_eq!(pair.next_request().unwrap(), first);
}

#[test]
fn empty_refused_means_that_an_empty_token_was_sent_and_refused() {
    let mut pair = Pair::new();
    pair.run();
    assert_eq!(pair.status(), AuthStatus::EmptyRefused);
    assert!(matches!(pair.phase(), Phase::AwaitsToken));
    assert!(pair.next_request().is_none());
}

#[test]
fn accepted_means_that_the_identity_is_in_a_local_secret() {
    let mut pair = Pair::new();
    let token = pair.token();
    pair.set_token(&token);
    pair.run();
    let Phase::Accepted(held) = pair.phase() else {
        panic!("not accepted");
    };
    assert!(!held.kubeconfig.expose().is_empty());
    assert!(pair.next_request().is_none());
}

#[test]
fn refused_means_that_there_are_no_more_retries() {
    let mut pair = Pair::new();
    pair.set_token(&AuthToken::make(&Entropy::from_bytes([5; 32])));
    pair.run();
    assert_eq!(pair.statuses, [200, 401]);
    assert_eq!(pair.status(), AuthStatus::Refused);
    assert!(matches!(pair.phase(), Phase::Refused));
    assert!(pair.next_request().is_none());
}

#[test]
fn after_refused_another_token_alone_does_not_restart_the_process() {
    let mut pair = Pair::new();
    pair.set_token(&AuthToken::make(&Entropy::from_bytes([5; 32])));
    pair.run();
    let token = pair.token();
    pair.set_token(&token);
    pair.set_status(AuthStatus::Refused);
    assert!(pair.next_request().is_none());
}

#[test]
fn after_refused_another_token_and_pending_restart_the_process() {
    let mut pair = Pair::new();
    pair.set_token(&AuthToken::make(&Entropy::from_bytes([5; 32])));
    pair.run();
    let token = pair.token();
    pair.set_token(&token);
    pair.set_status(AuthStatus::Pending);
    pair.run();
    assert_eq!(pair.statuses, [200, 401, 202]);
    assert_eq!(pair.status(), AuthStatus::Accepted);
}

/// The versions 0.3 to 0.10 have conditions but no `authStatus`.
#[test]
fn the_conditions_alone_say_refused() {
    let mut pair = Pair::new();
    pair.set_token(&AuthToken::make(&Entropy::from_bytes([5; 32])));
    pair.run();
    assert_eq!(pair.cluster().status.auth_status, None);
    assert!(matches!(pair.phase(), Phase::Refused));
    // Without them, nobody has refused anything.
    let mut cluster = pair.cluster().clone();
    cluster.status = ForeignClusterStatus::default();
    pair.at_home.insert(cluster.into());
    assert!(!matches!(pair.phase(), Phase::Refused));
}
