//! What a step of the token protocol consists of, and what it leaves behind.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use liqo_auth::{
    crypto::{Answer, AuthToken, Authority, BoxError, CertificateChain, Entropy},
    legacy::{Foreign, HttpRequest, Reading, Reply, TokenStore},
    machine::{Awaited, Effect, Objects, Step},
    model::{Kind, Object, Secret},
    provider::{AuthoritySigner, Claimant, CsrSigner, PrincipalName, Principals, SigningRequest},
};

use crate::legacy::pair::{
    FOREIGN, HOME, Pair, apply, ask, body, env, foreign_builder, home_builder, key, now, post,
};

/// A seal is over the cluster, the name and every value of a Secret.
#[test]
fn what_is_stored_keeps_its_form() {
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
        (
            &accounts.at_foreign,
            foreign_record,
            "d1c9c8d90aa4af3abcb8088fa96e255def6ee7ddfb28432456bceeedf21ebb20",
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

#[test]
fn a_claim_is_recorded_before_anything_is_made_for_it() {
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
        kinds.push(reply.step.effects.iter().map(Effect::kind).collect());
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
fn rights_go_first_and_the_claim_goes_last() {
    for pair in [Pair::new(), Pair::of_accounts()] {
        let pair = accepted(pair);
        let view = pair.at_foreign.view(&HOME.parse().unwrap());
        let step = pair.foreign.release(&view).unwrap();
        check(&step);
        let mut effects = step.effects.iter();
        let last = effects.next_back().unwrap();
        assert!(last.id().name.starts_with("liqo-auth-legacy-foreign-"));
        // Nothing that carries rights comes after the account.
        let account = |effect: &Effect| effect.kind() == Kind::ServiceAccount;
        let position = step.effects.iter().position(account);
        assert!(position.is_none_or(|position| position == step.effects.len() - 2));
    }
}

#[test]
fn an_identity_that_is_half_stored_is_stored_in_full_by_the_same_answer() {
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
    // The pins, the identity, the status.
    let kinds: Vec<Kind> = step.effects.iter().map(Effect::kind).collect();
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
            let secrets = objects.iter().filter_map(Object::as_secret);
            secrets.map(|secret| secret.data.clone()).collect()
        };
        assert_eq!(secrets(&at_home), secrets(&expected), "{applied}");
    }
}

#[test]
fn of_two_homes_with_a_token_that_serves_once_the_loser_leaves_nothing() {
    let mut pair = Pair::of(foreign_builder().single_use_token(), home_builder());
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
fn a_token_that_serves_once_is_spent_also_for_a_claim_that_is_there() {
    // The claim and the identity are of the time before the token served once.
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
    let foreign = foreign_builder().single_use_token().build();
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
    // There is a Secret of that name besides.
    let mut pair = Pair::new();
    let foreign = foreign_builder()
        .single_use_token()
        .token_store(Arc::new(Stored(token.clone())))
        .build();
    let request = post(&body(HOME, &key(1), token.expose()));
    let reply = ask(&foreign, &mut pair.at_foreign, &request);
    assert_eq!(reply.response.unwrap().status, 202);
}

#[test]
fn names_and_certificates_may_come_later() {
    let later = Arc::new(Later::new());
    let foreign = foreign_builder()
        .principals(later.clone())
        .signer(later.clone());
    let mut pair = Pair::of(foreign, home_builder());
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
            [Awaited::Certificate(_)]
        ));
        assert!(reply.response.is_none() && reply.step.effects.is_empty());
    }

    later.certificates.store(true, Ordering::Relaxed);
    let reply = ask(&pair.foreign, &mut pair.at_foreign, &request);
    assert_eq!(reply.response.unwrap().status, 202);
}

/// A look-up of names and a signer that answer once they may.
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
    fn is_taken(
        &self,
        _name: &PrincipalName<'_>,
        _claimant: Claimant<'_>,
    ) -> Result<Answer<bool>, BoxError> {
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

/// One look at a request.
fn handle(foreign: &Foreign, objects: &Objects, request: &HttpRequest) -> Reply {
    let Reading::Identity(request) = foreign.read(request) else {
        panic!("unreadable");
    };
    let view = objects.view(request.peer());
    // Another token than the one that is there.
    let mut env = env();
    env.entropy = Entropy::from_bytes([8; 32]);
    let reply = foreign.handle(&view, &request, env).unwrap();
    check(&reply.step);
    reply
}

/// No object has two effects in a step.
fn check(step: &Step) {
    let ids: BTreeSet<_> = step.effects.iter().map(Effect::id).collect();
    assert_eq!(ids.len(), step.effects.len(), "{:?}", step.effects);
}
