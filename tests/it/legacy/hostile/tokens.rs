//! Which token admits which home cluster, and after what.

use std::sync::Arc;

use liqo_auth::{
    crypto::{BoxError, Entropy},
    error::{Error, Fault, LocalFault},
    legacy::{AuthToken, ForeignSettings, Outcome, Reading, Reply, TokenStore},
    machine::Env,
    model::{Resource, Secret, names},
    policy::Policy,
};

use crate::{
    clusters::store,
    legacy::pair::{
        FOREIGN, HOME, Pair, apply, body, env, foreign, foreign_settings, home_settings, key, now,
        post, single_use,
    },
};

/// Handles a request up to its answer, which is not delivered. Tokens that are made differ
/// from those of `env`.
fn asked(pair: &mut Pair, home: &str, token: &AuthToken) -> Result<Reply, Error> {
    let request = post(&body(home, &key(1), token.expose()));
    let Reading::Identity(request) = pair.foreign.read(&request) else {
        panic!("unreadable");
    };
    for _ in 0..8 {
        let view = pair.at_foreign.view(&request.peer);
        let entropy = Entropy::from_bytes([8; 32]);
        let env = Env { entropy, ..env() };
        let reply = pair.foreign.handle(&view, &request, env)?;
        apply(&mut pair.at_foreign, &reply.step);
        if reply.response.is_some() {
            return Ok(reply);
        }
    }
    panic!("no answer");
}

#[track_caller]
fn assert_issued(pair: &mut Pair, home: &str, token: &AuthToken) {
    let reply = asked(pair, home, token).unwrap();
    assert!(reply.was_issued(), "{:?}", reply.outcome);
}

#[track_caller]
fn assert_wrong(pair: &mut Pair, home: &str, token: &AuthToken) {
    let outcome = asked(pair, home, token).unwrap().outcome;
    let is_wrong = matches!(outcome, Some(Outcome::WrongToken { .. }));
    assert!(is_wrong, "{outcome:?}");
}

fn deliver(pair: &mut Pair, home: &str) {
    let view = pair.at_foreign.view(&home.parse().unwrap());
    let step = pair.foreign.delivered(&view).unwrap();
    apply(&mut pair.at_foreign, &step);
}

fn own_token(pair: &Pair) -> &Secret {
    let secret = pair
        .at_foreign
        .get::<Secret>("liqo", names::AUTH_TOKEN_SECRET);
    secret.unwrap()
}

fn edit_own_token(pair: &mut Pair, edit: impl FnOnce(&mut Secret)) {
    let mut secret = own_token(pair).clone();
    edit(&mut secret);
    pair.at_foreign.insert(secret.into());
}

fn other_token() -> AuthToken {
    AuthToken::make(&Entropy::from_bytes([5; 32]))
}

#[test]
fn a_spent_token_admits_the_home_that_spent_it_and_no_other_token_does() {
    let mut pair = Pair::of(single_use(), home_settings());
    let token = pair.token();
    assert_issued(&mut pair, HOME, &token);
    assert_ne!(pair.token(), token);
    assert_wrong(&mut pair, HOME, &other_token());
    assert_wrong(&mut pair, "cl-other", &token);
    assert_issued(&mut pair, HOME, &token);
    // Also after the delivery, the token is right: the refusal is another one.
    deliver(&mut pair, HOME);
    let outcome = asked(&mut pair, HOME, &token).unwrap().outcome;
    let is_second = matches!(outcome, Some(Outcome::SecondIdentity { .. }));
    assert!(is_second, "{outcome:?}");
}

/// Who can write the Secret, and not the record key, spends no token for somebody else.
#[test]
fn a_spent_token_under_a_broken_seal_admits_nobody() {
    for policy in [Policy::strict(), Policy::compatible()] {
        let is_strict = policy == Policy::strict();
        let settings = ForeignSettings {
            policy,
            ..single_use()
        };
        let mut pair = Pair::of(settings, home_settings());
        let token = pair.token();
        assert_issued(&mut pair, HOME, &token);
        edit_own_token(&mut pair, |secret| {
            let thief = b"cl-other".as_slice().into();
            secret.data.insert("spentBy".to_owned(), thief).unwrap();
        });
        if is_strict {
            let error = asked(&mut pair, "cl-other", &token).unwrap_err();
            assert_eq!(error.fault(), &Fault::Local(LocalFault::BrokenSeal));
        } else {
            assert_wrong(&mut pair, "cl-other", &token);
        }
    }
}

/// The answer was lost, and the administrator has replaced the token since.
#[test]
fn a_replaced_token_admits_the_home_that_showed_it_until_the_delivery() {
    let mut pair = Pair::new();
    let token = pair.token();
    assert_issued(&mut pair, HOME, &token);
    let id = own_token(&pair).id();
    pair.at_foreign.remove(&id);
    let entropy = Entropy::from_bytes([8; 32]);
    let env = Env { entropy, ..env() };
    let step = pair.foreign.token_step(pair.at_foreign.iter(), &env);
    apply(&mut pair.at_foreign, &step.unwrap());
    assert_ne!(pair.token(), token);
    assert_wrong(&mut pair, HOME, &other_token());
    assert_wrong(&mut pair, "cl-other", &token);
    assert_issued(&mut pair, HOME, &token);
    deliver(&mut pair, HOME);
    assert_wrong(&mut pair, HOME, &token);
}

#[test]
fn a_token_under_a_broken_seal_is_an_error() {
    type Change = fn(&mut Secret);
    let changes: [(&str, Change); 3] = [
        ("none", |secret| {
            secret.data.remove("seal").unwrap();
        }),
        ("of zeros", |secret| {
            let zeros = [0; 32].as_slice().into();
            secret.data.insert("seal".to_owned(), zeros).unwrap();
        }),
        ("another token", |secret| {
            let token = "ab".repeat(64).into_bytes().into();
            secret.data.insert("token".to_owned(), token).unwrap();
        }),
    ];
    for (what, change) in changes {
        let mut pair = Pair::new();
        edit_own_token(&mut pair, change);
        let error = asked(&mut pair, HOME, &other_token()).unwrap_err();
        let broken = Fault::Local(LocalFault::BrokenSeal);
        assert_eq!(error.fault(), &broken, "{what}");
    }
}

/// The claim says whether the identity was delivered, and the home's record which request
/// is sent again.
#[test]
fn a_record_under_a_broken_seal_is_an_error() {
    let broken = Fault::Local(LocalFault::BrokenSeal);
    let mut pair = Pair::new();
    let token = pair.token();
    pair.set_token(&token);
    pair.run();
    let name = format!("liqo-auth-legacy-foreign-{HOME}");
    let mut claim = pair
        .at_foreign
        .get::<Secret>("liqo", &name)
        .unwrap()
        .clone();
    let text = str::from_utf8(claim.get("claim").unwrap()).unwrap();
    let text = text.replace("\"isDelivered\":true", "\"isDelivered\":false");
    let before = claim
        .data
        .insert("claim".to_owned(), text.into_bytes().into());
    assert_ne!(before, claim.data.get("claim").cloned());
    pair.at_foreign.insert(claim.into());
    let error = asked(&mut pair, HOME, &token).unwrap_err();
    assert_eq!(error.fault(), &broken);
    let view = pair.at_foreign.view(&HOME.parse().unwrap());
    assert_eq!(pair.foreign.claimed(&view).unwrap_err().fault(), &broken);

    let name = format!("liqo-auth-legacy-home-{FOREIGN}");
    let mut record = pair.at_home.get::<Secret>("liqo", &name).unwrap().clone();
    record.data.remove("csr").unwrap();
    pair.at_home.insert(record.into());
    let view = pair.at_home.view(pair.foreign.cluster_id());
    let error = pair.home.look(&view).unwrap_err();
    assert_eq!(error.fault(), &broken);
}

struct Stored(Option<AuthToken>);

impl TokenStore for Stored {
    fn own_token(&self) -> Result<Option<AuthToken>, BoxError> {
        Ok(self.0.clone())
    }
}

/// A Secret of an earlier configuration stays as it is.
#[test]
fn the_token_of_a_store_is_not_used_up() {
    let mut pair = Pair::new();
    let before = own_token(&pair).clone();
    pair.foreign = foreign(ForeignSettings {
        token_store: Some(Arc::new(Stored(Some(other_token())))),
        ..single_use()
    });
    for home in [HOME, "cl-other"] {
        assert_issued(&mut pair, home, &other_token());
    }
    assert_eq!(own_token(&pair), &before);
}

#[test]
fn no_token_is_made_beside_a_store() {
    let foreign = foreign(ForeignSettings {
        token_store: Some(Arc::new(Stored(None))),
        ..foreign_settings()
    });
    let step = foreign.token_step(store::empty().iter(), &env()).unwrap();
    assert!(step.is_settled());
}

/// Liqo's token has no seal, so anybody who can write the Secret may have written this.
#[test]
fn a_token_whose_expiry_cannot_be_read_has_expired() {
    let settings = ForeignSettings {
        policy: Policy::compatible(),
        ..foreign_settings()
    };
    let mut pair = Pair::of(settings, home_settings());
    edit_own_token(&mut pair, |secret| {
        let soon = b"soon".as_slice().into();
        secret.data.insert("expires".to_owned(), soon);
    });
    let token = pair.foreign.token(pair.at_foreign.iter(), now()).unwrap();
    assert_eq!(token, None);
}
