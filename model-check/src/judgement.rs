//! The judgement on what a call did.

use liqo_auth::{
    machine::{MessageBody, Side},
    model::Object,
};

use crate::{
    calls::{self, At},
    cast::{API_SERVER, Name},
    facts::{Claim, is_sound},
    ghost::{Broken, Rule, Transition, Word},
    hostile,
    state::State,
    world::World,
};

/// A call that was made.
pub struct Made<'a> {
    pub outcome: &'a calls::Outcome,
    pub word: Option<(Word, bool)>,
    /// Whether the signer was asked just now.
    pub asks: bool,
    pub may_be_stale: bool,
}

impl World {
    fn claims(&self, air: u32) -> Vec<Claim> {
        let air = self.air(air);
        let tenants = air.iter().filter_map(|number| {
            let message = self.message(*number);
            match &message.body {
                MessageBody::Tenant(tenant) => Some(Claim::of(tenant)),
                _ => None,
            }
        });
        tenants.collect()
    }

    /// Takes note of what a call at a side did.
    pub fn judge(&self, next: &mut State, before: &State, at: At, made: &Made<'_>) {
        let outcome = made.outcome;
        if at.side == Side::Consumer {
            next.broken |= self.judge_consumer(next, before, at, outcome);
            return;
        }
        let (old, new) = (
            self.facts(before.provider, at.peer),
            self.facts(next.provider, at.peer),
        );
        if made.word.is_none() && old == new && outcome.asked().is_empty() {
            return;
        }
        let claims = match outcome.asked() {
            [] => Vec::new(),
            _ => self.claims(next.air),
        };
        let mut ghost = (*self.ghost(before.ghost)).clone();
        next.broken |= ghost.observe(&Transition {
            cast: &self.cast,
            peer: at.peer,
            before: &old,
            after: &new,
            word: made.word,
            asked: if made.asks { outcome.asked() } else { &[] },
            claims: &claims,
            instant: before.instant,
            may_be_stale: made.may_be_stale,
        });
        next.ghost = self.keep_ghost(ghost);
    }

    /// What the consumer's key has signed, and what the consumer has stored.
    pub fn judge_consumer(
        &self,
        next: &State,
        before: &State,
        at: At,
        outcome: &calls::Outcome,
    ) -> Broken {
        let mut broken = 0;
        let (provider, consumer) = (self.cast.id(at.peer), self.cast.id(Name::Consumer));
        for nonce in &outcome.witness.signed_nonces {
            if !hostile::is_for(nonce, provider, consumer) {
                broken |= Rule::SignsOwnNonces.bit();
            }
        }
        if next.consumer == before.consumer {
            return broken;
        }
        let (old, new) = (self.store(before.consumer), self.store(next.consumer));
        let key = &self.cast.consumer_key;
        let is_written = |object: &&Object| old.get(&object.id()) != Some(object);
        let mut written = new.objects().filter(is_written);
        if !written.all(|object| {
            is_sound(object, consumer, key, before.instant) && self.is_at_known_server(object)
        }) {
            broken |= Rule::StoresVerified.bit();
        }
        broken
    }

    /// A consumer that knows the provider's key stores no other cluster's API server
    /// as that provider's.
    fn is_at_known_server(&self, object: &Object) -> bool {
        let Object::Identity(identity) = object else {
            return true;
        };
        let provider = self.cast.id(Name::Provider);
        !self.configuration.setup.knows_provider
            || identity.spec.cluster_id != provider.as_str()
            || identity.spec.auth_params.api_server == API_SERVER
    }
}
