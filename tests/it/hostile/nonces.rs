//! Nonces that a peer spells anew, keeps or plants. None of them serves twice,
//! and none of them invites a peer again after the end.

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE},
};
use liqo_auth::{
    Machine,
    crypto::Nonce,
    error::{Error, PeerIncompatible, Rule},
    machine::{Effect, MessageBody, Notice, Step},
    model::{Kind, Object, ObjectRef, Secret, Tenant},
    policy::Policy,
};

use crate::clusters::{
    exchange::{Exchange, Setup, nonce_secret, secret_ref},
    notary::{DAY, Notary, YEAR},
    store,
};

const NAMESPACE: &str = "liqo-tenant-cl-consumer";
const RECORD: &str = "liqo-auth-provider-cl-consumer";

/// A nonce is the bytes that it decodes to.
#[test]
fn a_used_nonce_in_another_spelling_is_used() {
    let newline = |nonce: &Nonce| format!("{nonce}\n");
    let url_safe = |nonce: &Nonce| {
        let bytes = STANDARD.decode(nonce.as_str()).unwrap();
        format!("{}\n", URL_SAFE.encode(bytes))
    };
    let cases = [newline, url_safe].map(|spell| [(spell, false), (spell, true)]);
    for (spell, is_vouched_for) in cases.into_iter().flatten() {
        let mut exchange = Setup {
            policy: Policy::compatible(),
            ..Setup::new()
        }
        .exchange();
        exchange.settle();
        let spelled = spell(&exchange.nonce());
        let spelled = Nonce::parse(spelled.as_bytes(), &Policy::compatible()).unwrap();
        end(&mut exchange);
        if is_vouched_for {
            exchange.vouched.push(spelled.clone());
        }
        plant(&mut exchange, spelled.as_str().as_bytes(), false);
        let tenant = signed_by_consumer(&mut exchange, spelled);
        assert_is_used(exchange.hand_over(tenant));
    }
}

#[test]
fn a_replaced_nonce_is_used() {
    let mut exchange = Setup::new().exchange();
    exchange.turn_of_provider();
    let replaced = exchange.nonce();
    replace_nonce(&mut exchange);
    assert_ne!(exchange.nonce(), replaced);

    plant(&mut exchange, replaced.as_str().as_bytes(), false);
    let tenant = signed_by_consumer(&mut exchange, replaced);
    assert_is_used(exchange.hand_over(tenant));
    // The nonce on offer takes the place of the planted one.
    exchange.at_consumer = store::empty();
    exchange.settle();
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
}

/// The peer keeps a nonce that nobody has signed until after the end: by a
/// finalizer, or in a copy.
#[test]
fn a_nonce_that_outlives_its_peering_invites_nobody() {
    for kept_by_finalizer in [true, false] {
        let mut exchange = authenticated();
        replace_nonce(&mut exchange);
        let fresh = exchange.nonce();
        if kept_by_finalizer {
            plant(&mut exchange, fresh.as_str().as_bytes(), true);
        }
        end(&mut exchange);
        plant(&mut exchange, fresh.as_str().as_bytes(), kept_by_finalizer);
        assert_eq!(exchange.phases().0, "Ended");
        let tenant = signed_by_consumer(&mut exchange, fresh);
        assert_is_used(exchange.hand_over(tenant));
        assert_eq!(exchange.phases().0, "Ended");
    }
}

/// A nonce with the provider's MAC is no invitation if nobody is on record.
#[test]
fn a_nonce_that_outlives_the_record_invites_nobody() {
    let mut exchange = Setup::new().exchange();
    exchange.turn_of_provider();
    let nonce = exchange.nonce();
    exchange.at_provider = crate::clusters::exchange::cluster_roles();
    let namespace = liqo_auth::model::Namespace::for_tenant(exchange.consumer.cluster_id());
    exchange.at_provider.insert(namespace.into());
    plant(&mut exchange, nonce.as_str().as_bytes(), false);
    assert_eq!(exchange.phases().0, "Uninvited");
    let tenant = signed_by_consumer(&mut exchange, nonce);
    assert_is_used(exchange.hand_over(tenant));
}

#[test]
fn a_nonce_secret_kept_by_a_finalizer_invites_nobody_and_ends_in_rest() {
    for text in [&b""[..], b"junk", &[b'A'; 88]] {
        let mut exchange = authenticated();
        plant(&mut exchange, text, true);
        end(&mut exchange);
        let mut with_effects = 0;
        for look in 0..1000 {
            if look == 500 {
                // No certificate is valid any more.
                exchange.now = exchange.now + 91 * DAY;
            }
            let step = exchange.turn_of_provider();
            with_effects += usize::from(!step.is_settled());
            assert_eq!(exchange.phases().0, "Ended", "{look}");
        }
        assert!(
            with_effects <= 3,
            "{with_effects} of 1000 looks had effects"
        );

        // The record stays until the Secret is gone.
        let mut released: Secret = exchange.provider_secret("liqo-nonce");
        assert!(released.metadata.deletion_timestamp.is_some());
        assert!(exchange.at_provider.get::<Secret>("liqo", RECORD).is_some());
        released.metadata.finalizers.clear();
        let id = secret_ref(NAMESPACE, "liqo-nonce");
        exchange.at_provider.insert(released.into());
        exchange.at_provider.delete(&id);
        exchange.turn_once();
        assert!(exchange.at_provider.get::<Secret>("liqo", RECORD).is_none());
        assert_eq!(exchange.phases().0, "Uninvited");
    }
}

/// A Secret that cannot be read is deleted, too.
#[test]
fn an_unreadable_nonce_secret_does_not_hold_up_the_end() {
    let mut exchange = authenticated();
    exchange
        .at_provider
        .insert(Object::from_value(serde_json::json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": { "name": "liqo-nonce", "namespace": NAMESPACE },
            "data": { "nonce": "QR==" },
        })));
    end(&mut exchange);
    assert_eq!(exchange.phases().0, "Ended");
    let id = secret_ref(NAMESPACE, "liqo-nonce");
    assert!(exchange.at_provider.iter().all(|object| object.id() != id));
}

#[test]
fn an_empty_secret_invites_at_first_and_never_after_an_end() {
    let mut exchange = authenticated();
    end(&mut exchange);
    plant(&mut exchange, b"", false);
    assert_eq!(exchange.phases().0, "Ended");
    let step = exchange.turn_of_provider();
    assert_eq!(deletions(&step), [secret_ref(NAMESPACE, "liqo-nonce")]);
    assert_eq!(step.notices, [Notice::NonceAskedAfterEnd]);
    assert!(exchange.turn_of_provider().is_settled());

    // Nobody else is kept from a first peering, except by a Secret that is
    // being deleted.
    for (is_deleted, expected) in [(true, "Uninvited"), (false, "NeedsNonce")] {
        let mut exchange = Setup::new().exchange();
        let namespace = liqo_auth::model::Namespace::for_tenant(exchange.consumer.cluster_id());
        exchange.at_provider.insert(namespace.into());
        plant(&mut exchange, b"", true);
        if is_deleted {
            exchange
                .at_provider
                .delete(&secret_ref(NAMESPACE, "liqo-nonce"));
        }
        assert_eq!(exchange.phases().0, expected);
    }
}

/// A provider that stops after the record knows that it has invited the peer.
#[test]
fn an_invitation_is_on_record_before_its_nonce_is_handed_out() {
    let mut exchange = Setup::new().exchange();
    let invite = |exchange: &Exchange| {
        let (view, env) = (exchange.provider_view(), exchange.env());
        exchange.provider.invite(&view, env).unwrap()
    };
    let step = invite(&exchange);
    let ids: Vec<ObjectRef> = step.effects.iter().map(Effect::id).collect();
    let namespace = ObjectRef::new(Kind::Namespace, "", NAMESPACE);
    let (record, nonce) = (
        secret_ref("liqo", RECORD),
        secret_ref(NAMESPACE, "liqo-nonce"),
    );
    assert_eq!(ids, [namespace, record, nonce]);
    for effect in &step.effects[..2] {
        exchange.at_provider.apply(effect).unwrap();
    }
    assert_eq!(exchange.phases().0, "NeedsNonce");
    exchange.settle();
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
}

#[test]
fn an_invitation_that_nobody_used_leaves_no_record() {
    // The administrator takes it back.
    let mut exchange = Setup::new().exchange();
    exchange.turn_of_provider();
    end(&mut exchange);
    assert_eq!(exchange.phases().0, "Uninvited");
    assert!(exchange.at_provider.get::<Secret>("liqo", RECORD).is_none());

    // The nonce expires, and its Secret is gone.
    let mut exchange = Setup::new().exchange();
    exchange.turn_of_provider();
    let id = secret_ref(NAMESPACE, "liqo-nonce");
    exchange.at_provider.remove(&id).unwrap();
    exchange.now = exchange.now + 2 * DAY;
    exchange.turn_once();
    assert_eq!(exchange.phases().0, "Uninvited");
    assert!(exchange.at_provider.get::<Secret>("liqo", RECORD).is_none());
}

impl Exchange {
    /// The provider reconciles until nothing changes, and invites nobody.
    fn turn_once(&mut self) {
        for _ in 0..8 {
            let step = self
                .provider
                .reconcile(&self.provider_view(), self.env())
                .unwrap();
            if self.carry_out(true, step).is_settled() {
                return;
            }
        }
        panic!("it does not settle");
    }
}

fn authenticated() -> Exchange {
    let mut exchange = Setup::new().exchange();
    exchange.provider = Notary::new(30 * YEAR)
        .provider(|builder| builder.configure(|config| config.certificate_lifetime = 90 * DAY));
    exchange.settle();
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
    exchange
}

fn end(exchange: &mut Exchange) {
    let step = exchange.provider.end(&exchange.provider_view()).unwrap();
    exchange.carry_out(true, step);
    exchange.turn_once();
}

fn replace_nonce(exchange: &mut Exchange) {
    let (view, env) = (exchange.provider_view(), exchange.env());
    let step = exchange.provider.replace_nonce(&view, env).unwrap();
    exchange.carry_out(true, step);
}

/// Puts a nonce Secret into the tenant namespace, over one that is there.
fn plant(exchange: &mut Exchange, text: &[u8], with_finalizer: bool) {
    let Object::Secret(mut secret) = nonce_secret(NAMESPACE, text) else {
        panic!("a Secret is made");
    };
    if with_finalizer {
        secret.metadata.finalizers = vec!["peer.example.com/keep".to_owned()];
    }
    exchange.at_provider.insert(secret.into());
}

/// The Tenant that the consumer makes for a nonce, as at a first meeting.
fn signed_by_consumer(exchange: &mut Exchange, nonce: Nonce) -> Tenant {
    exchange.at_consumer = store::empty();
    exchange.hand_over(MessageBody::Nonce(nonce)).unwrap();
    exchange.tenant()
}

fn assert_is_used(step: Result<Step, Error>) {
    let error = step.unwrap_err();
    assert_eq!(error.fault(), &PeerIncompatible::NonceUsed.into());
    assert_eq!(error.rule().map(Rule::number), Some(4));
}

fn deletions(step: &Step) -> Vec<ObjectRef> {
    let id = |effect: &Effect| match effect {
        Effect::Delete { id, .. } => id.clone(),
        other => panic!("{other:?}"),
    };
    step.effects.iter().map(id).collect()
}
