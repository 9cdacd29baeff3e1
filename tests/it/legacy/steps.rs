//! The steps of the token protocol: their effects, and the objects that they
//! leave.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use liqo_auth::{
    crypto::{
        Answer, AuthToken, Authority, BoxError, CertificateChain, Entropy, KeyStore, SigningKey,
    },
    legacy::{Asks, Foreign, ForeignSettings, HttpRequest, Reading, Reply, TokenStore},
    machine::{Awaited, Effect, Objects, Step},
    model::{ClusterId, Kind, Resource, Secret},
    provider::{AuthoritySigner, CsrSigner, NameRequest, Principals, SigningRequest},
};

use crate::legacy::pair::{
    FOREIGN, HOME, Pair, apply, ask, body, env, foreign, foreign_settings, home_settings,
    home_with, key, now, post, single_use,
};

/// A seal covers the cluster, and the name and all values of a Secret.
#[test]
fn the_seals_of_stored_secrets_do_not_change() {
    let [certificates, accounts] = [Pair::new(), Pair::of_accounts()].map(accepted);
    let foreign_record = format!("liqo-auth-legacy-foreign-{HOME}");
    for (objects, name, seal) in [
        (
            &certificates.at_foreign,
            "auth-token".to_owned(),
            "c0fee986673d9cfef866ecaf76f8684fb8e76306d035153fc88b38a624b3469e",
        ),
        (
            &certificates.at_foreign,
            foreign_record.clone(),
            "7810180c47dca532c950388f8cbcbfda168220e83deb77ce4890d30f70f9c32a",
        ),
        (
            &certificates.at_home,
            format!("liqo-auth-legacy-home-{FOREIGN}"),
            "a0886fd5bdee6f9d60661d5ae6f0abf51a71874f4dfc4e8feb8405d8a4d1a6ca",
        ),
        (
            &certificates.at_home,
            format!("liqo-auth-origin-token-{FOREIGN}"),
            "b654e6f3ccc8705b47bdd7548f8a1f1d82e3090327b02134f61c5b8d19a6b1f5",
        ),
        // This one names the UID of the account, which the store has given.
        (
            &accounts.at_foreign,
            foreign_record,
            "1b600baf521eec3e481a21a360c733b248beb05bd5b3f6d4c6041f20e9884114",
        ),
    ] {
        let secret = objects.get::<Secret>("liqo", &name).unwrap();
        let found = secret.get("seal").unwrap().iter();
        let found: String = found.map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(found, seal, "{name}");
    }
}

#[test]
fn a_settled_exchange_has_no_effects() {
    for pair in [Pair::new(), Pair::of_accounts()] {
        let mut pair = accepted(pair);
        for _ in 0..3 {
            assert_eq!(pair.next_request(), None);
            let view = pair.at_home.view(pair.foreign.cluster_id());
            let next = pair.home.reconcile(&view, &env()).unwrap();
            assert_eq!(next.step, Step::default());
            let view = pair.at_foreign.view(&HOME.parse().unwrap());
            assert_eq!(pair.foreign.reconcile(&view).unwrap(), Step::default());
            assert_eq!(pair.foreign.delivered(&view).unwrap(), Step::default());
            let step = pair.foreign.token_step(pair.at_foreign.iter(), &env());
            assert_eq!(step.unwrap(), Step::default());
        }
    }
}

/// A key store may fall silent at any time, also within a call.
#[test]
fn no_identity_is_requested_without_the_key() {
    let mut pair = Pair::new();
    let token = pair.token();
    pair.set_token(&token);
    let mut request = pair.next_request().unwrap();
    let reply = ask(&pair.foreign, &mut pair.at_foreign, &request.http);
    pair.receive(&request, &reply.response.unwrap()).unwrap();
    request = pair.next_request().unwrap();
    assert!(matches!(request.asks, Asks::Identity { .. }));
    let view = pair.at_home.view(pair.foreign.cluster_id());
    for answers in 0..4 {
        let keys = Arc::new(SilentAfter(Mutex::new(answers)));
        let next = home_with(keys, home_settings())
            .reconcile(&view, &env())
            .unwrap();
        if next.request.is_none() {
            assert_eq!(
                next.step.wait.awaiting,
                [Awaited::OwnKey],
                "{answers} answers"
            );
        } else {
            assert_eq!(next.request.as_ref(), Some(&request), "{answers} answers");
        }
    }
}

/// A key store that answers so often, and then no more.
struct SilentAfter(Mutex<u32>);

impl KeyStore for SilentAfter {
    fn find(&self, _peer: &ClusterId) -> Result<Answer<Arc<dyn SigningKey>>, BoxError> {
        let mut left = self.0.lock().unwrap();
        Ok(match left.checked_sub(1) {
            Some(fewer) => {
                *left = fewer;
                Answer::Ready(Arc::new(key(1)))
            }
            None => Answer::Pending,
        })
    }
}

#[test]
fn a_claim_is_recorded_before_its_objects_are_made() {
    let mut pair = Pair::of_accounts();
    let token = pair.token();
    let request = serde_json::json!({ "clusterID": HOME, "token": token.expose() });
    let request = HttpRequest::new("POST", "/identity", request.to_string().into_bytes());
    let mut kinds: Vec<Vec<Kind>> = Vec::new();
    loop {
        let reply = handle(&pair.foreign, &pair.at_foreign, &request);
        if reply.response.is_some() {
            break;
        }
        check(&reply.step);
        kinds.push(
            reply
                .step
                .effects
                .iter()
                .map(|effect| effect.id().kind)
                .collect(),
        );
        apply(&mut pair.at_foreign, &reply.step);
    }
    let expected: [Vec<Kind>; 2] = [
        vec![Kind::Secret, Kind::ServiceAccount],
        vec![
            Kind::Secret,
            Kind::Role,
            Kind::RoleBinding,
            Kind::ClusterRole,
            Kind::ClusterRoleBinding,
            Kind::Secret,
        ],
    ];
    assert_eq!(kinds, expected);
}

#[test]
fn a_release_deletes_the_rights_first_and_the_claim_last() {
    for pair in [Pair::new(), Pair::of_accounts()] {
        let pair = accepted(pair);
        let view = pair.at_foreign.view(&HOME.parse().unwrap());
        let step = pair.foreign.release(&view).unwrap();
        check(&step);
        let mut effects = step.effects.iter();
        let last = effects.next_back().unwrap();
        assert!(last.id().name.starts_with("liqo-auth-legacy-foreign-"));
        // After the account, no objects with rights are deleted.
        let account = |effect: &Effect| effect.id().kind == Kind::ServiceAccount;
        let position = step.effects.iter().position(account);
        assert!(position.is_none_or(|position| position == step.effects.len() - 2));
    }
}

#[test]
fn a_partly_stored_identity_is_completed_by_the_same_answer() {
    let mut pair = Pair::new();
    let token = pair.token();
    pair.set_token(&token);
    let mut request = pair.next_request().unwrap();
    let mut reply = ask(&pair.foreign, &mut pair.at_foreign, &request.http);
    pair.receive(&request, &reply.response.unwrap()).unwrap();
    request = pair.next_request().unwrap();
    reply = ask(&pair.foreign, &mut pair.at_foreign, &request.http);
    let response = reply.response.unwrap();
    let view = pair.at_home.view(pair.foreign.cluster_id());
    let step = pair.home.receive(&view, &request, &response, &env());
    let step = step.unwrap();
    check(&step);
    // The pins, the identity, and the status.
    let kinds: Vec<Kind> = step.effects.iter().map(|effect| effect.id().kind).collect();
    assert_eq!(kinds, [Kind::Secret, Kind::Secret, Kind::ForeignCluster]);
    for applied in 0..step.effects.len() {
        let mut at_home = pair.at_home.clone();
        for effect in step.effects.iter().take(applied) {
            at_home.apply(effect).unwrap();
        }
        let view = at_home.view(pair.foreign.cluster_id());
        let again = pair.home.receive(&view, &request, &response, &env());
        for effect in again.unwrap().effects {
            at_home.apply(&effect).unwrap();
        }
        let view = at_home.view(pair.foreign.cluster_id());
        let next = pair.home.reconcile(&view, &env()).unwrap();
        apply(&mut at_home, &next.step);
        let mut expected = pair.at_home.clone();
        apply(&mut expected, &step);
        let secrets = |objects: &Objects| -> Vec<_> {
            let secrets = objects.iter().filter_map(Secret::from_object);
            secrets.map(|secret| secret.data.clone()).collect()
        };
        assert_eq!(secrets(&at_home), secrets(&expected), "{applied}");
    }
}

#[test]
fn of_two_homes_with_one_single_use_token_the_second_leaves_no_objects() {
    let mut pair = Pair::of(single_use(), home_settings());
    let token = pair.token();
    let [winner, loser] =
        [("a", 1), ("b", 2)].map(|(id, number)| post(&body(id, &key(number), token.expose())));
    let steps = [&winner, &loser].map(|request| {
        let reply = handle(&pair.foreign, &pair.at_foreign, request);
        assert_eq!(reply.step.effects.len(), 1, "the token, and nothing else");
        reply.step
    });
    apply(&mut pair.at_foreign, &steps[0]);
    let before = pair.at_foreign.clone();
    assert!(pair.at_foreign.apply(&steps[1].effects[0]).is_err());
    assert_eq!(pair.at_foreign, before);
}

#[test]
fn a_single_use_token_is_spent_even_for_an_existing_claim() {
    // The claim and the identity are older than the rule that a token can be
    // used once.
    let mut pair = Pair::new();
    let token = pair.token();
    let request = post(&body(HOME, &key(1), token.expose()));
    while handle(&pair.foreign, &pair.at_foreign, &request)
        .response
        .is_none()
    {
        let reply = handle(&pair.foreign, &pair.at_foreign, &request);
        apply(&mut pair.at_foreign, &reply.step);
    }
    let foreign = foreign(single_use());
    let reply = handle(&foreign, &pair.at_foreign, &request);
    assert_eq!(reply.step.effects.len(), 1);
    apply(&mut pair.at_foreign, &reply.step);
    let reply = ask(&foreign, &mut pair.at_foreign, &request);
    assert_eq!(reply.response.unwrap().status, 202);
    let secret = pair.at_foreign.get::<Secret>("liqo", "auth-token").unwrap();
    assert_eq!(secret.get("spentBy"), Some(HOME.as_bytes()));
}

#[test]
fn a_token_from_a_store_cannot_be_spent() {
    struct Stored(AuthToken);
    impl TokenStore for Stored {
        fn own_token(&self) -> Result<Option<AuthToken>, BoxError> {
            Ok(Some(self.0.clone()))
        }
    }
    let token = AuthToken::make(&Entropy::from_bytes([4; 32]));
    // A Secret with the token's name exists as well.
    let mut pair = Pair::new();
    let foreign = foreign(ForeignSettings {
        token_store: Some(Arc::new(Stored(token.clone()))),
        ..single_use()
    });
    let request = post(&body(HOME, &key(1), token.expose()));
    let reply = ask(&foreign, &mut pair.at_foreign, &request);
    assert_eq!(reply.response.unwrap().status, 202);
}

#[test]
fn names_and_certificates_may_come_later() {
    let later = Arc::new(Later::new());
    let foreign = ForeignSettings {
        principals: later.clone(),
        signer: Some(later.clone()),
        ..foreign_settings()
    };
    let mut pair = Pair::of(foreign, home_settings());
    let token = pair.token();
    let request = post(&body(HOME, &key(1), token.expose()));

    let before = pair.at_foreign.clone();
    for _ in 0..2 {
        let reply = handle(&pair.foreign, &pair.at_foreign, &request);
        assert_eq!(reply.step.wait.awaiting, [Awaited::Names]);
        assert!(reply.response.is_none() && reply.step.effects.is_empty());
    }
    assert_eq!(pair.at_foreign, before);

    later.names.store(true, Ordering::Relaxed);
    let reply = handle(&pair.foreign, &pair.at_foreign, &request);
    apply(&mut pair.at_foreign, &reply.step);
    for _ in 0..2 {
        let reply = handle(&pair.foreign, &pair.at_foreign, &request);
        assert!(matches!(
            reply.step.wait.awaiting[..],
            [Awaited::Credential(_)]
        ));
        assert!(reply.response.is_none() && reply.step.effects.is_empty());
    }

    later.certificates.store(true, Ordering::Relaxed);
    let reply = ask(&pair.foreign, &mut pair.at_foreign, &request);
    assert_eq!(reply.response.unwrap().status, 202);
}

/// A look-up of names and a signer whose answers are pending until the test
/// allows them.
struct Later {
    names: AtomicBool,
    certificates: AtomicBool,
    signer: AuthoritySigner,
}

impl Later {
    fn new() -> Self {
        let two_years = core::time::Duration::from_secs(2 * 365 * 86_400);
        let entropy = |byte| Entropy::from_bytes([byte; 32]);
        let authority = Authority::new("ca", now(), two_years, &entropy(9)).unwrap();
        Self {
            names: AtomicBool::new(false),
            certificates: AtomicBool::new(false),
            signer: AuthoritySigner::new(authority, entropy(3)),
        }
    }
}

impl Principals for Later {
    fn is_taken(&self, _request: &NameRequest<'_>) -> Result<Answer<bool>, BoxError> {
        Ok(match self.names.load(Ordering::Relaxed) {
            true => Answer::Ready(false),
            false => Answer::Pending,
        })
    }
}

impl CsrSigner for Later {
    fn sign(&self, request: &SigningRequest) -> Result<Answer<CertificateChain>, BoxError> {
        match self.certificates.load(Ordering::Relaxed) {
            true => self.signer.sign(request),
            false => Ok(Answer::Pending),
        }
    }
}

fn accepted(mut pair: Pair) -> Pair {
    let token = pair.token();
    pair.set_token(&token);
    pair.run();
    pair
}

/// Handles a request once.
fn handle(foreign: &Foreign, objects: &Objects, request: &HttpRequest) -> Reply {
    let Reading::Identity(request) = foreign.read(request) else {
        panic!("unreadable");
    };
    let view = objects.view(&request.peer);
    // The entropy would make another token than the one that exists.
    let mut env = env();
    env.entropy = Entropy::from_bytes([8; 32]);
    let reply = foreign.handle(&view, &request, env).unwrap();
    check(&reply.step);
    reply
}

/// Checks that each object has at most one effect in a step.
fn check(step: &Step) {
    let ids: BTreeSet<_> = step.effects.iter().map(Effect::id).collect();
    assert_eq!(ids.len(), step.effects.len(), "{:?}", step.effects);
}
