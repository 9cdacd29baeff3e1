//! What becomes of a state if nothing disturbs the honest clusters any more.

use liqo_auth::{
    machine::{Message, MessageBody, Side},
    model::Object,
};

use crate::{
    calls::{self, At, Call},
    cast::Name,
    deeds::Plant,
    end::End,
    offloading,
    state::State,
    world::World,
};

/// More rounds than any run needs.
pub const MOST_ROUNDS: u8 = 10;

impl World {
    /// A fair run: in each round, each side looks once and carries everything out,
    /// what it sends arrives, Liqo binds, the signer signs, and slices and renewals are carried.
    /// Nobody gives another word, the hostile cluster does nothing, and no time
    /// passes.
    pub fn fair_end(&self, state: &State) -> End {
        let start = (state.provider, state.consumer, state.instant);
        if let Some(end) = self.fair.get(&start) {
            return end;
        }
        let mut passed = vec![start];
        let mut run = Run {
            world: self,
            provider: state.provider,
            consumer: state.consumer,
            instant: state.instant,
        };
        let mut end = loop {
            let before = (run.provider, run.consumer);
            run.round();
            let now = (run.provider, run.consumer, run.instant);
            if (run.provider, run.consumer) == before {
                break run.end(Some(0));
            }
            if let Some(end) = self.fair.get(&now) {
                break end;
            }
            if passed.len() > usize::from(2 * MOST_ROUNDS) {
                break run.end(None);
            }
            passed.push(now);
        };
        let is_at_rest = |end: &End| end.rounds == Some(0);
        let last_is_rest =
            is_at_rest(&end) && passed.last() == Some(&(run.provider, run.consumer, run.instant));
        for (number, state) in passed.into_iter().rev().enumerate() {
            if !(number == 0 && last_is_rest) {
                end.rounds = end.rounds.map(|rounds| rounds.saturating_add(1));
            }
            self.fair.put(state, end);
        }
        end
    }

    pub fn has_rights(&self, state: &State, peer: Name) -> bool {
        self.facts(state.provider, peer).bindings > 0
    }
}

struct Run<'w> {
    world: &'w World,
    provider: u32,
    consumer: u32,
    instant: u8,
}

impl Run<'_> {
    fn round(&mut self) {
        let peerings: Vec<At> = self.world.peerings().collect();
        for at in peerings {
            for message in self.call(at, Call::Reconcile) {
                self.deliver(&message);
            }
        }
        let mut store = (*self.world.store(self.provider)).clone();
        if offloading::bind(&mut store) {
            self.provider = self.world.keep(store);
        }
        if self.world.configuration.setup.kubernetes_signer {
            let mut store = (*self.world.store(self.provider)).clone();
            self.world.sign_all(&mut store, self.instant);
            self.provider = self.world.keep(store);
        }
        if self.world.configuration.replicates {
            self.replicate();
        }
    }

    fn call(&mut self, at: At, call: Call) -> Vec<Message> {
        let store = match self.world.cluster(at) {
            Side::Provider => &mut self.provider,
            Side::Consumer => &mut self.consumer,
        };
        let outcome = self.world.outcome(*store, at, call, self.instant, 0);
        let all = u8::try_from(outcome.effects.len()).expect("a step has few effects");
        *store = self.world.after(*store, at, call, self.instant, all);
        outcome.messages.clone()
    }

    fn deliver(&mut self, message: &Message) {
        let mut message = message.clone();
        if let MessageBody::Identity(identity) = &mut message.body
            && self.world.configuration.plant == Some(Plant::ChangesEndpoint)
        {
            identity.spec.auth_params.api_server = "https://10.0.0.9:6443".to_owned();
        }
        let message = &message;
        let is_lost = self.world.configuration.plant == Some(Plant::LosesIdentities)
            && matches!(message.body, MessageBody::Identity(_));
        let (provider, consumer) = (
            self.world.cast.id(Name::Provider),
            self.world.cast.id(Name::Consumer),
        );
        let at = match (&message.from, &message.to) {
            (from, to) if from == provider && to == consumer => At {
                side: Side::Consumer,
                peer: Name::Provider,
            },
            (from, to) if from == consumer && to == provider => At {
                side: Side::Provider,
                peer: Name::Consumer,
            },
            // To or from the hostile cluster, which does nothing.
            _ => return,
        };
        if !is_lost {
            let number = self.world.send(message);
            for answer in self.call(at, Call::Receive(number)) {
                if answer.to == *provider {
                    self.deliver(&answer);
                }
            }
        }
    }

    fn replicate(&mut self) {
        for to in [Side::Provider, Side::Consumer] {
            let (provider, consumer) = (
                self.world.store(self.provider),
                self.world.store(self.consumer),
            );
            let may = to == Side::Consumer
                || provider
                    .objects()
                    .any(|object| matches!(object, Object::RoleBinding(_)));
            if !may {
                continue;
            }
            let effects = calls::replicate(&self.world.cast, to, &provider, &consumer);
            let mut store = match to {
                Side::Provider => (*provider).clone(),
                Side::Consumer => (*consumer).clone(),
            };
            for effect in &effects {
                store.apply(effect);
            }
            match to {
                Side::Provider => self.provider = self.world.keep(store),
                Side::Consumer => self.consumer = self.world.keep(store),
            }
        }
    }

    fn end(&self, rounds: Option<u8>) -> End {
        let world = self.world;
        let (provider, consumer) = (world.store(self.provider), world.store(self.consumer));
        let has_consumer = world.configuration.has_consumer;
        let at_provider = At {
            side: Side::Provider,
            peer: if has_consumer {
                Name::Consumer
            } else {
                Name::Hostile
            },
        };
        let at_consumer = At {
            side: Side::Consumer,
            peer: if has_consumer {
                Name::Provider
            } else {
                Name::Hostile
            },
        };
        let store_of = |at: At| match world.cluster(at) {
            Side::Provider => &provider,
            Side::Consumer => &consumer,
        };
        let codes =
            [at_provider, at_consumer].map(|at| calls::transcript(&world.cast, store_of(at), at));
        let phase = |at: At| calls::phase(&world.cast, store_of(at), at, self.instant);
        let has_own_kubeconfig = |at: At| {
            at.side == Side::Provider
                || matches!(phase(at).0, "Refused" | "Ending")
                || world.has_own_kubeconfig(store_of(at), at, self.instant)
        };
        let [one, other] = codes;
        End {
            rounds,
            store: self.provider,
            provider: phase(at_provider),
            consumer: phase(at_consumer),
            agree: one.zip(other).map(|(one, other)| one == other),
            has_own_kubeconfigs: world.peerings().all(has_own_kubeconfig),
        }
    }
}
