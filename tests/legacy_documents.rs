//! Each statement of Liqo's documents on tokens, `authStatus`, objects and
//! unique identities, held against both sides.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]
#![cfg(all(feature = "legacy", feature = "yaml"))]

mod legacy_pair;

use legacy_pair::*;
use liqo_auth::{
    crypto::Entropy,
    error::{Disposition, Fault, LocalFault, PeerIncompatible, PolicyRefusal},
    legacy::{AuthToken, Outcome, Phase, TokenProtocol},
    model::{
        AuthStatus, ClusterRole, ClusterRoleBinding, ForeignCluster, Object, ObjectRef, PolicyRule,
        ProtocolVersion, RbacSubject, Resource, Role, RoleBinding, RoleRef, Secret, ServiceAccount,
        ServiceAccountKubeconfig, names,
    },
    policy::Policy,
};

const REMOTE: &str = "remote-cl-home";

mod tokens {
    use super::*;

    #[test]
    fn authentication_is_enabled_by_default() {
        let mut pair = Pair::new();
        pair.run();
        assert_eq!(pair.statuses, [200, 401]);
        assert_eq!(pair.status(), AuthStatus::EmptyRefused);
    }

    #[test]
    fn the_protocol_itself_is_disabled_by_default() {
        let foreign = foreign_builder().enable_token_protocol(TokenProtocol::Off);
        let home = home_builder().enable_token_protocol(TokenProtocol::default());
        let mut pair = Pair::of(foreign, home);
        for path in ["/ids", "/identity", "/identity/certificate"] {
            let request = liqo_auth::legacy::HttpRequest::new("GET", path, Vec::new());
            let answer = ask(&pair.foreign, &mut pair.at_foreign, &request);
            assert_eq!(answer.response.unwrap().status, 404);
        }
        let error = pair.home.discover(pair.cluster()).unwrap_err();
        assert_eq!(
            error.fault(),
            &Fault::Policy(PolicyRefusal::TokenProtocolOff)
        );
    }

    #[test]
    fn with_allow_empty_token_any_cluster_is_accepted() {
        let mut pair = Pair::of(
            foreign_builder().allow_empty_token_from_anyone(),
            home_builder(),
        );
        pair.run();
        assert_eq!(pair.statuses, [200, 202]);
        assert_eq!(pair.status(), AuthStatus::Accepted);
    }

    #[test]
    fn a_wrong_token_is_wrong_with_allow_empty_token_too() {
        let mut pair = Pair::of(
            foreign_builder().allow_empty_token_from_anyone(),
            home_builder(),
        );
        pair.set_token(&AuthToken::make(&Entropy::from_bytes([5; 32])));
        pair.run();
        assert_eq!(pair.status(), AuthStatus::Refused);
    }

    #[test]
    fn the_token_is_in_the_secret_auth_token_as_128_hexadecimal_digits() {
        let pair = Pair::new();
        let secret = pair.at_foreign.get::<Secret>("liqo", "auth-token").unwrap();
        let token = core::str::from_utf8(secret.get("token").unwrap()).unwrap();
        assert_eq!(token.len(), 128);
        assert!(
            token
                .bytes()
                .all(|byte| b"0123456789abcdef".contains(&byte))
        );
        assert_eq!(pair.token().expose(), token);
    }

    #[test]
    fn the_token_stays_when_there_is_one() {
        let pair = Pair::new();
        let step = pair
            .foreign
            .token_step(pair.at_foreign.iter(), &env())
            .unwrap();
        assert!(step.is_settled());
    }

    #[test]
    fn a_deleted_token_is_made_anew() {
        let mut pair = Pair::new();
        let id = pair
            .at_foreign
            .get::<Secret>("liqo", "auth-token")
            .unwrap()
            .id();
        pair.at_foreign.remove(&id);
        let objects = pair.at_foreign.iter();
        let step = pair.foreign.token_step(objects, &env()).unwrap();
        apply(&mut pair.at_foreign, &step);
        assert_eq!(pair.token().expose().len(), 128);
    }

    #[test]
    fn if_the_tokens_match_the_peering_cluster_is_authenticated() {
        let mut pair = Pair::new();
        let token = pair.token();
        pair.set_token(&token);
        pair.run();
        assert_eq!(pair.statuses, [200, 202]);
        assert_eq!(pair.status(), AuthStatus::Accepted);
    }

    #[test]
    fn the_secret_with_the_remote_token_has_its_name_and_labels() {
        let mut pair = Pair::new();
        pair.run();
        pair.set_token(&AuthToken::make(&Entropy::from_bytes([5; 32])));
        let name = format!("remote-token-{FOREIGN}");
        let secret = pair.at_home.get::<Secret>("liqo", &name).unwrap();
        let labels: Vec<(&str, &str)> = secret
            .metadata
            .labels
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()))
            .collect();
        assert_eq!(
            labels,
            [
                ("discovery.liqo.io/auth-token", ""),
                ("discovery.liqo.io/cluster-id", FOREIGN)
            ]
        );
    }

    #[test]
    fn the_creation_of_the_secret_triggers_the_procedure() {
        let mut pair = Pair::new();
        pair.run();
        assert!(pair.next_request().is_none());
        // By hand, with any name, as the labels say what it is for.
        let mut secret = Secret::default();
        secret.metadata.name = "mine".into();
        secret.metadata.namespace = "liqo".into();
        secret.metadata.labels = [
            (names::DISCOVERY_CLUSTER_ID_LABEL.into(), FOREIGN.into()),
            (names::AUTH_TOKEN_LABEL.into(), String::new()),
        ]
        .into();
        let token = pair.token();
        let value = token.expose().as_bytes().into();
        secret.data.insert("token".into(), value);
        pair.at_home.insert(secret.into());
        pair.run();
        assert_eq!(pair.status(), AuthStatus::Accepted);
    }

    #[test]
    fn the_cluster_id_is_that_of_the_foreign_cluster() {
        let mut pair = Pair::new();
        pair.run();
        assert_eq!(pair.cluster().spec.cluster_identity.cluster_id, FOREIGN);
        let label = &pair.cluster().metadata.labels[names::DISCOVERY_CLUSTER_ID_LABEL];
        assert_eq!(label, FOREIGN);
    }

    #[test]
    fn a_token_that_has_expired_is_wrong_and_a_new_one_is_made() {
        let lifetime = core::time::Duration::from_secs(60);
        let mut pair = Pair::of(foreign_builder().token_lifetime(lifetime), home_builder());
        let later = now() + lifetime;
        let token = pair.foreign.token(pair.at_foreign.iter(), later).unwrap();
        assert_eq!(token, None);
        let mut env = env();
        env.now = later;
        env.entropy = Entropy::from_bytes([8; 32]);
        let old = pair.token();
        let objects = pair.at_foreign.iter();
        let step = pair.foreign.token_step(objects, &env).unwrap();
        apply(&mut pair.at_foreign, &step);
        assert_ne!(pair.token(), old);
        pair.set_token(&old);
        pair.run();
        assert_eq!(pair.status(), AuthStatus::Refused);
    }

    #[test]
    fn a_token_that_serves_once_is_replaced() {
        let mut pair = Pair::of(foreign_builder().single_use_token(), home_builder());
        let token = pair.token();
        pair.set_token(&token);
        let request = pair.next_request().unwrap();
        let response = ask(&pair.foreign, &mut pair.at_foreign, &request.http).response;
        pair.receive(&request, &response.unwrap()).unwrap();
        let request = pair.next_request().unwrap();
        // The answer is lost more than once; the same home comes again.
        for effects in [1, 2, usize::MAX] {
            ask_undelivered(&pair.foreign, &mut pair.at_foreign, &request.http, effects);
        }
        pair.run();
        assert_eq!(pair.status(), AuthStatus::Accepted);
        // Drawn from the same entropy here, so that only the seal differs.
        let secret = pair.at_foreign.get::<Secret>("liqo", "auth-token").unwrap();
        assert_eq!(secret.get("spentBy"), Some(HOME.as_bytes()));
    }

    #[test]
    fn of_two_homes_at_once_a_token_that_serves_once_serves_one() {
        let mut pair = Pair::of(foreign_builder().single_use_token(), home_builder());
        let token = pair.token();
        let requests = [("a", 1), ("b", 2)].map(|(id, number)| {
            let request = post(&body(id, &key(number), token.expose()));
            match pair.foreign.read(&request) {
                liqo_auth::legacy::Reading::Identity(request) => request,
                _ => panic!("unreadable"),
            }
        });
        // Both look before either writes.
        let [one, other] = requests.each_ref().map(|request| {
            let view = pair.at_foreign.view(request.peer());
            let mut env = env();
            env.entropy = Entropy::from_bytes([8; 32]);
            pair.foreign.handle(&view, request, env).unwrap()
        });
        apply(&mut pair.at_foreign, &one.step);
        assert!(pair.at_foreign.apply(&other.step.effects[0]).is_err());
        let statuses = [("a", 1), ("b", 2)].map(|(id, number)| {
            let request = post(&body(id, &key(number), token.expose()));
            ask(&pair.foreign, &mut pair.at_foreign, &request)
                .response
                .unwrap()
                .status
        });
        assert_eq!(statuses, [202, 401]);
    }

    #[test]
    fn the_origin_token_is_good_for_its_peer_only() {
        let mut pair = Pair::new();
        let token = pair.token();
        pair.set_token(&token);
        pair.run();
        let name = format!("remote-token-{HOME}");
        let given = pair.at_foreign.get::<Secret>("liqo", &name).unwrap();
        let given = core::str::from_utf8(given.get("token").unwrap()).unwrap();
        // The home's own server, which shares its objects and record key.
        let server = liqo_auth::legacy::Foreign::builder(
            HOME.parse().unwrap(),
            liqo_auth::provider::Endpoint::new("https://10.0.0.1".parse().unwrap(), None),
            liqo_auth::crypto::RecordKey::new([2; 32]).unwrap(),
        )
        .enable_token_protocol(TokenProtocol::TrustWhoeverHoldsTheToken)
        .build();
        for (peer, is_let_in) in [(FOREIGN, true), ("cl-other", false)] {
            let request = post(&body(peer, &key(4), given));
            let liqo_auth::legacy::Reading::Identity(request) = server.read(&request) else {
                panic!("unreadable");
            };
            let view = pair.at_home.view(request.peer());
            let answer = server.handle(&view, &request, env()).unwrap();
            let is_wrong = matches!(answer.outcome, Some(Outcome::WrongToken { .. }));
            assert_eq!(is_wrong, !is_let_in, "{peer}");
        }
    }
}

mod auth_status {
    use super::*;

    #[test]
    fn pending_the_request_has_not_been_sent() {
        let mut pair = Pair::new();
        assert_eq!(pair.status(), AuthStatus::Pending);
        assert!(pair.next_request().is_some());
    }

    #[test]
    fn pending_there_is_still_no_answer() {
        let mut pair = Pair::new();
        let request = pair.next_request().unwrap();
        let response = ask(&pair.foreign, &mut pair.at_foreign, &request.http).response;
        pair.receive(&request, &response.unwrap()).unwrap();
        let first = pair.next_request().unwrap();
        for status in [500, 503, 502, 429] {
            let mut response = liqo_auth::legacy::HttpResponse::unavailable();
            response.status = status;
            let error = pair.receive(&first, &response).unwrap_err();
            assert_eq!(
                error.fault(),
                &Fault::PeerIncompatible(PeerIncompatible::Status { found: status })
            );
            assert_eq!(error.disposition(), Disposition::Retry);
            assert_eq!(pair.status(), AuthStatus::Pending);
        }
        // The same request again, to the byte.
        assert_eq!(pair.next_request().unwrap(), first);
    }

    #[test]
    fn empty_refused_an_empty_token_was_sent_and_refused() {
        let mut pair = Pair::new();
        pair.run();
        assert_eq!(pair.status(), AuthStatus::EmptyRefused);
        assert!(matches!(pair.phase(), Phase::AwaitsToken));
        assert!(pair.next_request().is_none());
    }

    #[test]
    fn accepted_there_is_an_identity_in_a_local_secret() {
        let mut pair = Pair::new();
        let token = pair.token();
        pair.set_token(&token);
        pair.run();
        let Phase::Accepted(held) = pair.phase() else {
            panic!("not accepted");
        };
        assert!(!held.kubeconfig().is_empty());
        assert!(pair.next_request().is_none());
    }

    #[test]
    fn refused_no_other_retries_will_be_done() {
        let mut pair = Pair::new();
        pair.set_token(&AuthToken::make(&Entropy::from_bytes([5; 32])));
        pair.run();
        assert_eq!(pair.statuses, [200, 401]);
        assert_eq!(pair.status(), AuthStatus::Refused);
        assert!(matches!(pair.phase(), Phase::Refused));
        assert!(pair.next_request().is_none());
    }

    #[test]
    fn refused_another_token_alone_does_not_restart_the_process() {
        let mut pair = Pair::new();
        pair.set_token(&AuthToken::make(&Entropy::from_bytes([5; 32])));
        pair.run();
        let token = pair.token();
        pair.set_token(&token);
        pair.set_status(AuthStatus::Refused);
        assert!(pair.next_request().is_none());
    }

    #[test]
    fn refused_another_token_and_pending_restart_the_process() {
        let mut pair = Pair::new();
        pair.set_token(&AuthToken::make(&Entropy::from_bytes([5; 32])));
        pair.run();
        let token = pair.token();
        pair.set_token(&token);
        pair.set_status(AuthStatus::Pending);
        pair.run();
        assert_eq!(pair.statuses, [200, 401, 202]);
        assert_eq!(pair.status(), AuthStatus::Accepted);
    }

    #[test]
    fn the_status_outlives_an_api_server_that_drops_it() {
        let mut pair = Pair::new();
        pair.set_token(&AuthToken::make(&Entropy::from_bytes([5; 32])));
        pair.run();
        // 0.3 to 0.10 have conditions, and no authStatus.
        let mut cluster = pair.cluster().clone();
        cluster.status.auth_status = None;
        pair.at_home.insert(cluster.into());
        assert!(matches!(pair.phase(), Phase::Refused));
    }
}

mod home_objects {
    use super::*;

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
        } = held.kubeconfig_secret().clone();
        assert!(name.starts_with("remote-identity-"), "{name}");
        let secret = pair.at_home.get::<Secret>(&namespace, &name).unwrap();
        assert_eq!(namespace, "liqo");
        assert!(secret.data.keys().eq(["kubeconfig"]));
        assert_eq!(
            secret.metadata.labels["discovery.liqo.io/cluster-id"],
            FOREIGN
        );
        assert_eq!(
            secret.metadata.labels["discovery.liqo.io/remote-identity"],
            ""
        );
    }

    #[test]
    fn the_secrets_stay_after_the_foreign_cluster_is_deleted() {
        let mut pair = Pair::new();
        let token = pair.token();
        pair.set_token(&token);
        pair.run();
        let before = pair.at_home.iter().filter_map(Object::as_secret).count();
        let mut cluster = pair.cluster().clone();
        cluster.metadata.deletion_timestamp = Some(now());
        pair.at_home.insert(cluster.into());
        assert!(matches!(pair.phase(), Phase::Ending));
        assert!(pair.next_request().is_none());
        let after = pair.at_home.iter().filter_map(Object::as_secret).count();
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
        let id = held.kubeconfig_secret().clone();
        pair.at_home.remove(&id);
        assert!(matches!(pair.phase(), Phase::IdentityLost));
        let view = pair.at_home.view(pair.foreign.cluster_id());
        let next = pair.home.reconcile(&view, &env()).unwrap();
        assert!(next.request.is_none());
        assert_eq!(
            next.step.refused[0].error.fault(),
            &Fault::Local(LocalFault::IdentityLost)
        );
        // And who asks nevertheless is refused by the other side.
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
}

mod foreign_objects {
    use super::*;

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
        assert_eq!(labels["discovery.liqo.io/liqo-managed"], "true");
        assert_eq!(labels["discovery.liqo.io/cluster-id"], HOME);
        assert_eq!(labels.len(), 2);
    }

    #[test]
    fn the_service_account_is_assigned_to_the_home_cluster() {
        let pair = accepted();
        let account = pair
            .at_foreign
            .get::<ServiceAccount>("liqo", REMOTE)
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
        let role = pair.at_foreign.get::<Role>("liqo", REMOTE).unwrap();
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
            .get::<ServiceAccount>("liqo", REMOTE)
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
        let subjects = [RbacSubject::service_account("liqo", REMOTE)];
        let binding = pair.at_foreign.get::<RoleBinding>("liqo", REMOTE).unwrap();
        are_liqos_labels(binding);
        assert_eq!(binding.subjects, subjects);
        assert_eq!(binding.role_ref, RoleRef::role(REMOTE));
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
        let text = core::str::from_utf8(held.kubeconfig()).unwrap();
        let kubeconfig = ServiceAccountKubeconfig::parse(text).unwrap();
        assert_eq!(kubeconfig.user, REMOTE);
        assert_eq!(kubeconfig.server, "https://172.19.0.3:6443");
        assert_eq!(kubeconfig.token.expose(), "token-of-remote-cl-home-token");
    }

    #[test]
    fn a_deleted_service_account_takes_the_cluster_wide_rights_along() {
        let mut pair = accepted();
        delete_account(&mut pair);
        assert!(
            pair.at_foreign
                .get::<ServiceAccount>("liqo", REMOTE)
                .is_none()
        );
        assert!(pair.at_foreign.get::<ClusterRole>("", REMOTE).is_none());
        assert!(
            pair.at_foreign
                .get::<ClusterRoleBinding>("", REMOTE)
                .is_none()
        );
        assert!(pair.at_foreign.get::<RoleBinding>("liqo", REMOTE).is_none());
        assert!(pair.at_foreign.get::<Role>("liqo", REMOTE).is_none());
    }

    #[test]
    fn after_its_deletion_a_new_service_account_is_created_and_shared() {
        let mut pair = accepted();
        let old = pair
            .at_foreign
            .get::<ServiceAccount>("liqo", REMOTE)
            .unwrap();
        let old = old.metadata.uid.clone();
        delete_account(&mut pair);
        let Phase::Accepted(held) = pair.phase() else {
            panic!("not accepted");
        };
        let id = held.kubeconfig_secret().clone();
        pair.at_home.remove(&id);
        pair.set_status(AuthStatus::Pending);
        pair.run();
        assert_eq!(pair.statuses, [200, 201, 201]);
        assert_eq!(pair.status(), AuthStatus::Accepted);
        let account = pair
            .at_foreign
            .get::<ServiceAccount>("liqo", REMOTE)
            .unwrap();
        assert_ne!(account.metadata.uid, old);
    }

    #[test]
    fn everything_goes_with_the_foreign_cluster() {
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

    /// How many objects the foreign side keeps of the home.
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
            .get::<ServiceAccount>("liqo", REMOTE)
            .unwrap()
            .clone();
        account.metadata.deletion_timestamp = Some(now());
        pair.at_foreign.insert(account.into());
        pair.collect_garbage();
    }
}

mod unique_identities {
    use super::*;

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
    fn each_home_cluster_has_its_own() {
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
    fn it_is_issued_again_after_its_release() {
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

    /// As Liqo does, whose state that Secret is; a peer may delete it, which
    /// the strict policy allows for.
    #[test]
    fn it_is_issued_again_after_the_certificates_deletion_in_the_compatible_policy_only() {
        for (policy, expected) in [(Policy::compatible(), 202), (Policy::strict(), 403)] {
            let mut pair = Pair::of(foreign_builder().policy(policy), home_builder());
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
    fn what_was_not_delivered_is_given_again_wherever_the_server_died() {
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
    fn the_same_certificate_is_given_again() {
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
        // Another key gets nothing of it.
        let other = post(&body(HOME, &key(2), token.expose()));
        let other = ask_undelivered(&pair.foreign, &mut pair.at_foreign, &other, usize::MAX);
        assert_eq!(other.unwrap().response.unwrap().status, 403);
    }
}

mod versions {
    use super::*;

    #[test]
    fn a_foreign_cluster_of_0_2_is_known_by_its_guest_namespace() {
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
    fn each_version_is_asked_in_its_form() {
        for (version, fields) in [
            (ProtocolVersion::V0_3, &["clusterID"][..]),
            (ProtocolVersion::V0_4, &["cluster"]),
        ] {
            let home = home_builder().peer_version(FOREIGN.parse().unwrap(), version);
            let mut pair = Pair::of(foreign_builder(), home);
            let token = pair.token();
            pair.set_token(&token);
            let request = pair.next_request().unwrap();
            let response = ask(&pair.foreign, &mut pair.at_foreign, &request.http).response;
            pair.receive(&request, &response.unwrap()).unwrap();
            let request = pair.next_request().unwrap();
            let body: serde_json::Value =
                serde_json::from_slice(request.http.body.expose()).unwrap();
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
    fn the_form_of_0_2_is_not_spoken_in_the_strict_policy() {
        let foreign = foreign_builder()
            .policy(Policy::compatible())
            .hand_out_service_accounts("liqo".parse().unwrap());
        let mut pair = Pair::of(foreign, home_builder());
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
    fn without_a_path_for_certificates_the_peer_is_taken_for_0_2() {
        let mut pair = Pair::of(
            foreign_builder(),
            home_builder().policy(Policy::compatible()),
        );
        let request = pair.next_request().unwrap();
        let response = ask(&pair.foreign, &mut pair.at_foreign, &request.http).response;
        pair.receive(&request, &response.unwrap()).unwrap();
        let request = pair.next_request().unwrap();
        let mut response = liqo_auth::legacy::HttpResponse::unavailable();
        response.status = 404;
        pair.receive(&request, &response).unwrap();
        assert_eq!(pair.next_request().unwrap().http.path, "/identity");
    }
}
