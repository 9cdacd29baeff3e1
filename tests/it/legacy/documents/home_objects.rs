//! The statements of Liqo's documentation about the objects at the home
//! cluster.

use liqo_auth::{
    error::{Fault, LocalFault, PeerIncompatible},
    legacy::{Outcome, Phase},
    model::{AuthStatus, ObjectRef, Resource, Secret},
};

use crate::legacy::pair::{FOREIGN, HOME, Pair, ask, env, now};

#[test]
fn remote_identity_holds_the_identity_retrieved() {
    let mut pair = Pair::new();
    let token = pair.token();
    pair.set_token(&token);
    pair.run();
    let Phase::Accepted(held) = pair.phase() else {
        panic!("not accepted");
    };
    let ObjectRef {
        namespace, name, ..
    } = held.kubeconfig_secret.clone();
    assert!(name.starts_with("remote-identity-"), "{name}");
    let secret = pair.at_home.get::<Secret>(&namespace, &name).unwrap();
    assert_eq!(namespace, "liqo");
    assert!(secret.data.keys().eq(["kubeconfig"]));
    assert_eq!(
        secret
            .metadata
            .labels
            .get("discovery.liqo.io/cluster-id")
            .unwrap(),
        FOREIGN
    );
    assert_eq!(
        secret
            .metadata
            .labels
            .get("discovery.liqo.io/remote-identity")
            .unwrap(),
        ""
    );
}

#[test]
fn the_secrets_stay_after_the_foreign_cluster_is_deleted() {
    let mut pair = Pair::new();
    let token = pair.token();
    pair.set_token(&token);
    pair.run();
    let before = pair.at_home.iter().filter_map(Secret::from_object).count();
    let mut cluster = pair.cluster().clone();
    cluster.metadata.deletion_timestamp = Some(now());
    pair.at_home.insert(cluster.into());
    assert!(matches!(pair.phase(), Phase::Ending));
    assert!(pair.next_request().is_none());
    let after = pair.at_home.iter().filter_map(Secret::from_object).count();
    assert_eq!(before, after);
}

#[test]
fn a_remote_identity_that_was_deleted_is_not_retrieved_again() {
    let mut pair = Pair::new();
    let token = pair.token();
    pair.set_token(&token);
    pair.run();
    let Phase::Accepted(held) = pair.phase() else {
        panic!("not accepted");
    };
    let id = held.kubeconfig_secret.clone();
    pair.at_home.remove(&id);
    assert!(matches!(pair.phase(), Phase::IdentityLost));
    let view = pair.at_home.view(pair.foreign.cluster_id());
    let next = pair.home.reconcile(&view, &env()).unwrap();
    assert!(next.request.is_none());
    assert_eq!(
        next.step.refused[0].error.fault(),
        &Fault::Local(LocalFault::IdentityLost)
    );
    // A new request is refused by the foreign side.
    pair.set_status(AuthStatus::Pending);
    let request = pair.next_request().unwrap();
    let answer = ask(&pair.foreign, &mut pair.at_foreign, &request.http);
    assert_eq!(
        answer.outcome,
        Some(Outcome::SecondIdentity {
            peer: HOME.parse().unwrap()
        })
    );
    let step = pair.receive(&request, &answer.response.unwrap()).unwrap();
    assert_eq!(
        step.refused[0].error.fault(),
        &Fault::PeerIncompatible(PeerIncompatible::SecondIdentity)
    );
    assert_eq!(pair.status(), AuthStatus::Refused);
}
