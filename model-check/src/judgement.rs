//! The judgement on what a call did.

use liqo_auth::{
    crypto::{KeyPair, SigningKey},
    machine::{MessageBody, Side},
    model::{Kind, Object, ObjectRef, Resource, Secret, names},
};

use crate::{
    calls::{self, At, SLICE},
    cast::{API_SERVER, Name},
    facts::{Claim, has_key, is_sound},
    ghost::{Broken, Rule, Transition, Word},
    hostile,
    keys::{CLUSTER_KEY, CONSUMER_KEY, OWN_KEY, key},
    state::State,
    store::Store,
    world::World,
};

/// A call that was made.
pub struct Made<'a> {
    pub outcome: &'a calls::Outcome,
    pub word: Option<(Word, bool)>,
    /// Whether a consumer's administrator requests the slice.
    pub requests_slice: bool,
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
            self.judge_consumer(next, before, at, made.requests_slice, outcome);
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
        next: &mut State,
        before: &State,
        at: At,
        requests_slice: bool,
        outcome: &calls::Outcome,
    ) {
        let (provider, consumer) = (self.cast.id(at.peer), self.own_id(at));
        for nonce in &outcome.witness.signed_nonces {
            if !hostile::is_for(nonce, provider, consumer) {
                next.broken |= Rule::SignsOwnNonces.bit();
            }
        }
        next.broken |= self.judge_keys(next, before, at, requests_slice, outcome);
        let (old, new) = (self.stored_at(before, at), self.stored_at(next, at));
        if old == new {
            return;
        }
        let (old, new) = (self.store(old), self.store(new));
        let keys = &self.cast.consumer_keys;
        let is_written = |object: &&Object| old.get(&object.id()) != Some(object);
        let mut written = new.objects().filter(is_written);
        if !written.all(|object| {
            is_sound(object, consumer, keys, before.instant) && self.is_at_known_server(object)
        }) {
            next.broken |= Rule::StoresVerified.bit();
        }
    }

    /// For what the keys were used, and which key a provider can read.
    fn judge_keys(
        &self,
        next: &mut State,
        before: &State,
        at: At,
        requests_slice: bool,
        outcome: &calls::Outcome,
    ) -> Broken {
        let mut broken = 0;
        let mut ghost = (*self.ghost(next.ghost)).clone();
        ghost.consumer.has_requested_slice |= requests_slice;
        let is_of_slice = |request: &Vec<u8>| {
            let mut parts = request.windows(SLICE.len());
            parts.any(|part| part == SLICE.as_bytes())
        };
        let signs_for_slice = outcome.witness.signed_requests.iter().any(is_of_slice);
        if signs_for_slice && !ghost.consumer.has_requested_slice {
            broken |= Rule::SignsOwnRequests.bit();
        }
        if self.cast.two_way.is_some() && at.is_of_a_consumer_as_well() {
            let of_cluster = key(CLUSTER_KEY);
            let facts = self.facts(before.provider, at.peer);
            let is_consumer = facts.has_record || !facts.tenants.is_empty();
            let kubeconfig = self.kubeconfig(&self.store(next.provider), at);
            let is_readable = kubeconfig.is_some_and(|it| has_key(&it, &of_cluster));
            let signs = outcome.witness.keys.contains(of_cluster.public_key());
            ghost.consumer.began_with_cluster_key |= (signs || is_readable) && !is_consumer;
            if is_readable && !ghost.consumer.began_with_cluster_key {
                broken |= Rule::KeepsClusterKey.bit();
            }
        }
        if ghost.consumer != self.ghost(next.ghost).consumer {
            next.ghost = self.keep_ghost(ghost);
        }
        broken
    }

    /// Whether the kubeconfig of a consumer's Identity, if there is one, is for its own name
    /// and key, and has the private one.
    pub fn has_own_kubeconfig(&self, store: &Store, at: At, now: u8) -> bool {
        let keys: Vec<KeyPair> = match self.cluster(at) {
            Side::Provider => [CLUSTER_KEY, OWN_KEY].map(key).into(),
            Side::Consumer => vec![key(CONSUMER_KEY)],
        };
        if !self.has_identity(store, at) {
            return true;
        }
        self.kubeconfig(store, at).is_some_and(|kubeconfig| {
            keys.iter().any(|key| {
                let public = core::slice::from_ref(key.public_key());
                has_key(&kubeconfig, key)
                    && is_sound(&kubeconfig.clone().into(), self.own_id(at), public, now)
            })
        })
    }

    fn has_identity(&self, store: &Store, at: At) -> bool {
        let name = names::identity_name(self.cast.id(at.peer));
        store
            .get(&self.at_consumer(Kind::Identity, at, name))
            .is_some()
    }

    fn kubeconfig(&self, store: &Store, at: At) -> Option<Secret> {
        let name = names::kubeconfig_secret(&names::identity_name(self.cast.id(at.peer)));
        let stored = store.get(&self.at_consumer(Kind::Secret, at, name))?;
        Secret::from_object(stored).cloned()
    }

    /// An object in a provider's tenant namespace at its consumer.
    fn at_consumer(&self, kind: Kind, at: At, name: String) -> ObjectRef {
        let namespace = match self.cluster(at) {
            Side::Provider => self.cast.namespace(at.peer),
            Side::Consumer => names::tenant_namespace(self.cast.id(at.peer)),
        };
        ObjectRef::new(kind, namespace, name)
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
