//! The statements of Liqo's documentation about tokens.

use liqo_auth::{
    crypto::Entropy,
    error::{Fault, PolicyRefusal},
    legacy::{AuthToken, ForeignSettings, HomeClusterSettings, Outcome, TokenProtocol},
    machine::Objects,
    model::{AuthStatus, Resource, Secret, names},
};

use crate::legacy::pair::{
    FOREIGN, HOME, Pair, apply, ask, ask_undelivered, body, compatible_home, env, foreign_settings,
    home_settings, home_with, key, now, post, single_use,
};

#[test]
fn authentication_is_enabled_by_default() {
    let mut pair = Pair::new();
    pair.run();
    assert_eq!(pair.statuses, [200, 401]);
    assert_eq!(pair.status(), AuthStatus::EmptyRefused);
}

#[test]
fn the_protocol_itself_is_disabled_by_default() {
    let mut pair = Pair::of(ForeignSettings::default(), HomeClusterSettings::default());
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
        ForeignSettings {
            allow_empty_token_from_anyone: true,
            ..foreign_settings()
        },
        home_settings(),
    );
    pair.run();
    assert_eq!(pair.statuses, [200, 202]);
    assert_eq!(pair.status(), AuthStatus::Accepted);
}

#[test]
fn a_wrong_token_is_wrong_with_allow_empty_token_too() {
    let mut pair = Pair::of(
        ForeignSettings {
            allow_empty_token_from_anyone: true,
            ..foreign_settings()
        },
        home_settings(),
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
fn an_existing_token_is_kept() {
    let pair = Pair::new();
    let step = pair
        .foreign
        .token_step(pair.at_foreign.iter(), &env())
        .unwrap();
    assert!(step.is_settled());
}

#[test]
fn a_deleted_token_is_replaced_by_a_new_one() {
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
    // A Secret made by hand may have any name, because its labels define its
    // purpose.
    let mut secret = Secret::default();
    secret.metadata.name = "mine".into();
    secret.metadata.namespace = "liqo".into();
    secret.metadata.labels = [
        (names::DISCOVERY_CLUSTER_ID_LABEL, FOREIGN),
        (names::AUTH_TOKEN_LABEL, ""),
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
fn another_token_goes_into_the_secret_that_is_there() {
    let mut pair = Pair::new();
    pair.run();
    let [first, second] = [5, 6].map(|seed| AuthToken::make(&Entropy::from_bytes([seed; 32])));
    pair.set_token(&first);
    let name = format!("remote-token-{FOREIGN}");
    let secret = pair.at_home.get::<Secret>("liqo", &name).unwrap();
    let mut by_hand = secret.clone();
    by_hand.metadata.name = "mine".to_owned();
    let id = secret.id();
    pair.at_home.remove(&id);
    pair.at_home.insert(by_hand.into());
    pair.set_token(&second);
    assert!(pair.at_home.get::<Secret>("liqo", &name).is_none());
    let secret = pair.at_home.get::<Secret>("liqo", "mine").unwrap();
    assert_eq!(secret.get("token"), Some(second.expose().as_bytes()));
}

#[test]
fn another_token_leaves_an_identity_as_it_is() {
    let mut pair = Pair::new();
    let token = pair.token();
    pair.set_token(&token);
    pair.run();
    pair.set_token(&AuthToken::make(&Entropy::from_bytes([5; 32])));
    assert_eq!(pair.status(), AuthStatus::Accepted);
}

/// As in Liqo, which does not know another token.
#[test]
fn with_the_compatible_policy_the_own_token_is_the_origin_token() {
    let mut pair = Pair::of(foreign_settings(), compatible_home());
    let token = pair.token();
    pair.set_token(&token);
    pair.run();
    assert_eq!(pair.status(), AuthStatus::Accepted);
    let secrets = pair.at_home.iter().filter_map(Secret::from_object);
    let mut names = secrets.map(|secret| &secret.metadata.name);
    assert!(!names.any(|name| name.starts_with("liqo-auth-origin-token-")));
}

/// The signatures of an ECDSA key differ each time, and the peer compares requests.
#[cfg(feature = "ecdsa")]
#[test]
fn the_request_stays_when_the_origin_token_is_made_anew() {
    use liqo_auth::crypto::{Algorithm, KeyPair, OneKey};

    let key = KeyPair::generate(Algorithm::EcdsaP256, &mut getrandom::SysRng).unwrap();
    let keys = std::sync::Arc::new(OneKey(std::sync::Arc::new(key)));
    let mut pair = Pair::new();
    pair.home = home_with(keys, home_settings());
    pair.run();
    let csr = |pair: &Pair| {
        let name = format!("liqo-auth-legacy-home-{FOREIGN}");
        let record = pair.at_home.get::<Secret>("liqo", &name).unwrap();
        record.get("csr").unwrap().to_vec()
    };
    let before = csr(&pair);
    let name = format!("liqo-auth-origin-token-{FOREIGN}");
    let origin = pair.at_home.get::<Secret>("liqo", &name).unwrap().id();
    pair.at_home.remove(&origin);
    let token = pair.token();
    pair.set_token(&token);
    pair.run();
    assert_eq!(pair.status(), AuthStatus::Accepted);
    assert!(pair.at_home.get::<Secret>("liqo", &name).is_some());
    assert_eq!(csr(&pair), before);
}

#[test]
fn the_cluster_id_is_that_of_the_foreign_cluster() {
    let mut pair = Pair::new();
    pair.run();
    assert_eq!(pair.cluster().spec.cluster_identity.cluster_id, FOREIGN);
    let label = pair
        .cluster()
        .metadata
        .labels
        .get(names::DISCOVERY_CLUSTER_ID_LABEL)
        .unwrap();
    assert_eq!(label, FOREIGN);
}

#[test]
fn a_token_that_has_expired_is_wrong_and_a_new_one_is_made() {
    let lifetime = core::time::Duration::from_secs(60);
    let mut pair = Pair::of(
        ForeignSettings {
            token_lifetime: Some(lifetime),
            ..foreign_settings()
        },
        home_settings(),
    );
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
fn a_single_use_token_is_replaced_after_its_use() {
    let mut pair = Pair::of(single_use(), home_settings());
    let token = pair.token();
    pair.set_token(&token);
    let request = pair.next_request().unwrap();
    let response = ask(&pair.foreign, &mut pair.at_foreign, &request.http).response;
    pair.receive(&request, &response.unwrap()).unwrap();
    let request = pair.next_request().unwrap();
    // The answer is lost several times. The same home asks again.
    for effects in [1, 2, usize::MAX] {
        ask_undelivered(&pair.foreign, &mut pair.at_foreign, &request.http, effects);
    }
    pair.run();
    assert_eq!(pair.status(), AuthStatus::Accepted);
    // Both tokens come from the same entropy here, so only the seal differs.
    let secret = pair.at_foreign.get::<Secret>("liqo", "auth-token").unwrap();
    assert_eq!(secret.get("spentBy"), Some(HOME.as_bytes()));
}

#[test]
fn of_two_simultaneous_homes_a_single_use_token_admits_one() {
    let mut pair = Pair::of(single_use(), home_settings());
    let token = pair.token();
    let requests = [("a", 1), ("b", 2)].map(|(id, number)| {
        let request = post(&body(id, &key(number), token.expose()));
        match pair.foreign.read(&request) {
            liqo_auth::legacy::Reading::Identity(request) => request,
            _ => panic!("unreadable"),
        }
    });
    // Both requests are handled before either writes.
    let [one, other] = requests.each_ref().map(|request| {
        let view = pair.at_foreign.view(&request.peer);
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
fn the_origin_token_is_valid_for_its_peer_only() {
    let mut pair = Pair::new();
    let token = pair.token();
    pair.set_token(&token);
    pair.run();
    let name = format!("remote-token-{HOME}");
    let given = pair.at_foreign.get::<Secret>("liqo", &name).unwrap();
    let given = core::str::from_utf8(given.get("token").unwrap()).unwrap();
    // The home's own server. It shares the home's objects and record key.
    let server_of = |id: &str| {
        liqo_auth::legacy::Foreign::new(
            id.parse().unwrap(),
            liqo_auth::provider::Endpoint::new("https://10.0.0.1".parse().unwrap(), None),
            liqo_auth::crypto::RecordKey::new([2; 32]).unwrap(),
            ForeignSettings {
                protocol: TokenProtocol::TrustWhoeverHoldsTheToken,
                principals: std::sync::Arc::new(liqo_auth::provider::NameTable::default()),
                ..ForeignSettings::default()
            },
        )
    };
    let is_let_in_by =
        |server: liqo_auth::legacy::Foreign, at_home: &Objects, peer: &str, token: &str| {
            let request = post(&body(peer, &key(4), token));
            let liqo_auth::legacy::Reading::Identity(request) = server.read(&request) else {
                panic!("unreadable");
            };
            let view = at_home.view(&request.peer);
            let answer = server.handle(&view, &request, env()).unwrap();
            !matches!(answer.outcome, Some(Outcome::WrongToken { .. }))
        };
    let is_let_in = |at_home: &Objects, peer: &str, token: &str| {
        is_let_in_by(server_of(HOME), at_home, peer, token)
    };
    assert!(is_let_in(&pair.at_home, FOREIGN, given));
    assert!(!is_let_in(&pair.at_home, "cl-other", given));
    let other = AuthToken::make(&Entropy::from_bytes([5; 32]));
    assert!(!is_let_in(&pair.at_home, FOREIGN, other.expose()));

    // The seal is that of this cluster, and of the Secret for this peer.
    let name = format!("liqo-auth-origin-token-{FOREIGN}");
    let mut planted = pair.at_home.get::<Secret>("liqo", &name).unwrap().clone();
    let another = server_of("cl-another-home");
    assert!(!is_let_in_by(another, &pair.at_home, FOREIGN, given));
    let mut renamed = planted.clone();
    renamed.metadata.name = "liqo-auth-origin-token-cl-other".to_owned();
    let peer = names::RECORD_PEER_LABEL.to_owned();
    renamed.metadata.labels.insert(peer, "cl-other".to_owned());
    pair.at_home.insert(renamed.into());
    assert!(!is_let_in(&pair.at_home, "cl-other", given));

    // Somebody else has written the Secret: it has no seal.
    planted.data.remove("seal").unwrap();
    pair.at_home.insert(planted.into());
    assert!(!is_let_in(&pair.at_home, FOREIGN, given));
}
