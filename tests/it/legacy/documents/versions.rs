//! The forms of each version of the protocol.

use liqo_auth::{
    error::{Fault, PolicyRefusal},
    legacy::{ForeignSettings, HomeClusterSettings, Reading},
    model::{AuthStatus, Kind, ProtocolVersion},
    policy::Policy,
};

use crate::legacy::pair::{
    FOREIGN, Pair, ask, compatible_home, env, foreign_of_accounts, foreign_settings, home_settings,
};

#[test]
fn a_foreign_cluster_of_0_2_is_recognized_by_its_guest_namespace() {
    let mut pair = Pair::of_accounts();
    let request = pair.next_request().unwrap();
    let response = ask(&pair.foreign, &mut pair.at_foreign, &request.http).response;
    pair.receive(&request, &response.unwrap()).unwrap();
    let request = pair.next_request().unwrap();
    assert_eq!(request.http.path, "/identity");
    let body = core::str::from_utf8(request.http.body.expose()).unwrap();
    assert_eq!(body, r#"{"clusterID":"cl-home","token":""}"#);
}

#[test]
fn each_version_gets_requests_in_its_form() {
    for (version, fields) in [
        (ProtocolVersion::V0_3, &["clusterID"][..]),
        (ProtocolVersion::V0_4, &["cluster"]),
    ] {
        let home = HomeClusterSettings {
            peer_versions: [(FOREIGN.parse().unwrap(), version)].into(),
            ..home_settings()
        };
        let mut pair = Pair::of(foreign_settings(), home);
        let token = pair.token();
        pair.set_token(&token);
        let request = pair.next_request().unwrap();
        let response = ask(&pair.foreign, &mut pair.at_foreign, &request.http).response;
        pair.receive(&request, &response.unwrap()).unwrap();
        let request = pair.next_request().unwrap();
        let body: serde_json::Value = serde_json::from_slice(request.http.body.expose()).unwrap();
        let found: Vec<&str> = ["clusterID", "cluster"]
            .into_iter()
            .filter(|field| body.get(field).is_some())
            .collect();
        assert_eq!(found, fields);
        pair.run();
        assert_eq!(pair.status(), AuthStatus::Accepted);
    }
}

#[test]
fn the_strict_policy_does_not_use_the_form_of_0_2() {
    let mut pair = Pair::of(foreign_of_accounts(), home_settings());
    let request = pair.next_request().unwrap();
    let response = ask(&pair.foreign, &mut pair.at_foreign, &request.http).response;
    pair.receive(&request, &response.unwrap()).unwrap();
    let view = pair.at_home.view(pair.foreign.cluster_id());
    let error = pair.home.reconcile(&view, &env()).unwrap_err();
    assert_eq!(
        error.fault(),
        &Fault::Policy(PolicyRefusal::TokenProtocolVersion {
            found: ProtocolVersion::V0_2
        })
    );
}

#[test]
fn a_peer_without_a_path_for_certificates_counts_as_0_2() {
    let mut pair = Pair::of(foreign_settings(), compatible_home());
    let request = pair.next_request().unwrap();
    let response = ask(&pair.foreign, &mut pair.at_foreign, &request.http).response;
    pair.receive(&request, &response.unwrap()).unwrap();
    let request = pair.next_request().unwrap();
    let mut response = liqo_auth::legacy::HttpResponse::unavailable();
    response.status = 404;
    pair.receive(&request, &response).unwrap();
    assert_eq!(pair.next_request().unwrap().http.path, "/identity");
}

/// Liqo 0.3 adds nothing to the name; 0.4 to 0.10 add a part of a hash.
#[test]
fn the_tenant_namespace_has_the_name_of_each_version() {
    for (version, name) in [
        (ProtocolVersion::V0_3, "liqo-tenant-cl-home"),
        (ProtocolVersion::V0_4, "liqo-tenant-cl-home-7131e7"),
    ] {
        let home = HomeClusterSettings {
            peer_versions: [(FOREIGN.parse().unwrap(), version)].into(),
            ..home_settings()
        };
        let foreign = ForeignSettings {
            policy: Policy::compatible(),
            ..foreign_settings()
        };
        let mut pair = Pair::of(foreign, home);
        let token = pair.token();
        pair.set_token(&token);
        pair.run();
        assert_eq!(pair.status(), AuthStatus::Accepted);
        let namespaces: Vec<String> = pair
            .at_foreign
            .iter()
            .filter(|object| object.id().kind == Kind::Namespace)
            .map(|object| object.id().name)
            .collect();
        assert_eq!(namespaces, [name], "{version}");
    }
}

/// An API server with strict validation refuses another version's fields.
#[test]
fn a_foreign_cluster_is_written_in_its_versions_own_form() {
    for (mut pair, [written, absent]) in [
        (
            Pair::new(),
            [
                ["/spec/foreignAuthUrl", "/status/peeringConditions"],
                ["/spec/authUrl", "/status/authStatus"],
            ],
        ),
        (
            Pair::of_accounts(),
            [
                ["/spec/authUrl", "/status/authStatus"],
                ["/spec/foreignAuthUrl", "/status/peeringConditions"],
            ],
        ),
    ] {
        pair.run();
        assert_eq!(pair.status(), AuthStatus::EmptyRefused);
        let cluster = serde_json::to_value(pair.cluster()).unwrap();
        for path in written {
            assert!(cluster.pointer(path).is_some(), "{path}: {cluster}");
        }
        for path in absent {
            assert!(cluster.pointer(path).is_none(), "{path}: {cluster}");
        }
    }
}

/// Kubernetes' conventions: an empty text is an absent field.
#[test]
fn an_empty_field_is_an_absent_one() {
    let foreign = crate::legacy::pair::foreign(foreign_settings());
    for (body, peer, version) in [
        (
            r#"{"clusterID":"","cluster":{"clusterID":"a"}}"#,
            "a",
            ProtocolVersion::V0_4,
        ),
        (
            r#"{"clusterID":"a","cluster":{"clusterID":"","clusterName":""}}"#,
            "a",
            ProtocolVersion::V0_3,
        ),
    ] {
        let request = crate::legacy::pair::post(&serde_json::from_str(body).unwrap());
        let Reading::Identity(read) = foreign.read(&request) else {
            panic!("refused: {body}");
        };
        assert_eq!((read.peer.as_str(), read.version), (peer, version));
    }
    let mut pair = Pair::new();
    let ids = pair.next_request().unwrap();
    let mut response = liqo_auth::legacy::HttpResponse::unavailable();
    response.status = 200;
    let body = format!(r#"{{"clusterId":"{FOREIGN}","guestNamespace":""}}"#);
    response.body = body.into_bytes().into();
    pair.receive(&ids, &response).unwrap();
    let request = pair.next_request().unwrap();
    assert_eq!(request.http.path, "/identity/certificate");
}
