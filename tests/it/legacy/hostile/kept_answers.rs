//! An answer that the home's settings refuse is not lost: the peer gives an
//! identity once.

use liqo_auth::{
    crypto::Entropy,
    error::{Fault, LocalFault, PolicyRefusal},
    legacy::{AuthToken, HomeClusterSettings, Phase, Request},
    model::AuthStatus,
};
use serde_json::Value;

use super::{asked, response};
use crate::legacy::pair::{FOREIGN, Pair, apply, compatible_home, env, home, home_settings};

#[test]
fn an_answer_without_a_ca_is_kept_and_taken_with_the_setting() {
    let (mut pair, request, mut answer) = asked();
    answer.as_object_mut().unwrap().remove("apiServerCA");
    keep(&mut pair, &request, &answer, 202);
    pair.home = home(HomeClusterSettings {
        publicly_trusted: true,
        ..home_settings()
    });
    assert!(pair.next_request().is_none());
    assert_eq!(pair.status(), AuthStatus::Accepted);
    assert!(matches!(pair.phase(), Phase::Accepted(_)));
}

#[test]
fn the_kubeconfig_of_an_account_is_kept_too() {
    let mut pair = Pair::of_accounts();
    let token = pair.token();
    pair.set_token(&token);
    let ids = pair.next_request().unwrap();
    let answer = crate::legacy::pair::ask(&pair.foreign, &mut pair.at_foreign, &ids.http);
    pair.receive(&ids, &answer.response.unwrap()).unwrap();
    let request = pair.next_request().unwrap();
    let answer = crate::legacy::pair::ask(&pair.foreign, &mut pair.at_foreign, &request.http);
    let body = answer.response.unwrap().body;
    let text = core::str::from_utf8(body.expose()).unwrap();
    let without: Vec<&str> = text
        .lines()
        .filter(|line| !line.contains("certificate-authority-data"))
        .collect();
    let kept = response(201, without.join("\n").as_bytes());
    let step = pair.receive(&request, &kept).unwrap();
    assert_eq!(step.refused.len(), 1);
    assert_waits(&mut pair);
    pair.home = home(HomeClusterSettings {
        publicly_trusted: true,
        ..compatible_home()
    });
    assert!(pair.next_request().is_none());
    assert_eq!(pair.status(), AuthStatus::Accepted);
}

#[test]
fn an_answer_that_is_wrong_besides_is_thrown_away_once_that_shows() {
    let (mut pair, request, mut answer) = asked();
    answer.as_object_mut().unwrap().remove("apiServerCA");
    answer["apiServerUrl"] = "https://169.254.169.254".into();
    let refused = pair.receive(&request, &response(202, answer.to_string().as_bytes()));
    if refused.is_ok() {
        pair.home = home(HomeClusterSettings {
            publicly_trusted: true,
            ..home_settings()
        });
    }
    assert_eq!(pair.next_request(), Some(request));
    assert_eq!(pair.status(), AuthStatus::Pending);
}

/// A peer that answers so on purpose does not hold the home up for ever.
#[test]
fn another_token_has_the_peer_asked_again() {
    let (mut pair, request, mut answer) = asked();
    answer.as_object_mut().unwrap().remove("apiServerCA");
    keep(&mut pair, &request, &answer, 202);
    pair.set_token(&AuthToken::make(&Entropy::from_bytes([5; 32])));
    assert!(pair.next_request().is_some());
}

#[test]
fn an_identity_that_could_not_be_stored_is_not_asked_for() {
    let (mut pair, _, _) = asked();
    let mut cluster = pair.cluster().clone();
    cluster.spec.foreign_proxy_url = "nowhere".into();
    pair.at_home.insert(cluster.into());
    let view = pair.at_home.view(pair.foreign.cluster_id());
    let error = pair.home.reconcile(&view, &env()).unwrap_err();
    assert!(
        matches!(error.fault(), Fault::Local(LocalFault::AuthUrl(_))),
        "{error}"
    );
}

fn keep(pair: &mut Pair, request: &Request, answer: &Value, status: u16) {
    let answer = response(status, answer.to_string().as_bytes());
    let step = pair.receive(request, &answer).unwrap();
    let refused = step.refused.first().unwrap();
    assert_eq!(
        *refused.error.fault(),
        Fault::Policy(PolicyRefusal::NoCaBundle)
    );
    assert_eq!(refused.error.at().field, "apiServerCA");
    // Nothing is stored but the answer itself.
    let names: Vec<String> = step.effects.iter().map(|effect| effect.id().name).collect();
    assert_eq!(names, [format!("liqo-auth-legacy-home-{FOREIGN}")]);
    assert_waits(pair);
}

/// Nothing is sent, and the reason is told.
fn assert_waits(pair: &mut Pair) {
    assert_eq!(pair.status(), AuthStatus::Pending);
    for _ in 0..3 {
        let view = pair.at_home.view(pair.foreign.cluster_id());
        let next = pair.home.reconcile(&view, &env()).unwrap();
        assert!(next.request.is_none());
        let refused = next.step.refused.first().unwrap();
        assert_eq!(
            *refused.error.fault(),
            Fault::Policy(PolicyRefusal::NoCaBundle)
        );
        apply(&mut pair.at_home, &next.step);
    }
}
