//! The clusters of a configuration, and everything that was met so far.

use std::{collections::BTreeSet, sync::Arc};

use liqo_auth::{
    Machine,
    machine::{Effect, Message, MessageBody, Side},
    model::{ClusterId, Kind},
};

use crate::{
    calls::{self, At, Call, Shared},
    cast::{Cast, Name},
    configurations::Configuration,
    deeds::Plant,
    end::End,
    facts::PeerFacts,
    ghost::Ghost,
    interned::{Interned, Memo},
    state::State,
    store::Store,
};

pub struct World {
    pub cast: Cast,
    pub configuration: Configuration,
    stores: Interned<[u8; 32], Store>,
    messages: Interned<[u8; 32], Message>,
    airs: Interned<BTreeSet<u32>, BTreeSet<u32>>,
    ghosts: Interned<Ghost, Ghost>,
    outcomes: Memo<(u32, At, Call, u8, u8), Shared>,
    prefixes: Memo<(u32, At, Call, u8, u8, u8), u32>,
    facts: Memo<(u32, Name), Arc<PeerFacts>>,
    pub fair: Memo<(u32, u32, u8), End>,
}

impl World {
    pub fn new(configuration: Configuration) -> Self {
        Self {
            cast: Cast::new(configuration.setup),
            configuration,
            stores: Interned::default(),
            messages: Interned::default(),
            airs: Interned::default(),
            ghosts: Interned::default(),
            outcomes: Memo::default(),
            prefixes: Memo::default(),
            facts: Memo::default(),
            fair: Memo::default(),
        }
    }

    pub fn store(&self, number: u32) -> Arc<Store> {
        self.stores.get(number)
    }

    pub fn keep(&self, store: Store) -> u32 {
        self.stores.number(store.digest(), || store)
    }

    pub fn message(&self, number: u32) -> Arc<Message> {
        self.messages.get(number)
    }

    pub fn send(&self, message: &Message) -> u32 {
        let digest = message.digest();
        self.messages.number(digest, || message.clone())
    }

    pub fn air(&self, number: u32) -> Arc<BTreeSet<u32>> {
        self.airs.get(number)
    }

    pub fn ghost(&self, number: u32) -> Arc<Ghost> {
        self.ghosts.get(number)
    }

    /// The first store that was met and that fits.
    pub fn first_store(&self, fits: impl Fn(&PeerFacts) -> bool, peer: Name) -> Option<u32> {
        let all = u32::try_from(self.stores.len()).ok()?;
        (0..all).find(|number| fits(&self.facts(*number, peer)))
    }

    pub fn keep_ghost(&self, ghost: Ghost) -> u32 {
        self.ghosts.number(ghost.clone(), || ghost)
    }

    pub fn keep_air(&self, air: BTreeSet<u32>) -> u32 {
        self.airs.number(air.clone(), || air)
    }

    /// How many different stores and messages there are.
    pub fn sizes(&self) -> (usize, usize) {
        (self.stores.len(), self.messages.len())
    }

    pub fn facts(&self, store: u32, peer: Name) -> Arc<PeerFacts> {
        self.facts.of((store, peer), || {
            let namespace = self.cast.namespace(peer);
            Arc::new(PeerFacts::of(
                &self.store(store),
                self.cast.id(peer),
                &namespace,
            ))
        })
    }

    pub fn outcome(&self, store: u32, at: At, call: Call, now: u8, replica: u8) -> Shared {
        self.outcomes.of((store, at, call, now, replica), || {
            let message = match call {
                Call::Receive(number) => Some(self.message(number)),
                _ => None,
            };
            let store = self.store(store);
            let message = message.as_deref();
            let outcome = calls::make(&self.cast, &store, at, call, message, now, replica);
            Arc::new(outcome)
        })
    }

    /// The store after the first effects of a call; and what the call did besides.
    pub fn after(&self, store: u32, at: At, call: Call, now: u8, effects: u8) -> u32 {
        self.prefixes.of((store, at, call, now, 0, effects), || {
            let outcome = self.outcome(store, at, call, now, 0);
            let mut after = (*self.store(store)).clone();
            after.ledger.clone_from(&outcome.witness.ledger);
            for effect in outcome.effects.iter().take(effects.into()) {
                if !self.carry_out(&mut after, effect) {
                    break;
                }
            }
            after.drawn += u8::from(outcome.is_random && effects > 0);
            self.keep(after)
        })
    }

    pub fn carry_out(&self, store: &mut Store, effect: &Effect) -> bool {
        let planted = self.configuration.plant;
        let is_right = matches!(
            effect.id().kind,
            Kind::RoleBinding | Kind::ClusterRoleBinding
        );
        let is_kubeconfig = effect.id().name.starts_with("kubeconfig-");
        match (planted, effect) {
            (Some(Plant::KeepsKubeconfigs), Effect::Patch { .. } | Effect::Replace { .. })
                if is_kubeconfig =>
            {
                true
            }
            (Some(Plant::KeepsRights), Effect::Delete { .. }) if is_right => true,
            (Some(Plant::KeepsNamespaceMaps), effect) if effect.id().kind == Kind::NamespaceMap => {
                true
            }
            (Some(Plant::IgnoresVersions), Effect::Create(object)) => {
                store.put(object.clone());
                true
            }
            (Some(Plant::IgnoresVersions), effect) => store.apply_unversioned(effect),
            _ => store.apply(effect),
        }
    }

    /// The cluster that a peering belongs to: by the side that the cluster has in the honest
    /// peering.
    pub fn cluster(&self, at: At) -> Side {
        match self.cast.two_way {
            Some(_) if at.is_of_a_consumer_as_well() => Side::Provider,
            _ => at.side,
        }
    }

    /// The ID of that cluster.
    pub fn own_id(&self, at: At) -> &ClusterId {
        match at.side {
            Side::Provider => self.cast.id(Name::Provider),
            Side::Consumer => self.cast.consumer_of(at.peer).cluster_id(),
        }
    }

    /// The store of that cluster.
    pub fn stored_at(&self, state: &State, at: At) -> u32 {
        self.side(state, self.cluster(at))
    }

    pub fn side(&self, state: &State, side: Side) -> u32 {
        match side {
            Side::Provider => state.provider,
            Side::Consumer => state.consumer,
        }
    }

    pub fn with_messages(&self, air: u32, messages: &[Message]) -> u32 {
        if messages.is_empty() {
            return air;
        }
        let mut all = (*self.air(air)).clone();
        all.extend(messages.iter().map(|message| self.send(message)));
        self.keep_air(all)
    }

    /// The peerings of the honest clusters.
    pub fn peerings(&self) -> impl Iterator<Item = At> + '_ {
        let hostile = self.configuration.hostile;
        [
            (
                Side::Provider,
                Name::Consumer,
                self.configuration.has_consumer,
            ),
            (
                Side::Consumer,
                Name::Provider,
                self.configuration.has_consumer,
            ),
            (Side::Provider, Name::Hostile, hostile.is_consumer()),
            (Side::Consumer, Name::Hostile, hostile.is_provider()),
        ]
        .into_iter()
        .filter(|(_, _, is_there)| *is_there)
        .map(|(side, peer, _)| At { side, peer })
    }

    /// Where a message is delivered; nowhere if it is for the hostile cluster.
    pub fn addressee(&self, message: &Message) -> Option<At> {
        let peer = [Name::Provider, Name::Consumer, Name::Hostile]
            .into_iter()
            .find(|name| *self.cast.id(*name) == message.from)?;
        let side = match &message.to {
            to if to == self.cast.id(Name::Provider) => match message.body {
                MessageBody::Tenant(_) => Side::Provider,
                // The provider's cluster has another side in a two-way peering alone.
                _ if self.cast.two_way.is_none() => Side::Provider,
                _ => Side::Consumer,
            },
            to if to == self.cast.id(Name::Consumer) => Side::Consumer,
            _ => return None,
        };
        Some(At { side, peer })
    }
}
