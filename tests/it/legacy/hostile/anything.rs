//! Random requests, answers and tokens.

use liqo_auth::{
    legacy::{AuthToken, HttpRequest},
    model::AuthStatus,
    policy::Policy,
};
use proptest::prelude::*;
use serde_json::json;

use super::{asked, response};
use crate::{
    clusters::store,
    legacy::pair::{apply, ask, env, foreign, foreign_of_accounts},
};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn every_request_gets_an_answer_and_only_a_right_token_makes_objects(
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
        let foreign = foreign(foreign_of_accounts());
        let mut objects = store::empty();
        let step = foreign.token_step(objects.iter(), &env()).unwrap();
        apply(&mut objects, &step);
        let before = objects.clone();
        let request = HttpRequest::new(method, path, request_body);
        let answer = ask(&foreign, &mut objects, &request);
        prop_assert!((200..=405).contains(&answer.response.unwrap().status));
        prop_assert_eq!(objects, before);
    }

    #[test]
    fn no_answer_makes_a_home_panic_or_store_a_wrong_identity(
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
