//! The model: which actions a state allows, and where they lead.

use std::collections::BTreeSet;

use liqo_auth::machine::Side;
use stateright::{Model, Property};

use crate::{
    calls::{self, At, Call},
    cast::Name,
    ghost::Ghost,
    hostile,
    instants::INSTANTS,
    offloading, planted, properties,
    state::{Action, State},
    store::Store,
    world::World,
};

impl Model for World {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let configuration = &self.configuration;
        let start = State {
            provider: self.keep(Store::of(self.cast.at_provider())),
            consumer: self.keep(Store::default()),
            air: self.keep_air(BTreeSet::new()),
            ghost: self.keep_ghost(Ghost::default()),
            instant: 0,
            left: configuration.left,
            replicas: [None; 2],
            broken: 0,
        };
        vec![match configuration.has_let_in {
            true => State {
                left: start.left,
                ..hostile::let_in(self, &start)
            },
            false => start,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for at in self.peerings() {
            self.actions_at(state, at, actions);
        }
        for replica in 0..2_u8 {
            if state.replicas[usize::from(replica)].is_some() {
                actions.push(Action::Apply { replica });
                actions.push(Action::Crash { replica });
            }
        }
        if self.configuration.setup.kubernetes_signer {
            actions.push(Action::Sign);
        }
        if offloading::bind(&mut (*self.store(state.provider)).clone()) {
            actions.push(Action::Offload);
        }
        if self.configuration.replicates {
            let (provider, consumer) = (self.store(state.provider), self.store(state.consumer));
            for to in [Side::Provider, Side::Consumer] {
                let all = calls::replicate(&self.cast, to, &provider, &consumer).len();
                let all = u8::try_from(all).expect("few objects are carried");
                let may = to == Side::Consumer || self.has_rights(state, Name::Consumer);
                if may && all > 0 {
                    actions.push(Action::Replicate { to, effects: all });
                }
            }
        }
        if usize::from(state.instant) + 1 < INSTANTS.len()
            && state.instant < self.configuration.last_instant
        {
            actions.push(Action::Wait);
        }
        if state.left.deeds > 0 {
            let deeds = hostile::possible(self, state);
            actions.extend(deeds.into_iter().map(Action::Do));
        }
        if state.left.plants > 0
            && let Some(plant) = self.configuration.plant
        {
            actions.push(Action::Plant(plant));
        }
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        let next = match action {
            Action::Make { at, call, effects } => self.make(state, at, call, effects),
            Action::Look { replica, at, call } => {
                let outcome = self.outcome(state.provider, at, call, state.instant, replica);
                if outcome.effects.is_empty() && outcome.messages.is_empty() {
                    return None;
                }
                self.look(state, replica, at, call)
            }
            Action::Apply { replica } => self.apply(state, replica)?,
            Action::Crash { replica } => {
                let mut next = *state;
                next.replicas[usize::from(replica)] = None;
                next
            }
            Action::Sign => self.sign(state)?,
            Action::Offload => {
                let mut store = (*self.store(state.provider)).clone();
                offloading::bind(&mut store);
                State {
                    provider: self.keep(store),
                    ..*state
                }
            }
            Action::Replicate { to, effects } => self.replicate(state, to, effects),
            Action::Wait => State {
                instant: state.instant + 1,
                ..*state
            },
            Action::Do(deed) => {
                let mut next = hostile::done(self, state, deed)?;
                next.left.deeds -= 1;
                next
            }
            Action::Plant(plant) => {
                let mut next = planted::happen(self, state, plant)?;
                next.left.plants -= 1;
                next
            }
        };
        let is_same = State {
            left: state.left,
            ..next
        } == *state;
        (!is_same).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all()
    }

    fn format_step(&self, state: &State, action: Action) -> Option<String> {
        let of = match action {
            Action::Make { at, call, .. } => {
                let store = self.stored_at(state, at);
                let outcome = self.outcome(store, at, call, state.instant, 0);
                let error = outcome.error.as_ref().map_or("", |error| error.code());
                format!(" of {} {error}", outcome.effects.len())
            }
            _ => String::new(),
        };
        Some(self.format_action(&action) + &of)
    }

    fn format_action(&self, action: &Action) -> String {
        match action {
            Action::Make {
                call: Call::Receive(number),
                ..
            } => {
                let message = self.message(*number);
                format!("{action:?}: {} of {}", message.body.name(), message.from)
            }
            _ => format!("{action:?}"),
        }
    }
}

impl World {
    fn calls(&self, state: &State, at: At) -> Vec<Call> {
        let mut calls = vec![Call::Reconcile];
        let air = self.air(state.air);
        let for_it = air
            .iter()
            .filter(|number| self.addressee(&self.message(**number)) == Some(at));
        calls.extend(for_it.map(|number| Call::Receive(*number)));
        if state.left.words > 0 {
            let words = self.configuration.words;
            calls.extend(words.iter().filter(|call| side_of(**call) == at.side));
        }
        calls
    }

    fn actions_at(&self, state: &State, at: At, actions: &mut Vec<Action>) {
        let store = self.stored_at(state, at);
        for call in self.calls(state, at) {
            if self.configuration.replicas && at.side == Side::Provider {
                // Idle replicas are alike: the first one looks.
                let idle = (0..2_u8).find(|it| state.replicas[usize::from(*it)].is_none());
                actions.extend(idle.map(|replica| Action::Look { replica, at, call }));
                continue;
            }
            let outcome = self.outcome(store, at, call, state.instant, 0);
            let all = u8::try_from(outcome.effects.len()).expect("a step has few effects");
            let crashes = state.left.crashes > 0;
            let lengths = if crashes { 0..all } else { 0..0 };
            for effects in lengths.chain([all]) {
                actions.push(Action::Make { at, call, effects });
            }
        }
    }
}

fn side_of(call: Call) -> Side {
    match call {
        Call::Unauthenticate | Call::RequestSlice | Call::DeleteSlice => Side::Consumer,
        _ => Side::Provider,
    }
}
