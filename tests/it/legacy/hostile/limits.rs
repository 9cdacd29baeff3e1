//! A text that is exactly as long as a limit is read. A text that is longer by one byte
//! is refused.

use liqo_auth::{
    error::{Fault, PeerMisbehaved},
    legacy::{HomeClusterSettings, HttpRequest, Reading},
    policy::Limits,
};
use serde_json::{Value, json};

use super::{asked, response};
use crate::legacy::pair::{
    HOME, Pair, body, compatible_home, foreign, foreign_of_accounts, foreign_settings, home,
    home_settings, key,
};

/// The JSON, with spaces behind it up to this length.
fn padded(value: &Value, length: usize) -> Vec<u8> {
    let mut text = value.to_string().into_bytes();
    assert!(text.len() <= length);
    text.resize(length, b' ');
    text
}

#[test]
fn a_request() {
    let limit = Limits::default().legacy_request;
    let token = "0f".repeat(64);
    let certificate = body(HOME, &key(1), &token);
    let account = json!({ "clusterID": HOME, "token": token });
    for (path, value) in [
        ("/identity/certificate", certificate),
        ("/identity", account),
    ] {
        let foreign = foreign(foreign_of_accounts());
        let is_read = |length| {
            let request = HttpRequest::new("POST", path, padded(&value, length));
            matches!(foreign.read(&request), Reading::Identity(_))
        };
        assert!(is_read(limit), "{path}");
        assert!(!is_read(limit + 1), "{path}");
    }
}

#[test]
fn the_name_of_a_home() {
    let foreign = foreign(foreign_settings());
    let is_read = |length: usize| {
        let mut value = body(HOME, &key(1), &"0f".repeat(64));
        value["cluster"]["clusterName"] = "n".repeat(length).into();
        let request = HttpRequest::new("POST", "/identity/certificate", padded(&value, 4096));
        matches!(foreign.read(&request), Reading::Identity(_))
    };
    assert!(is_read(253));
    assert!(!is_read(254));
}

/// A home with a smaller limit than the default one.
fn limited(settings: HomeClusterSettings, limit: usize) -> HomeClusterSettings {
    let mut policy = settings.policy.clone();
    policy.limits.legacy_answer = limit;
    HomeClusterSettings { policy, ..settings }
}

#[test]
fn an_answer_with_a_certificate() {
    let limit = 20_000;
    for (length, is_accepted) in [(limit, true), (limit + 1, false)] {
        let (mut pair, request, answer) = asked();
        pair.home = home(limited(home_settings(), limit));
        let answer = response(202, &padded(&answer, length));
        let received = pair.receive(&request, &answer);
        assert_eq!(received.is_ok(), is_accepted, "{received:?}");
    }
}

#[test]
fn an_answer_with_a_kubeconfig() {
    let limit = 20_000;
    for (length, is_accepted) in [(limit, true), (limit + 1, false)] {
        let mut pair = Pair::of_accounts();
        let token = pair.token();
        pair.set_token(&token);
        let ids = pair.next_request().unwrap();
        let answer = crate::legacy::pair::ask(&pair.foreign, &mut pair.at_foreign, &ids.http);
        pair.receive(&ids, &answer.response.unwrap()).unwrap();
        let request = pair.next_request().unwrap();
        let answer = crate::legacy::pair::ask(&pair.foreign, &mut pair.at_foreign, &request.http);
        let mut text = answer.response.unwrap().body.expose().to_vec();
        text.extend(
            b"#".iter()
                .chain(b"x".repeat(length - text.len() - 2).iter()),
        );
        text.push(b'\n');
        assert_eq!(text.len(), length);
        pair.home = home(limited(compatible_home(), limit));
        let received = pair.receive(&request, &response(201, &text));
        assert_eq!(received.is_ok(), is_accepted, "{received:?}");
    }
}

#[test]
fn an_answer_with_an_id() {
    let limit = 1000;
    let mut pair = Pair::new();
    pair.home = home(limited(home_settings(), limit));
    let request = pair.next_request().unwrap();
    let name = "n".repeat(300);
    let ids = json!({ "clusterId": crate::legacy::pair::FOREIGN, "clusterName": name });
    let refused = pair.receive(&request, &response(200, &padded(&ids, limit + 1)));
    assert!(matches!(
        refused.unwrap_err().fault(),
        Fault::PeerMisbehaved(PeerMisbehaved::AnswerForm(_))
    ));
    pair.receive(&request, &response(200, &padded(&ids, limit)))
        .unwrap();
    // The name is cut to the length of an object's name.
    let stored = &pair.cluster().spec.cluster_identity.cluster_name;
    assert_eq!(stored.len(), 253);
}

/// The record of a home has room for an answer of `Limits::certificates` bytes.
#[test]
fn an_answer_that_is_kept() {
    let limit = 20_000;
    for (length, is_kept) in [(limit, true), (limit + 1, false)] {
        let (mut pair, request, mut answer) = asked();
        answer.as_object_mut().unwrap().remove("apiServerCA");
        let mut settings = home_settings();
        settings.policy.limits.certificates = limit;
        pair.home = home(settings);
        let received = pair.receive(&request, &response(202, &padded(&answer, length)));
        assert_eq!(received.is_ok(), is_kept, "{received:?}");
    }
}
