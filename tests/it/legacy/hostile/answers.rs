//! Answers that an honest foreign cluster never gives.

use liqo_auth::{
    error::{Fault, LocalFault, PeerIncompatible, PeerMisbehaved, PolicyRefusal},
    legacy::HomeClusterSettings,
    model::{AuthStatus, ForeignCluster, UrlError},
};
use serde_json::{Value, json};

use super::{asked, response};
use crate::{
    clusters::store,
    legacy::pair::{
        FOREIGN, HOME, Pair, ask, body, compatible_home, home, home_settings, key, post,
    },
};

#[test]
fn a_home_stores_nothing_of_a_wrong_answer() {
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
    let is_of_another_key: Check = |fault| {
        matches!(
            fault,
            Fault::PeerIncompatible(PeerIncompatible::CertificateKey { .. })
        )
    };
    let cases: Vec<(&str, Value, &str, Check)> = vec![
        (
            "certificate",
            other["certificate"].clone(),
            "certificate",
            is_of_another_key,
        ),
        (
            "certificate",
            honest["apiServerCA"].clone(),
            "certificate",
            is_of_another_key,
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
fn an_answer_of_another_cluster_is_refused() {
    let mut cluster = ForeignCluster::default();
    cluster.spec.foreign_auth_url = "https://foreign.example".into();
    cluster.spec.cluster_identity.cluster_id = "cl-meant".into();
    let home = home(home_settings());
    let answer = |id: &str| response(200, json!({ "clusterId": id }).to_string().as_bytes());
    let error = home.receive_ids(&cluster, &answer("cl-other")).unwrap_err();
    assert!(matches!(
        error.fault(),
        Fault::PeerIncompatible(PeerIncompatible::NameMismatch { .. })
    ));
    cluster.spec.cluster_identity.cluster_id.clear();
    assert!(home.receive_ids(&cluster, &answer(HOME)).is_err());
    assert!(home.receive_ids(&cluster, &answer("cl-other")).is_ok());
}

#[test]
fn tokens_are_sent_only_over_verified_tls_to_a_connectable_host() {
    let mut cluster = ForeignCluster::default();
    cluster.spec.insecure_skip_tls_verify = Some(true);
    cluster.spec.foreign_auth_url = "https://foreign.example".into();
    let skips = |settings: HomeClusterSettings| {
        let request = home(settings).discover(&cluster).unwrap();
        request.tls == liqo_auth::legacy::Tls::Skip
    };
    let chosen = |settings: HomeClusterSettings| HomeClusterSettings {
        skip_tls_verification_where_the_foreign_cluster_says_so: true,
        ..settings
    };
    assert!(!skips(home_settings()));
    assert!(!skips(chosen(home_settings())));
    assert!(!skips(compatible_home()));
    assert!(skips(chosen(compatible_home())));
    for (url, error) in [
        ("http://foreign.example", UrlError::Scheme),
        ("https://user@foreign.example", UrlError::UserInformation),
        ("https://169.254.169.254", UrlError::Address),
        ("https://kubernetes.default", UrlError::OwnCluster),
        ("", UrlError::Scheme),
    ] {
        let mut cluster = ForeignCluster::default();
        cluster.spec.foreign_auth_url = url.into();
        let found = home(home_settings()).discover(&cluster).unwrap_err();
        assert_eq!(
            found.fault(),
            &Fault::Local(LocalFault::AuthUrl(error)),
            "{url}"
        );
    }
}

#[test]
fn a_home_without_the_token_protocol_sends_nothing() {
    let home = home(HomeClusterSettings::default());
    let objects = store::empty();
    let view = objects.view(&FOREIGN.parse().unwrap());
    let error = home.look(&view).unwrap_err();
    assert_eq!(
        error.fault(),
        &Fault::Policy(PolicyRefusal::TokenProtocolOff)
    );
}
