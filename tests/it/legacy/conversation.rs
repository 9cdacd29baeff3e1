//! A conversation with the authentication service of Liqo 0.10.3, recorded by
//! curl. Our foreign side answers the same requests, and our home side gets the
//! same answers.

use core::time::Duration;
use std::{path::PathBuf, sync::Arc};

use liqo_auth::{
    crypto::{Authority, CaBundle, Entropy, KeyPair, OneKey, RecordKey},
    legacy::{
        Asks, Foreign, ForeignSettings, HomeCluster, HomeClusterSettings, HttpRequest,
        HttpResponse, Outcome, Phase, Reading, Reply, TokenProtocol,
    },
    machine::{Env, Objects, Step},
    model::{
        AuthStatus, ClusterId, ForeignCluster, Kubeconfig, Namespace, Object, Resource, Secret,
        Timestamp, UserCredential, manifest,
    },
    policy::{Limits, Policy},
    provider::{AuthoritySigner, Endpoint, NameTable},
};
use serde_json::Value;

use crate::clusters::{allowing_loopback, store};

/// The whole conversation, under the compatible policy, because the CSR was
/// made by openssl and the token has no seal of ours.
#[test]
fn our_foreign_side_gives_the_same_answers_as_liqo() {
    let (foreign, mut objects) = foreign();
    let request = read("4-request.json");
    let with_token = |token: &str| {
        let mut body: Value = serde_json::from_slice(&request).unwrap();
        body["destinationClusterToken"] = token.into();
        serde_json::to_vec(&body).unwrap()
    };
    let certificate = "/identity/certificate";
    for (file, method, path, body) in [
        ("1-ids.http", "GET", "/ids", Vec::new()),
        (
            "2-wrong-token.http",
            "POST",
            certificate,
            with_token("wrong"),
        ),
        ("3-empty-token.http", "POST", certificate, with_token("")),
        ("4-right-token.http", "POST", certificate, request.clone()),
        ("5-again.http", "POST", certificate, request.clone()),
        ("6-not-json.http", "POST", certificate, b"hello".to_vec()),
        ("7-get.http", "GET", certificate, Vec::new()),
    ] {
        let theirs = recorded(file);
        let ours = ask(
            &foreign,
            &mut objects,
            &HttpRequest::new(method, path, body),
        )
        .response
        .unwrap();
        assert_eq!(ours.status, theirs.status, "{file}");
        for (name, value) in &theirs.headers {
            let is_the_transports = ["content-length", "date"].contains(&name.as_str());
            let found = ours.headers.iter().find(|(found, _)| found == name);
            assert!(
                is_the_transports || found.is_some_and(|(_, found)| found == value),
                "{file}: {name}: {found:?}"
            );
        }
        assert_eq!(ours.headers.len(), theirs.headers.len() - 2, "{file}");
        let (ours, theirs) = (ours.body.expose(), theirs.body.expose());
        match serde_json::from_slice::<Value>(theirs) {
            // The same fields in the same order, with our authority's values.
            Ok(theirs) => {
                let ours: Value = serde_json::from_slice(ours).unwrap();
                assert_eq!(keys(&ours), keys(&theirs), "{file}");
                assert_eq!(ours["namespace"], theirs["namespace"], "{file}");
                assert_eq!(ours["clusterId"], theirs["clusterId"], "{file}");
                assert_eq!(ours["clusterName"], theirs["clusterName"], "{file}");
                assert_eq!(ours["apiServerUrl"], theirs["apiServerUrl"], "{file}");
                assert_eq!(ours["aws"], theirs["aws"], "{file}");
            }
            // A message for people. Theirs contains the token, ours does not.
            Err(_) => {
                assert_eq!(ours.last(), theirs.last(), "{file}");
                assert!(!contains(ours, b"wrong"), "{file}");
                assert_eq!(ours.len() > 1, theirs.len() > 1, "{file}");
            }
        }
    }
}

#[test]
fn our_foreign_side_leaves_the_same_objects_as_liqo() {
    let (foreign, mut objects) = foreign();
    let request = HttpRequest::new("POST", "/identity/certificate", read("4-request.json"));
    assert!(ask(&foreign, &mut objects, &request).was_issued());
    let theirs: Vec<Object> = ["namespaces.yaml", "secrets.yaml"]
        .into_iter()
        .flat_map(|file| manifest::read(&read(file), &Limits::default()).unwrap())
        .collect();
    let namespace = "liqo-tenant-home-843677";
    for object in &theirs {
        let id = object.id();
        match object {
            Object::Namespace(theirs) if id.name == namespace => {
                let ours = objects.get::<Namespace>("", &id.name).unwrap();
                let mut labels = theirs.metadata.labels.clone();
                labels.remove("kubernetes.io/metadata.name");
                assert_eq!(ours.metadata.labels, labels);
            }
            Object::Secret(theirs) => {
                let ours = objects.get::<Secret>(&id.namespace, &id.name).unwrap();
                assert_eq!(ours.metadata.labels, theirs.metadata.labels, "{id}");
                assert!(ours.data.keys().eq(theirs.data.keys()), "{id}");
                for (key, value) in theirs.data.iter().filter(|(key, _)| *key != "certificate") {
                    assert_eq!(&ours.data[key], value, "{id}: {key}");
                }
            }
            _ => {}
        }
    }
}

#[test]
fn our_home_side_accepts_the_answers_of_liqo() {
    let (home, mut objects) = home();
    // The first request asks for the cluster's ID.
    let cluster: ForeignCluster = objects
        .get::<ForeignCluster>("", "foreign")
        .unwrap()
        .clone();
    let request = home.discover(&cluster).unwrap();
    assert_eq!(request.url, "https://127.0.0.1:17443/ids");
    let step = home.receive_ids(&cluster, &recorded("1-ids.http")).unwrap();
    apply(&mut objects, &step);
    let peer: ClusterId = "11111111-aaaa-4bbb-8ccc-222222222222".parse().unwrap();

    // The empty token is sent first. It is refused, and the phase awaits a
    // token.
    let answer = |home: &HomeCluster, objects: &mut Objects, file: &str| {
        loop {
            let next = home.reconcile(&objects.view(&peer), &env()).unwrap();
            apply(objects, &next.step);
            if let Some(request) = next.request {
                let response = recorded(file);
                let view = objects.view(&peer);
                let step = home.receive(&view, &request, &response, &env()).unwrap();
                apply(objects, &step);
                return request;
            }
            assert!(!next.step.effects.is_empty(), "nothing to do");
        }
    };
    let request = answer(&home, &mut objects, "3-empty-token.http");
    assert_eq!(request.url, "https://127.0.0.1:17443/identity/certificate");
    assert!(matches!(
        request.asks,
        Asks::Identity {
            version: None,
            with_token: false
        }
    ));
    assert_eq!(status(&objects), AuthStatus::EmptyRefused);
    let phase = home.look(&objects.view(&peer)).unwrap();
    assert!(matches!(phase, Phase::AwaitsToken));

    // The administrator stores the token.
    let token = token();
    let step = home
        .set_remote_token(&objects.view(&peer), &token, now())
        .unwrap();
    apply(&mut objects, &step);
    assert_eq!(status(&objects), AuthStatus::Pending);
    let request = answer(&home, &mut objects, "4-right-token.http");
    let body: Value = serde_json::from_slice(request.http.body.expose()).unwrap();
    assert_eq!(body["destinationClusterToken"], token.expose());
    let theirs: Value = serde_json::from_slice(&read("4-request.json")).unwrap();
    assert_eq!(body["cluster"], theirs["cluster"]);
    assert_eq!(body["clusterID"], theirs["cluster"]["clusterID"]);

    // The answer is accepted. The kubeconfig has the certificate, our key, and
    // their CA.
    assert_eq!(status(&objects), AuthStatus::Accepted);
    let view = objects.view(&peer);
    let Phase::Accepted(held) = home.look(&view).unwrap() else {
        panic!("not accepted");
    };
    let name = held.kubeconfig_secret.name.clone();
    assert!(name.starts_with("remote-identity-"), "{name}");
    let text = core::str::from_utf8(held.kubeconfig.expose()).unwrap();
    let kubeconfig = Kubeconfig::parse(text).unwrap();
    assert_eq!(kubeconfig.server, "https://127.0.0.1:17443");
    assert_eq!(
        kubeconfig.namespace.as_deref(),
        Some("liqo-tenant-home-843677")
    );
    let UserCredential::KeyData { certificate, key } = kubeconfig.credential else {
        panic!("no key");
    };
    assert!(
        certificate
            .as_slice()
            .starts_with(b"-----BEGIN CERTIFICATE-----")
    );
    assert_eq!(key.expose(), read("home.key"));
}

#[test]
fn our_two_sides_understand_each_other() {
    for policy in [Policy::strict(), Policy::compatible()] {
        let authority = authority();
        let foreign = foreign_with(&authority, policy.clone());
        let mut at_foreign = store::empty();
        let step = foreign.token_step(at_foreign.iter(), &env()).unwrap();
        apply(&mut at_foreign, &step);
        let (home, mut at_home) = home_with(policy.clone());
        let peer = foreign.cluster_id().clone();
        let token = foreign.token(at_foreign.iter(), now()).unwrap().unwrap();
        let mut urls = Vec::new();
        for round in 0..12 {
            if round == 6 {
                let view = at_home.view(&peer);
                let step = home.set_remote_token(&view, &token, now()).unwrap();
                apply(&mut at_home, &step);
            }
            let cluster = at_home.get::<ForeignCluster>("", "foreign").unwrap();
            let next = if cluster.spec.cluster_identity.cluster_id.is_empty() {
                let request = home.discover(cluster).unwrap();
                let answer = ask(&foreign, &mut at_foreign, &request.http);
                let step = home
                    .receive_ids(cluster, &answer.response.unwrap())
                    .unwrap();
                apply(&mut at_home, &step);
                continue;
            } else {
                home.reconcile(&at_home.view(&peer), &env()).unwrap()
            };
            apply(&mut at_home, &next.step);
            let Some(request) = next.request else {
                continue;
            };
            let answer = ask(&foreign, &mut at_foreign, &request.http);
            urls.push(answer.outcome);
            let view = at_home.view(&peer);
            let response = answer.response.unwrap();
            let step = home.receive(&view, &request, &response, &env()).unwrap();
            apply(&mut at_home, &step);
        }
        assert_eq!(status(&at_home), AuthStatus::Accepted);
        assert!(matches!(
            urls.as_slice(),
            [
                Some(Outcome::WrongToken { is_empty: true, .. }),
                Some(Outcome::Issued { .. })
            ]
        ));
        // In the strict policy, the foreign side has its own token.
        let given =
            at_foreign.get::<Secret>("liqo", "remote-token-0f6d1a3e-5c8b-4f7e-9a1d-33aa44bb55cc");
        assert_eq!(given.is_some(), policy == Policy::strict());
    }
}

fn foreign_with(authority: &Authority, policy: Policy) -> Foreign {
    let endpoint = Endpoint::new(
        "https://127.0.0.1:17443".parse().unwrap(),
        Some(authority.ca_bundle()),
    );
    let _: &CaBundle = authority.ca_bundle();
    let id = "11111111-aaaa-4bbb-8ccc-222222222222".parse().unwrap();
    let signer = AuthoritySigner::new(self::authority(), Entropy::from_bytes([3; 32]));
    let settings = ForeignSettings {
        name: Some("foreign".to_owned()),
        protocol: TokenProtocol::TrustWhoeverHoldsTheToken,
        signer: Some(Arc::new(signer)),
        principals: Arc::new(NameTable::default()),
        policy,
        ..ForeignSettings::default()
    };
    Foreign::new(id, endpoint, RecordKey::new([1; 32]).unwrap(), settings)
}

fn foreign() -> (Foreign, Objects) {
    let foreign = foreign_with(&authority(), Policy::compatible());
    let objects = manifest::read(&read("auth-token.yaml"), &Limits::default()).unwrap();
    (foreign, store::holding(objects))
}

fn home() -> (HomeCluster, Objects) {
    home_with(Policy::compatible())
}

fn home_with(policy: Policy) -> (HomeCluster, Objects) {
    let key = KeyPair::from_pkcs8_pem(&read("home.key"), &policy).unwrap();
    let settings = HomeClusterSettings {
        name: Some("home".to_owned()),
        policy: allowing_loopback(policy),
        protocol: TokenProtocol::TrustWhoeverHoldsTheToken,
        ..HomeClusterSettings::default()
    };
    let home = HomeCluster::new(
        "0f6d1a3e-5c8b-4f7e-9a1d-33aa44bb55cc".parse().unwrap(),
        Arc::new(OneKey(Arc::new(key))),
        RecordKey::new([2; 32]).unwrap(),
        settings,
    );
    let mut cluster = ForeignCluster::default();
    cluster.metadata.name = "foreign".into();
    cluster.spec.foreign_auth_url = "https://127.0.0.1:17443/".into();
    (home, store::holding([Object::from(cluster)]))
}

fn token() -> liqo_auth::legacy::AuthToken {
    let objects = manifest::read(&read("auth-token.yaml"), &Limits::default()).unwrap();
    let token = Secret::from_object(&objects[0])
        .unwrap()
        .get("token")
        .unwrap();
    liqo_auth::legacy::AuthToken::parse(token, &Policy::strict()).unwrap()
}

fn status(objects: &Objects) -> AuthStatus {
    let cluster = objects.get::<ForeignCluster>("", "foreign").unwrap();
    cluster.status.auth_status()
}

/// Handles a request to its end, as a server does.
fn ask(foreign: &Foreign, objects: &mut Objects, request: &HttpRequest) -> Reply {
    let request = match foreign.read(request) {
        Reading::Identity(request) => request,
        Reading::Reply(answer) => return answer,
        _ => panic!("another reading"),
    };
    for _ in 0..8 {
        let view = objects.view(&request.peer);
        let answer = foreign.handle(&view, &request, env()).unwrap();
        apply(objects, &answer.step);
        if answer.response.is_some() {
            if answer.was_issued() {
                let step = foreign.delivered(&objects.view(&request.peer)).unwrap();
                apply(objects, &step);
            }
            return answer;
        }
    }
    panic!("no response");
}

fn apply(objects: &mut Objects, step: &Step) {
    for effect in &step.effects {
        objects.apply(effect).unwrap();
    }
}

fn authority() -> Authority {
    Authority::new(
        "ca",
        now(),
        Duration::from_secs(2 * 365 * 86_400),
        &Entropy::from_bytes([9; 32]),
    )
    .unwrap()
}

fn env() -> Env {
    Env {
        now: now(),
        entropy: Entropy::from_bytes([7; 32]),
    }
}

fn now() -> Timestamp {
    "2026-11-20T23:03:41Z".parse().unwrap()
}

/// The output of `curl -i`.
fn recorded(file: &str) -> HttpResponse {
    let text = read(file);
    let end = text
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .unwrap();
    let head = core::str::from_utf8(&text[..end]).unwrap();
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap();
    let mut response = HttpResponse::unavailable();
    response.status = status.parse().unwrap();
    response.headers = lines
        .map(|line| line.split_once(": ").unwrap())
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    response.body = text[end + 4..].to_vec().into();
    response
}

fn read(file: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("vectors/liqo-0.10.3");
    std::fs::read(folder.join(file)).unwrap()
}

fn keys(value: &Value) -> Vec<String> {
    value
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, _)| key.clone())
        .collect()
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}
