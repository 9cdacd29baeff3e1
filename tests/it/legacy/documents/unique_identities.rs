//! The statements of Liqo's documentation about unique identities.

use liqo_auth::{
    legacy::ForeignSettings,
    model::{Object, ObjectRef, Secret, names},
    policy::Policy,
};

use crate::legacy::pair::{
    HOME, Pair, apply, ask, ask_undelivered, body, foreign_settings, home_settings, key, post,
};

#[test]
fn a_second_identity_for_one_cluster_id_is_refused() {
    let mut pair = Pair::new();
    let token = pair.token();
    let statuses: Vec<u16> = [1, 1, 2]
        .map(|number| post(&body(HOME, &key(number), token.expose())))
        .iter()
        .map(|request| ask(&pair.foreign, &mut pair.at_foreign, request))
        .map(|answer| answer.response.unwrap().status)
        .collect();
    assert_eq!(statuses, [202, 403, 403]);
}

#[test]
fn each_home_cluster_gets_its_own_identity() {
    let mut pair = Pair::new();
    let token = pair.token();
    for (number, id) in (1..).zip(["a", "b", "c"]) {
        let request = post(&body(id, &key(number), token.expose()));
        let answer = ask(&pair.foreign, &mut pair.at_foreign, &request);
        assert_eq!(answer.response.unwrap().status, 202);
        let namespace = format!("liqo-tenant-{id}");
        let name = names::ISSUED_CERTIFICATE_SECRET;
        assert!(pair.at_foreign.get::<Secret>(&namespace, name).is_some());
    }
}

#[test]
fn an_identity_is_issued_again_after_its_release() {
    let mut pair = Pair::new();
    let token = pair.token();
    for number in [1, 2] {
        let request = post(&body(HOME, &key(number), token.expose()));
        let answer = ask(&pair.foreign, &mut pair.at_foreign, &request);
        assert_eq!(answer.response.unwrap().status, 202);
        let view = pair.at_foreign.view(&HOME.parse().unwrap());
        let step = pair.foreign.release(&view).unwrap();
        apply(&mut pair.at_foreign, &step);
    }
}

/// For Liqo, the Secret of the certificate is its state. A peer may delete that
/// Secret; therefore the strict policy does not rely on it.
#[test]
fn an_identity_is_issued_again_after_deletion_of_its_secret_in_the_compatible_policy_only() {
    for (policy, expected) in [(Policy::compatible(), 202), (Policy::strict(), 403)] {
        let mut pair = Pair::of(
            ForeignSettings {
                policy,
                ..foreign_settings()
            },
            home_settings(),
        );
        let token = pair.token();
        let first = post(&body(HOME, &key(1), token.expose()));
        ask(&pair.foreign, &mut pair.at_foreign, &first);
        let issued: Vec<ObjectRef> = pair
            .at_foreign
            .iter()
            .map(Object::id)
            .filter(|id| id.name == names::ISSUED_CERTIFICATE_SECRET)
            .collect();
        for id in issued {
            pair.at_foreign.remove(&id);
        }
        let second = post(&body(HOME, &key(2), token.expose()));
        let answer = ask(&pair.foreign, &mut pair.at_foreign, &second);
        assert_eq!(answer.response.unwrap().status, expected);
    }
}

#[test]
fn an_identity_that_was_not_delivered_is_given_again_after_any_crash() {
    for effects in 0..8 {
        let mut pair = Pair::new();
        let token = pair.token();
        let request = post(&body(HOME, &key(1), token.expose()));
        ask_undelivered(&pair.foreign, &mut pair.at_foreign, &request, effects);
        let again = ask(&pair.foreign, &mut pair.at_foreign, &request);
        assert_eq!(again.response.unwrap().status, 202, "{effects}");
        let again = ask(&pair.foreign, &mut pair.at_foreign, &request);
        assert_eq!(again.response.unwrap().status, 403, "{effects}");
    }
}

#[test]
fn a_repeated_request_gets_the_same_certificate() {
    let mut pair = Pair::new();
    let token = pair.token();
    let request = post(&body(HOME, &key(1), token.expose()));
    let ask = |pair: &mut Pair| {
        ask_undelivered(&pair.foreign, &mut pair.at_foreign, &request, usize::MAX)
            .unwrap()
            .response
            .unwrap()
    };
    let first = ask(&mut pair);
    assert_eq!(first, ask(&mut pair));
    // A request with another key does not get the certificate.
    let other = post(&body(HOME, &key(2), token.expose()));
    let other = ask_undelivered(&pair.foreign, &mut pair.at_foreign, &other, usize::MAX);
    assert_eq!(other.unwrap().response.unwrap().status, 403);
}
