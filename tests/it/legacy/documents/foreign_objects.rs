//! The statements of Liqo's documentation about the objects at the foreign
//! cluster.

use liqo_auth::{
    legacy::Phase,
    model::{
        AuthStatus, ClusterRole, ClusterRoleBinding, ForeignCluster, Kubeconfig, Object, ObjectRef,
        PolicyRule, RbacSubject, Resource, Role, RoleBinding, RoleRef, ServiceAccount,
        UserCredential, names,
    },
};

use super::REMOTE;
use crate::{
    clusters::bindings::role,
    legacy::pair::{HOME, Pair, now},
};

fn accepted() -> Pair {
    let mut pair = Pair::of_accounts();
    let token = pair.token();
    pair.set_token(&token);
    pair.run();
    assert_eq!(pair.statuses, [200, 201]);
    assert_eq!(pair.status(), AuthStatus::Accepted);
    pair
}

fn are_liqos_labels(object: &impl Resource) {
    let labels = &object.metadata().labels;
    assert_eq!(
        labels.get("discovery.liqo.io/liqo-managed").unwrap(),
        "true"
    );
    assert_eq!(labels.get("discovery.liqo.io/cluster-id").unwrap(), HOME);
    assert_eq!(labels.len(), 2);
}

#[test]
fn the_service_account_is_assigned_to_the_home_cluster() {
    let pair = accepted();
    let account = pair
        .at_foreign
        .get::<ServiceAccount>("guests", REMOTE)
        .unwrap();
    are_liqos_labels(account);
    assert_eq!(
        account.metadata.finalizers,
        ["discovery.liqo.io/garbage-collection"]
    );
}

#[test]
fn the_role_allows_secrets_of_the_cluster_ids_name() {
    let pair = accepted();
    let role = pair.at_foreign.get::<Role>("guests", REMOTE).unwrap();
    are_liqos_labels(role);
    let text = serde_json::json!([
        { "apiGroups": [""], "resources": ["secrets"], "verbs": ["create"] },
        { "apiGroups": [""], "resources": ["secrets"], "resourceNames": [HOME],
          "verbs": ["get", "delete"] },
    ]);
    let rules: Vec<PolicyRule> = serde_json::from_value(text).unwrap();
    assert_eq!(role.rules, rules);
    let account = pair
        .at_foreign
        .get::<ServiceAccount>("guests", REMOTE)
        .unwrap();
    let owner = &role.metadata.owner_references[0];
    assert_eq!(
        (owner.kind.as_str(), &owner.uid),
        ("ServiceAccount", &account.metadata.uid)
    );
}

#[test]
fn the_cluster_role_allows_peering_requests_of_the_cluster_ids_name() {
    let pair = accepted();
    let role = pair.at_foreign.get::<ClusterRole>("", REMOTE).unwrap();
    are_liqos_labels(role);
    let text = serde_json::json!([
        { "apiGroups": ["discovery.liqo.io"], "resources": ["peeringrequests"],
          "verbs": ["create"] },
        { "apiGroups": ["discovery.liqo.io"], "resources": ["peeringrequests"],
          "resourceNames": [HOME], "verbs": ["get", "delete", "update"] },
    ]);
    let rules: Vec<PolicyRule> = serde_json::from_value(text).unwrap();
    assert_eq!(role.rules, rules);
}

#[test]
fn the_bindings_link_the_roles_and_the_service_account() {
    let pair = accepted();
    let subjects = [RbacSubject::service_account("guests", REMOTE)];
    let binding = pair
        .at_foreign
        .get::<RoleBinding>("guests", REMOTE)
        .unwrap();
    are_liqos_labels(binding);
    assert_eq!(binding.subjects, subjects);
    assert_eq!(binding.role_ref, role(REMOTE));
    let binding = pair
        .at_foreign
        .get::<ClusterRoleBinding>("", REMOTE)
        .unwrap();
    are_liqos_labels(binding);
    assert_eq!(binding.subjects, subjects);
    assert_eq!(binding.role_ref, RoleRef::cluster_role(REMOTE));
}

#[test]
fn the_kubeconfig_is_that_of_the_service_account() {
    let pair = accepted();
    let Phase::Accepted(held) = pair.phase() else {
        panic!("not accepted");
    };
    let text = core::str::from_utf8(held.kubeconfig.expose()).unwrap();
    let kubeconfig = Kubeconfig::parse(text).unwrap();
    assert_eq!(kubeconfig.user, REMOTE);
    assert_eq!(kubeconfig.server, "https://172.19.0.3:6443");
    assert_eq!(
        kubeconfig.credential,
        UserCredential::Token("token-of-remote-cl-home-token".into())
    );
}

#[test]
fn the_cluster_wide_rights_are_deleted_with_the_service_account() {
    let mut pair = accepted();
    delete_account(&mut pair);
    assert!(
        pair.at_foreign
            .get::<ServiceAccount>("guests", REMOTE)
            .is_none()
    );
    assert!(pair.at_foreign.get::<ClusterRole>("", REMOTE).is_none());
    assert!(
        pair.at_foreign
            .get::<ClusterRoleBinding>("", REMOTE)
            .is_none()
    );
    assert!(
        pair.at_foreign
            .get::<RoleBinding>("guests", REMOTE)
            .is_none()
    );
    assert!(pair.at_foreign.get::<Role>("guests", REMOTE).is_none());
}

#[test]
fn after_its_deletion_a_new_service_account_is_created_and_shared() {
    let mut pair = accepted();
    let old = pair
        .at_foreign
        .get::<ServiceAccount>("guests", REMOTE)
        .unwrap();
    let old = old.metadata.uid.clone();
    delete_account(&mut pair);
    let Phase::Accepted(held) = pair.phase() else {
        panic!("not accepted");
    };
    let id = held.kubeconfig_secret.clone();
    pair.at_home.remove(&id);
    pair.set_status(AuthStatus::Pending);
    pair.run();
    assert_eq!(pair.statuses, [200, 201, 201]);
    assert_eq!(pair.status(), AuthStatus::Accepted);
    let account = pair
        .at_foreign
        .get::<ServiceAccount>("guests", REMOTE)
        .unwrap();
    assert_ne!(account.metadata.uid, old);
}

#[test]
fn all_objects_are_deleted_with_the_foreign_cluster() {
    for accounts in [true, false] {
        let mut pair = match accounts {
            true => Pair::of_accounts(),
            false => Pair::new(),
        };
        let mut cluster = ForeignCluster::default();
        cluster.metadata.name = HOME.into();
        cluster.spec.cluster_identity.cluster_id = HOME.into();
        pair.at_foreign.insert(cluster.into());
        let token = pair.token();
        pair.set_token(&token);
        pair.run();
        assert_eq!(pair.status(), AuthStatus::Accepted);
        pair.collect_garbage();
        assert_eq!(rights(&pair), if accounts { 7 } else { 2 });
        let id = pair
            .at_foreign
            .get::<ForeignCluster>("", HOME)
            .unwrap()
            .id();
        pair.at_foreign.remove(&id);
        pair.collect_garbage();
        assert_eq!(rights(&pair), 0, "accounts: {accounts}");
    }
}

/// The number of the home's objects at the foreign side.
fn rights(pair: &Pair) -> usize {
    let kept = |id: &ObjectRef| {
        id.name.starts_with(REMOTE)
            || id.name == names::ISSUED_CERTIFICATE_SECRET
            || id.name.starts_with("liqo-auth-legacy-")
    };
    pair.at_foreign.iter().map(Object::id).filter(kept).count()
}

fn delete_account(pair: &mut Pair) {
    let mut account = pair
        .at_foreign
        .get::<ServiceAccount>("guests", REMOTE)
        .unwrap()
        .clone();
    account.metadata.deletion_timestamp = Some(now());
    pair.at_foreign.insert(account.into());
    pair.collect_garbage();
}
