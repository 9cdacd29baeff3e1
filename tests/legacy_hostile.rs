//! Requests and answers that no honest cluster sends.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]
#![cfg(feature = "legacy")]

mod legacy_pair;

use legacy_pair::*;
use liqo_auth::{
    crypto::{CsrError, Entropy, TokenError},
    error::{Fault, LocalFault, PeerIncompatible, PeerMisbehaved, PolicyRefusal},
    legacy::{
        AuthToken, HttpRequest, HttpResponse, Outcome, Reading, Request, RequestError,
        TokenProtocol,
    },
    machine::Objects,
    model::{
        AuthStatus, ClusterIdError, ForeignCluster, Object, ObjectError, Secret, StrictJsonError,
        UrlError, names,
    },
    policy::Policy,
};
use proptest::prelude::*;
use serde_json::{Value, json};

#[test]
fn malformed_requests_are_answered_400_without_a_look_at_any_object() {
    let foreign = foreign_builder().build();
    let request = |body: &[u8]| HttpRequest::new("POST", "/identity/certificate", body);
    let field = |path: &str, reason: &str| {
        RequestError::Form(StrictJsonError::Field(ObjectError::Field {
            path: path.into(),
            reason: reason.into(),
        }))
    };
    let deep = format!(r#"{{"x":{}1{}}}"#, "[".repeat(40), "]".repeat(40));
    let cases: Vec<(Vec<u8>, RequestError)> = vec![
        (
            vec![b' '; 32 * 1024 + 1],
            RequestError::Form(StrictJsonError::TooLong {
                found: 32 * 1024 + 1,
                limit: 32 * 1024,
            }),
        ),
        (
            b"{\"cluster\":\"\xff\"}".to_vec(),
            RequestError::Form(StrictJsonError::NotText { at: 12 }),
        ),
        (
            b"\xfe\xff\0{\0}".to_vec(),
            RequestError::Form(StrictJsonError::NotText { at: 0 }),
        ),
        (
            br#"{"cluster":{"clusterID":"a","clusterID":"b"}}"#.to_vec(),
            RequestError::Form(StrictJsonError::Field(ObjectError::Repeated {
                path: "cluster.clusterID".into(),
            })),
        ),
        (
            br#"{"destinationClusterToken":"a","destinationClusterToken":"b"}"#.to_vec(),
            RequestError::Form(StrictJsonError::Field(ObjectError::Repeated {
                path: "destinationClusterToken".into(),
            })),
        ),
        (
            deep.into_bytes(),
            RequestError::Form(StrictJsonError::Field(ObjectError::TooDeep {
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
        (
            b"{}".to_vec(),
            RequestError::ClusterId(ClusterIdError::Empty),
        ),
        (
            br#"{"cluster":{"clusterID":"../etc"}}"#.to_vec(),
            RequestError::ClusterId(ClusterIdError::Character { at: 0 }),
        ),
        (
            br#"{"clusterID":"system:masters"}"#.to_vec(),
            RequestError::ClusterId(ClusterIdError::Character { at: 6 }),
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
fn headers_that_readers_differ_on_are_refused() {
    let foreign = foreign_builder().build();
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
fn other_paths_and_methods_lead_nowhere() {
    let foreign = foreign_builder().build();
    for (method, path, status) in [
        ("GET", "/", 404),
        ("POST", "/identity", 404), // No service accounts are handed out.
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
fn a_right_token_does_not_make_someone_else_of_a_home() {
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
    // Nothing of all that was kept: the honest home is let in.
    let answer = ask(
        &pair.foreign,
        &mut pair.at_foreign,
        &post(&body(HOME, &key(1), token)),
    );
    assert_eq!(answer.response.unwrap().status, 202);
}

#[test]
fn no_number_of_wrong_tokens_locks_a_cluster_id_out() {
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
fn a_token_that_others_put_in_place_is_not_this_clusters() {
    let mut pair = Pair::new();
    let mut secret = Secret::default();
    secret.metadata.name = names::AUTH_TOKEN_SECRET.into();
    secret.metadata.namespace = "liqo".into();
    let value = "ab".repeat(64).into_bytes();
    secret.data.insert("token".into(), value.into());
    pair.at_foreign = [Object::from(secret)].into_iter().collect();
    let error = pair
        .foreign
        .token(pair.at_foreign.iter(), now())
        .unwrap_err();
    assert_eq!(error.fault(), &Fault::Local(LocalFault::BrokenSeal));
    // Liqo's own has no seal: the compatible policy takes it.
    let compatible = foreign_builder().policy(Policy::compatible()).build();
    let token = compatible.token(pair.at_foreign.iter(), now()).unwrap();
    assert_eq!(token.unwrap().expose(), "ab".repeat(64));
    // An empty one lets no one in, in any policy.
    let mut empty = pair
        .at_foreign
        .get::<Secret>("liqo", "auth-token")
        .unwrap()
        .clone();
    empty.data.insert("token".into(), Vec::new().into());
    let objects: Objects = [Object::from(empty)].into_iter().collect();
    let error = compatible.token(objects.iter(), now()).unwrap_err();
    assert_eq!(
        error.fault(),
        &Fault::Local(LocalFault::Token(TokenError::Empty))
    );
}

/// A home that is about to be answered, and an honest answer.
fn asked() -> (Pair, Request, Value) {
    let mut pair = Pair::new();
    let token = pair.token();
    pair.set_token(&token);
    let ids = pair.next_request().unwrap();
    let response = ask(&pair.foreign, &mut pair.at_foreign, &ids.http).response;
    pair.receive(&ids, &response.unwrap()).unwrap();
    let request = pair.next_request().unwrap();
    let answer = ask(&pair.foreign, &mut pair.at_foreign, &request.http);
    let body = serde_json::from_slice(answer.response.unwrap().body.expose()).unwrap();
    (pair, request, body)
}

fn response(status: u16, body: &[u8]) -> HttpResponse {
    let mut response = HttpResponse::unavailable();
    response.status = status;
    response.body = body.into();
    response
}

#[test]
fn a_home_stores_nothing_of_an_answer_that_is_wrong() {
    let (mut pair, request, honest) = asked();
    let before = pair.at_home.clone();
    let other = {
        let mut other = Pair::new();
        let token = other.token();
        let answer = ask(
            &other.foreign,
            &mut other.at_foreign,
            &post(&body(HOME, &key(8), token.expose())),
        );
        let body = answer.response.unwrap().body;
        serde_json::from_slice::<Value>(body.expose()).unwrap()
    };
    type Check = fn(&Fault) -> bool;
    let cases: Vec<(&str, Value, &str, Check)> = vec![
        (
            "certificate",
            other["certificate"].clone(),
            "certificate",
            |fault| matches!(fault, Fault::PeerMisbehaved(PeerMisbehaved::Certificate(_))),
        ),
        (
            "certificate",
            honest["apiServerCA"].clone(),
            "certificate",
            |fault| matches!(fault, Fault::PeerMisbehaved(PeerMisbehaved::Certificate(_))),
        ),
        ("certificate", "!".into(), "certificate", |fault| {
            matches!(fault, Fault::PeerMisbehaved(PeerMisbehaved::AnswerBase64))
        }),
        ("certificate", "".into(), "certificate", |fault| {
            matches!(
                fault,
                Fault::PeerIncompatible(PeerIncompatible::NoCertificate)
            )
        }),
        (
            "apiServerCA",
            honest["certificate"].clone(),
            "apiServerCA",
            |fault| matches!(fault, Fault::PeerMisbehaved(PeerMisbehaved::CaBundle(_))),
        ),
        ("apiServerCA", "".into(), "apiServerCA", |fault| {
            matches!(fault, Fault::Policy(PolicyRefusal::NoCaBundle))
        }),
        (
            "apiServerUrl",
            "https://kubernetes.default.svc".into(),
            "apiServerUrl",
            |fault| {
                matches!(
                    fault,
                    Fault::PeerMisbehaved(PeerMisbehaved::Url(UrlError::OwnCluster))
                )
            },
        ),
        (
            "apiServerUrl",
            "http://172.19.0.3".into(),
            "apiServerUrl",
            |fault| {
                matches!(
                    fault,
                    Fault::PeerMisbehaved(PeerMisbehaved::Url(UrlError::Scheme))
                )
            },
        ),
        ("namespace", "kube-system".into(), "namespace", |fault| {
            matches!(
                fault,
                Fault::Policy(PolicyRefusal::UnexpectedNamespace { .. })
            )
        }),
        ("aws", json!({ "accessKeyID": "a" }), "aws", |fault| {
            matches!(
                fault,
                Fault::PeerMisbehaved(PeerMisbehaved::MixedCredentials)
            )
        }),
        ("aws", json!([]), "", |fault| {
            matches!(fault, Fault::PeerMisbehaved(PeerMisbehaved::AnswerForm(_)))
        }),
    ];
    for (field, value, at, check) in cases {
        let mut body = honest.clone();
        body[field] = value;
        let body = serde_json::to_vec(&body).unwrap();
        let error = pair.receive(&request, &response(202, &body)).unwrap_err();
        assert!(check(error.fault()), "{field}: {error}");
        assert_eq!(error.at().field, at, "{error}");
        assert_eq!(pair.at_home, before);
    }
    for (status, body) in [(202, &b"hello"[..]), (202, b""), (200, b"[]")] {
        let error = pair.receive(&request, &response(status, body)).unwrap_err();
        assert!(matches!(
            error.fault(),
            Fault::PeerMisbehaved(PeerMisbehaved::AnswerForm(_))
        ));
    }
    for status in [100, 301, 302, 400, 418] {
        let error = pair.receive(&request, &response(status, b"")).unwrap_err();
        let expected = PeerIncompatible::Status { found: status };
        assert_eq!(error.fault(), &Fault::PeerIncompatible(expected));
    }
    assert_eq!(pair.at_home, before);
    let body = serde_json::to_vec(&honest).unwrap();
    pair.receive(&request, &response(202, &body)).unwrap();
    assert_eq!(pair.status(), AuthStatus::Accepted);
}

#[test]
fn another_cluster_does_not_answer_for_the_one_that_was_meant() {
    let mut cluster = ForeignCluster::default();
    cluster.spec.foreign_auth_url = "https://foreign.example".into();
    cluster.spec.cluster_identity.cluster_id = "cl-meant".into();
    let home = home_builder().build();
    let answer = |id: &str| response(200, json!({ "clusterId": id }).to_string().as_bytes());
    let error = home.receive_ids(&cluster, &answer("cl-other")).unwrap_err();
    assert!(matches!(
        error.fault(),
        Fault::PeerMisbehaved(PeerMisbehaved::NameMismatch { .. })
    ));
    cluster.spec.cluster_identity.cluster_id.clear();
    assert!(home.receive_ids(&cluster, &answer(HOME)).is_err());
    assert!(home.receive_ids(&cluster, &answer("cl-other")).is_ok());
}

#[test]
fn tokens_go_over_verified_tls_to_a_host_that_one_connects_to() {
    let mut cluster = ForeignCluster::default();
    cluster.spec.insecure_skip_tls_verify = Some(true);
    cluster.spec.foreign_auth_url = "https://foreign.example".into();
    let skips = |home: liqo_auth::legacy::HomeClusterBuilder| {
        let request = home.build().discover(&cluster).unwrap();
        request.tls == liqo_auth::legacy::Tls::Skip
    };
    let chosen = |home: liqo_auth::legacy::HomeClusterBuilder| {
        home.skip_tls_verification_where_the_foreign_cluster_says_so()
    };
    let compatible = || home_builder().policy(Policy::compatible());
    assert!(!skips(home_builder()));
    assert!(!skips(chosen(home_builder())));
    assert!(!skips(compatible()));
    assert!(skips(chosen(compatible())));
    for (url, error) in [
        ("http://foreign.example", UrlError::Scheme),
        ("https://user@foreign.example", UrlError::UserInformation),
        ("https://169.254.169.254", UrlError::Address),
        ("https://kubernetes.default", UrlError::OwnCluster),
        ("", UrlError::Scheme),
    ] {
        let mut cluster = ForeignCluster::default();
        cluster.spec.foreign_auth_url = url.into();
        let found = home_builder().build().discover(&cluster).unwrap_err();
        assert_eq!(
            found.fault(),
            &Fault::Local(LocalFault::AuthUrl(error)),
            "{url}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_request_gets_an_answer_and_only_a_right_token_an_object(
        method in "GET|POST|OPTIONS|[A-Z]{0,8}",
        path in "/ids|/identity|/identity/certificate|/.{0,20}",
        request_body in prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..200),
            ".{0,200}".prop_map(String::into_bytes),
            ("[a-z]{1,9}", "[0-9a-f]{0,140}", "[A-Za-z0-9+/=]{0,80}").prop_map(|(id, token, csr)| {
                json!({ "cluster": { "clusterID": id }, "destinationClusterToken": token,
                    "token": token, "clusterID": id, "certificateSigningRequest": csr })
                    .to_string().into_bytes()
            }),
        ],
    ) {
        let foreign = foreign_builder()
            .policy(Policy::compatible())
            .hand_out_service_accounts("liqo".parse().unwrap())
            .build();
        let mut objects = Objects::new();
        let step = foreign.token_step(objects.iter(), &env()).unwrap();
        apply(&mut objects, &step);
        let before = objects.clone();
        let request = HttpRequest::new(method, path, request_body);
        let answer = ask(&foreign, &mut objects, &request);
        prop_assert!((200..=405).contains(&answer.response.unwrap().status));
        prop_assert_eq!(objects, before);
    }

    #[test]
    fn no_answer_makes_a_home_panic_or_store_what_it_should_not(
        status in 100_u16..600,
        body in prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..200),
            (".{0,20}", "[A-Za-z0-9+/=]{0,80}", ".{0,40}").prop_map(|(namespace, pem, url)| {
                json!({ "namespace": namespace, "certificate": pem, "apiServerUrl": url,
                    "apiServerCA": pem, "clusterId": namespace }).to_string().into_bytes()
            }),
        ],
    ) {
        let (mut pair, request, _) = asked();
        let _ = pair.receive(&request, &response(status, &body));
        prop_assert!(pair.status() != AuthStatus::Accepted);
    }

    #[test]
    fn tokens_match_only_themselves(
        one in "[0-9a-f]{128}",
        other in prop_oneof!["[0-9a-f]{0,130}", ".{0,20}"],
    ) {
        let token = AuthToken::parse(one.as_bytes(), &Policy::strict()).unwrap();
        prop_assert!(token.matches(one.as_bytes()));
        prop_assert_eq!(token.matches(other.as_bytes()), one == other);
    }
}

#[test]
fn a_home_that_trusts_no_tokens_says_nothing() {
    let home = home_builder()
        .enable_token_protocol(TokenProtocol::Off)
        .build();
    let objects = Objects::new();
    let view = objects.view(&FOREIGN.parse().unwrap());
    let error = home.look(&view).unwrap_err();
    assert_eq!(
        error.fault(),
        &Fault::Policy(PolicyRefusal::TokenProtocolOff)
    );
}
