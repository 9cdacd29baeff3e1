//! Cluster IDs of version 0.2 that choose the Secret which the ID may read.

use liqo_auth::{
    error::{ApiMisuse, Fault},
    legacy::{ForeignSettings, HttpRequest, Outcome, Reading},
    model::{Metadata, Object, Role, Secret},
};

use crate::legacy::pair::{Pair, ask, env, foreign_of_accounts, home_settings};

#[test]
fn no_service_account_is_made_beside_the_clusters_own_keys() {
    let pair = Pair::of(
        ForeignSettings {
            service_accounts: Some("liqo".parse().unwrap()),
            ..foreign_of_accounts()
        },
        home_settings(),
    );
    // The second ID does not name a Secret at all.
    for id in ["authentication-keys", "cl-other"] {
        let request = request(&pair, id);
        let Reading::Identity(request) = pair.foreign.read(&request) else {
            panic!("unreadable");
        };
        let view = pair.at_foreign.view(&request.peer);
        let error = pair.foreign.handle(&view, &request, env()).unwrap_err();
        let expected = Fault::ApiMisuse(ApiMisuse::AccountsInOwnNamespace);
        assert_eq!(*error.fault(), expected);
    }
    assert!(granted(&pair).is_empty(), "{:?}", granted(&pair));
}

#[test]
fn an_id_that_names_a_secret_of_the_protocol_is_refused() {
    for id in [
        "authentication-keys",
        "auth-token",
        "remote-token-cl-b",
        "remote-cl-b-token",
        "remote-identity-0123456789",
        "liqo-auth-legacy-foreign-cl-b",
        "liqo-auth-origin-token-cl-b",
        // What Kubernetes calls the tokens of service accounts.
        "default-token-x7k2p",
    ] {
        let mut pair = Pair::of_accounts();
        assert_refused(&mut pair, id);
    }
}

#[test]
fn an_id_that_names_a_secret_that_is_there_is_refused() {
    let mut pair = Pair::of_accounts();
    pair.at_foreign.insert(secret("database").into());
    assert_refused(&mut pair, "database");
}

/// Between the claim and the rights, somebody else makes a Secret.
#[test]
fn rights_are_not_given_to_a_secret_that_came_after_the_claim() {
    let mut pair = Pair::of_accounts();
    let request = request(&pair, "database");
    let Reading::Identity(read) = pair.foreign.read(&request) else {
        panic!("unreadable");
    };
    let view = pair.at_foreign.view(&read.peer);
    let reply = pair.foreign.handle(&view, &read, env()).unwrap();
    crate::legacy::pair::apply(&mut pair.at_foreign, &reply.step);
    pair.at_foreign.insert(secret("database").into());
    let reply = ask(&pair.foreign, &mut pair.at_foreign, &request);
    assert_eq!(reply.response.unwrap().status, 403);
    assert!(granted(&pair).is_empty());
}

/// The Secret that a home makes under its own ID is no reason to refuse it:
/// its rights are there already.
#[test]
fn a_home_that_comes_again_may_have_its_own_secret() {
    let mut pair = Pair::of_accounts();
    let request = request(&pair, "cl-a");
    let reply = crate::legacy::pair::ask_undelivered(
        &pair.foreign,
        &mut pair.at_foreign,
        &request,
        usize::MAX,
    );
    assert_eq!(reply.unwrap().response.unwrap().status, 201);
    pair.at_foreign.insert(secret("cl-a").into());
    let reply = ask(&pair.foreign, &mut pair.at_foreign, &request);
    assert_eq!(reply.response.unwrap().status, 201);
}

/// Another home may create Secrets in the namespace, also one that has the name
/// of this home's token.
#[test]
fn a_planted_token_is_not_handed_out() {
    let mut pair = Pair::of_accounts();
    let mut planted = secret("remote-cl-a-token");
    let token = b"the token of cl-b".as_slice().into();
    planted.data.insert("token".into(), token);
    pair.at_foreign.insert(planted.into());
    let request = request(&pair, "cl-a");
    let Reading::Identity(request) = pair.foreign.read(&request) else {
        panic!("unreadable");
    };
    for _ in 0..8 {
        let view = pair.at_foreign.view(&request.peer);
        let Ok(reply) = pair.foreign.handle(&view, &request, env()) else {
            return;
        };
        assert!(reply.response.is_none());
        crate::legacy::pair::apply(&mut pair.at_foreign, &reply.step);
    }
}

fn assert_refused(pair: &mut Pair, id: &str) {
    let request = request(pair, id);
    let reply = ask(&pair.foreign, &mut pair.at_foreign, &request);
    assert_eq!(reply.response.unwrap().status, 403, "{id}");
    let outcome = reply.outcome.unwrap();
    assert!(
        matches!(outcome, Outcome::Refused { .. }),
        "{id}: {outcome}"
    );
    assert!(granted(pair).is_empty(), "{id}");
}

fn request(pair: &Pair, id: &str) -> HttpRequest {
    let body = serde_json::json!({ "clusterID": id, "token": pair.token().expose() });
    HttpRequest::new("POST", "/identity", body.to_string().into_bytes())
}

fn secret(name: &str) -> Secret {
    Secret {
        metadata: Metadata {
            name: name.into(),
            namespace: "guests".into(),
            uid: "1b4e28ba".into(),
            ..Metadata::default()
        },
        ..Secret::default()
    }
}

/// The Secrets that some role lets a home read.
fn granted(pair: &Pair) -> Vec<String> {
    pair.at_foreign
        .iter()
        .filter_map(|object| match object {
            Object::Role(Role { rules, .. }) => Some(rules),
            _ => None,
        })
        .flatten()
        .flat_map(|rule| rule.resource_names.clone())
        .collect()
}
