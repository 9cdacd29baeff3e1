//! The forms of each version of the protocol.

use liqo_auth::{
    error::{Fault, PolicyRefusal},
    legacy::HomeClusterSettings,
    model::{AuthStatus, ProtocolVersion},
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
