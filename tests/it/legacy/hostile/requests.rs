//! Requests that an honest home never sends.

use liqo_auth::{
    crypto::{CsrError, Entropy, TokenError},
    error::{Backend, Fault, LocalFault, PeerMisbehaved, PolicyRefusal},
    legacy::{AuthToken, ForeignSettings, HttpRequest, Outcome, Reading, RequestError},
    model::{DocumentError, ManifestError, NameError, Object, ObjectError, Secret, names},
    policy::Policy,
};
use serde_json::{Value, json};

use crate::{
    clusters::store,
    legacy::pair::{
        FOREIGN, HOME, Pair, ask, body, env, foreign, foreign_settings, key, now, post,
    },
};

#[test]
fn malformed_requests_are_answered_400_without_reading_any_object() {
    let foreign = foreign(foreign_settings());
    let request = |body: &[u8]| HttpRequest::new("POST", "/identity/certificate", body);
    let field = |path: &str, reason: &str| {
        RequestError::Form(DocumentError::Field(ObjectError::Field {
            path: path.into(),
            reason: reason.into(),
        }))
    };
    let deep = format!(r#"{{"x":{}1{}}}"#, "[".repeat(40), "]".repeat(40));
    let cases: Vec<(Vec<u8>, RequestError)> = vec![
        (
            vec![b' '; 32 * 1024 + 1],
            RequestError::Form(DocumentError::Text(ManifestError::TooLarge {
                found: 32 * 1024 + 1,
                limit: 32 * 1024,
            })),
        ),
        (
            b"{\"cluster\":\"\xff\"}".to_vec(),
            RequestError::Form(DocumentError::Text(ManifestError::NotText { at: 12 })),
        ),
        (
            b"\xfe\xff\0{\0}".to_vec(),
            RequestError::Form(DocumentError::Text(ManifestError::NotText { at: 0 })),
        ),
        (
            br#"{"cluster":{"clusterID":"a","clusterID":"b"}}"#.to_vec(),
            RequestError::Form(DocumentError::Field(ObjectError::Repeated {
                path: "cluster.clusterID".into(),
            })),
        ),
        (
            br#"{"destinationClusterToken":"a","destinationClusterToken":"b"}"#.to_vec(),
            RequestError::Form(DocumentError::Field(ObjectError::Repeated {
                path: "destinationClusterToken".into(),
            })),
        ),
        (
            deep.into_bytes(),
            RequestError::Form(DocumentError::Field(ObjectError::TooDeep {
                path: format!("x{}", "[0]".repeat(31)),
                limit: 32,
            })),
        ),
        (
            br#"{"cluster":{"clusterID":"a"},"destinationClusterToken":{"$ne":""}}"#.to_vec(),
            field("destinationClusterToken", "found a map, expected a string"),
        ),
        (
            br#"{"cluster":{"clusterID":"a"},"clusterID":"b"}"#.to_vec(),
            RequestError::TwoClusters,
        ),
        (b"{}".to_vec(), RequestError::ClusterId(NameError::Empty)),
        (
            br#"{"cluster":{"clusterID":"../etc"}}"#.to_vec(),
            RequestError::ClusterId(NameError::Character { at: 0 }),
        ),
        (
            br#"{"clusterID":"system:masters"}"#.to_vec(),
            RequestError::ClusterId(NameError::Character { at: 6 }),
        ),
        (
            br#"{"cluster":{"clusterID":"a"},"certificateSigningRequest":"a b"}"#.to_vec(),
            RequestError::Base64,
        ),
        (
            serde_json::to_vec(&json!({ "cluster": {
                "clusterID": "a", "clusterName": "n".repeat(254) } }))
            .unwrap(),
            RequestError::NameTooLong {
                found: 254,
                limit: 253,
            },
        ),
    ];
    for (body, expected) in cases {
        let Reading::Reply(answer) = foreign.read(&request(&body)) else {
            panic!("{expected:?}: read");
        };
        assert_eq!(answer.outcome, Some(Outcome::Malformed(expected)));
        assert_eq!(answer.response.unwrap().status, 400);
    }
}

#[test]
fn ambiguous_headers_are_refused() {
    let foreign = foreign(foreign_settings());
    for (headers, name) in [
        (
            vec![("Content-Length", "1"), ("content-length", "2")],
            "content-length",
        ),
        (
            vec![("Transfer-Encoding", "chunked"), ("Content-Length", "1")],
            "transfer-encoding",
        ),
        (
            vec![("Transfer-Encoding", "chunked"), ("transfer-encoding", "x")],
            "transfer-encoding",
        ),
        (vec![("Content-Encoding", "gzip")], "content-encoding"),
    ] {
        let mut request = post(&json!({ "cluster": { "clusterID": "a" } }));
        let headers = headers.into_iter();
        request.headers = headers
            .map(|(key, value)| (key.into(), value.into()))
            .collect();
        let Reading::Reply(answer) = foreign.read(&request) else {
            panic!("{name}: read");
        };
        let expected = Outcome::Malformed(RequestError::Header { name });
        assert_eq!(answer.outcome, Some(expected));
    }
}

#[test]
fn other_paths_and_methods_are_not_found() {
    let foreign = foreign(foreign_settings());
    for (method, path, status) in [
        ("GET", "/", 404),
        ("POST", "/identity", 404), // Service accounts are not handed out.
        ("POST", "/identity/certificate/", 404),
        ("POST", "//identity/certificate", 404),
        ("GET", "/ids?x", 404),
        ("POST", "/ids", 405),
        ("HEAD", "/ids", 405),
        ("PUT", "/identity/certificate", 405),
        ("post", "/identity/certificate", 405),
        ("OPTIONS", "/identity/certificate", 200),
    ] {
        let Reading::Reply(answer) = foreign.read(&HttpRequest::new(method, path, Vec::new()))
        else {
            panic!("{method} {path}");
        };
        assert_eq!(answer.response.unwrap().status, status, "{method} {path}");
    }
}

#[test]
fn a_right_token_does_not_allow_a_home_to_claim_another_identity() {
    let mut pair = Pair::new();
    let token = pair.token();
    let token = token.expose();
    let refused = |pair: &mut Pair, body: &Value| {
        let answer = ask(&pair.foreign, &mut pair.at_foreign, &post(body));
        let Some(Outcome::Refused { error, .. }) = answer.outcome else {
            panic!("{:?}", answer.outcome);
        };
        (answer.response.unwrap().status, error.fault().clone())
    };
    let mut other_name = body("cl-home", &key(1), token);
    other_name["cluster"]["clusterID"] = "cl-victim".into();
    let (status, fault) = refused(&mut pair, &other_name);
    assert_eq!(status, 400);
    assert!(matches!(
        fault,
        Fault::PeerMisbehaved(PeerMisbehaved::Csr(CsrError::Subject { .. }))
    ));
    for id in ["kubernetes-admin", FOREIGN] {
        let (status, fault) = refused(&mut pair, &body(id, &key(1), token));
        assert_eq!(status, 403);
        let name = id.to_owned();
        assert_eq!(fault, Fault::Policy(PolicyRefusal::NameTaken { name }));
    }
    let mut no_csr = body(HOME, &key(1), token);
    no_csr["certificateSigningRequest"] = "".into();
    assert_eq!(
        refused(&mut pair, &no_csr).1,
        Fault::PeerMisbehaved(PeerMisbehaved::Csr(CsrError::Empty))
    );
    let mut origin = body(HOME, &key(1), token);
    origin["originClusterToken"] = "short".into();
    assert_eq!(
        refused(&mut pair, &origin).1,
        Fault::PeerMisbehaved(PeerMisbehaved::Token(TokenError::Length {
            found: 5,
            expected: 128
        }))
    );
    // None of these requests was kept. The honest home is accepted.
    let answer = ask(
        &pair.foreign,
        &mut pair.at_foreign,
        &post(&body(HOME, &key(1), token)),
    );
    assert_eq!(answer.response.unwrap().status, 202);
}

/// A home could take the name of a user whom nobody looked up.
#[test]
fn without_a_look_up_of_names_no_home_is_let_in() {
    let mut pair = Pair::new();
    let token = pair.token();
    pair.foreign = foreign(ForeignSettings {
        principals: ForeignSettings::default().principals,
        ..foreign_settings()
    });
    let request = post(&body(HOME, &key(1), token.expose()));
    let Reading::Identity(request) = pair.foreign.read(&request) else {
        panic!("unreadable");
    };
    let view = pair.at_foreign.view(&request.peer);
    let error = pair.foreign.handle(&view, &request, env()).unwrap_err();
    let is_missing = matches!(
        error.fault(),
        Fault::Local(LocalFault::Backend {
            backend: Backend::Principals,
            ..
        })
    );
    assert!(is_missing, "{error:?}");
}

#[test]
fn wrong_tokens_never_lock_out_a_cluster_id() {
    let mut pair = Pair::new();
    let mut before = None;
    for number in 0..200_u8 {
        let wrong = AuthToken::make(&Entropy::from_bytes([number; 32].map(|byte| byte | 0x80)));
        let wrong = match number % 4 {
            0 => "",
            1 => "\u{0}\"\\é",
            _ => wrong.expose(),
        };
        let answer = ask(
            &pair.foreign,
            &mut pair.at_foreign,
            &post(&body(HOME, &key(2), wrong)),
        );
        let response = answer.response.unwrap();
        assert_eq!(response.status, 401);
        assert_eq!(response.body.expose(), b"invalid token\n");
        let objects = before.get_or_insert_with(|| pair.at_foreign.clone());
        assert_eq!(&pair.at_foreign, objects, "a wrong token writes nothing");
    }
    let token = pair.token();
    let answer = ask(
        &pair.foreign,
        &mut pair.at_foreign,
        &post(&body(HOME, &key(1), token.expose())),
    );
    assert_eq!(answer.response.unwrap().status, 202);
}

#[test]
fn no_token_shows_in_debug_or_in_an_event() {
    let mut pair = Pair::new();
    let secret: String = "5ec2e7".chars().cycle().take(128).collect();
    let request = post(&body(HOME, &key(1), &secret));
    let Reading::Identity(read) = pair.foreign.read(&request) else {
        panic!("unreadable");
    };
    let answer = ask(&pair.foreign, &mut pair.at_foreign, &request);
    let token = pair.token();
    pair.set_token(&token);
    let asked = pair.next_request();
    for shown in [
        format!(
            "{request:?} {read:?} {answer:?} {}",
            answer.outcome.as_ref().unwrap()
        ),
        format!("{:?} {asked:?} {token:?}", pair.at_home),
        format!("{:?}", pair.at_foreign),
    ] {
        assert!(!shown.contains("5ec2e75ec2e7"), "{shown}");
        assert!(!shown.contains(token.expose()), "{shown}");
    }
}

#[test]
fn a_token_that_others_stored_is_not_accepted() {
    let mut pair = Pair::new();
    let mut secret = Secret::default();
    secret.metadata.name = names::AUTH_TOKEN_SECRET.into();
    secret.metadata.namespace = "liqo".into();
    let value = "ab".repeat(64).into_bytes();
    secret.data.insert("token".into(), value.into());
    pair.at_foreign = store::holding([Object::from(secret)]);
    let error = pair
        .foreign
        .token(pair.at_foreign.iter(), now())
        .unwrap_err();
    assert_eq!(error.fault(), &Fault::Local(LocalFault::BrokenSeal));
    // Liqo's own token has no seal. The compatible policy accepts it.
    let compatible = foreign(ForeignSettings {
        policy: Policy::compatible(),
        ..foreign_settings()
    });
    let token = compatible.token(pair.at_foreign.iter(), now()).unwrap();
    assert_eq!(token.unwrap().expose(), "ab".repeat(64));
    // An empty token is refused under every policy.
    let mut empty = pair
        .at_foreign
        .get::<Secret>("liqo", "auth-token")
        .unwrap()
        .clone();
    empty.data.insert("token".into(), Vec::new().into());
    let objects = store::holding([Object::from(empty)]);
    let error = compatible.token(objects.iter(), now()).unwrap_err();
    assert_eq!(
        error.fault(),
        &Fault::Local(LocalFault::Token(TokenError::Empty))
    );
}

/// Liqo's home waits five seconds for an answer, and shows a refusal only if it
/// comes before.
#[test]
fn a_refusal_comes_before_liqo_gives_up() {
    let limits = Policy::compatible().limits.clone();
    let mut throttle = liqo_auth::legacy::Throttle::default();
    let outcome = Outcome::WrongToken {
        peer: HOME.parse().unwrap(),
        is_empty: false,
    };
    for _ in 0..20 {
        let delay = throttle.delay(Some(&outcome), now(), &limits);
        assert!(delay <= core::time::Duration::from_secs(3), "{delay:?}");
    }
}
