//! The transitions of the honest clusters.

use std::sync::Arc;

use liqo_auth::{
    crypto::Entropy,
    machine::Side,
    model::{Bytes, CertificateSigningRequest, Resource},
};

use crate::{
    calls::{self, At, Call},
    cast::Name,
    ghost::Word,
    instants::instant,
    judgement::Made,
    state::{Held, State},
    store::{Signed, Store},
    witness::Asked,
    world::World,
};

impl World {
    pub fn make(&self, state: &State, at: At, call: Call, effects: u8) -> State {
        let store = self.stored_at(state, at);
        let outcome = self.outcome(store, at, call, state.instant, 0);
        let is_whole = usize::from(effects) == outcome.effects.len() && outcome.error.is_none();
        let after = self.after(store, at, call, state.instant, effects);
        let mut next = *state;
        match self.cluster(at) {
            Side::Provider => next.provider = after,
            Side::Consumer => next.consumer = after,
        }
        if is_whole {
            next.air = self.with_messages(next.air, &outcome.messages);
        } else {
            next.left.crashes = next.left.crashes.saturating_sub(1);
        }
        let word = word(call).filter(|_| outcome.error.is_none() && (effects > 0 || is_whole));
        next.left.words -= u8::from(is_word(call));
        self.judge(
            &mut next,
            state,
            at,
            &Made {
                outcome: &outcome,
                word: word.map(|word| (word, is_whole)),
                requests_slice: call == Call::RequestSlice,
                asks: true,
                may_be_stale: false,
            },
        );
        next
    }

    pub fn apply(&self, state: &State, replica: u8) -> Option<State> {
        let held = state.replicas[usize::from(replica)]?;
        let outcome = self.outcome(held.seen, held.at, held.call, held.instant, replica);
        let mut next = *state;
        let slot = &mut next.replicas[usize::from(replica)];
        let mut applied = true;
        if let Some(effect) = outcome.effects.get(usize::from(held.done)) {
            let mut store = (*self.store(state.provider)).clone();
            applied = self.carry_out(&mut store, effect);
            store.drawn += u8::from(outcome.is_random && held.done == 0 && applied);
            next.provider = self.keep(store);
        }
        let done = held.done + 1;
        let is_whole = applied && usize::from(done) >= outcome.effects.len();
        *slot = (applied && !is_whole).then_some(Held { done, ..held });
        if is_whole {
            next.air = self.with_messages(next.air, &outcome.messages);
        }
        let word = word(held.call).filter(|_| applied);
        self.judge(
            &mut next,
            state,
            held.at,
            &Made {
                outcome: &outcome,
                word: word.map(|word| (word, is_whole)),
                requests_slice: false,
                asks: false,
                may_be_stale: true,
            },
        );
        Some(next)
    }

    /// A replica looks: it asks its signer, and changes nothing yet.
    pub fn look(&self, state: &State, replica: u8, at: At, call: Call) -> State {
        let outcome = self.outcome(state.provider, at, call, state.instant, replica);
        let mut next = *state;
        let mut store = (*self.store(state.provider)).clone();
        store.ledger.clone_from(&outcome.witness.ledger);
        next.left.words -= u8::from(is_word(call));
        next.provider = self.keep(store);
        next.replicas[usize::from(replica)] = Some(Held {
            seen: state.provider,
            at,
            call,
            instant: state.instant,
            done: 0,
        });
        self.judge(
            &mut next,
            state,
            at,
            &Made {
                outcome: &outcome,
                word: None,
                requests_slice: false,
                asks: true,
                may_be_stale: true,
            },
        );
        next
    }

    pub fn replicate(&self, state: &State, to: Side, effects: u8) -> State {
        let (provider, consumer) = (self.store(state.provider), self.store(state.consumer));
        let all = calls::replicate(&self.cast, to, &provider, &consumer);
        let mut store = (*self.store(self.side(state, to))).clone();
        for effect in all.iter().take(effects.into()) {
            store.apply(effect);
        }
        let mut next = *state;
        match to {
            Side::Provider => next.provider = self.keep(store),
            Side::Consumer => next.consumer = self.keep(store),
        }
        next
    }

    /// The controller manager signs every request that is approved.
    pub fn sign(&self, state: &State) -> Option<State> {
        let mut store = (*self.store(state.provider)).clone();
        let signed = self.sign_all(&mut store, state.instant);
        if signed.is_empty() {
            return None;
        }
        let mut next = *state;
        next.provider = self.keep(store);
        for asked in signed {
            let peer = [Name::Consumer, Name::Hostile]
                .into_iter()
                .find(|name| *self.cast.id(*name) == asked.peer)?;
            let outcome = calls::Outcome::of_signer(asked);
            let before = State {
                ghost: next.ghost,
                ..*state
            };
            let at = At {
                side: Side::Provider,
                peer,
            };
            self.judge(
                &mut next,
                &before,
                at,
                &Made {
                    outcome: &outcome,
                    word: None,
                    requests_slice: false,
                    asks: true,
                    may_be_stale: self.configuration.replicas,
                },
            );
        }
        Some(next)
    }

    /// Signs what is approved in a store, and tells what was signed.
    pub fn sign_all(&self, store: &mut Store, now: u8) -> Vec<Asked> {
        let requests: Vec<CertificateSigningRequest> = store
            .objects()
            .filter_map(|object| CertificateSigningRequest::from_object(object).cloned())
            .collect();
        let mut all = Vec::new();
        for mut request in requests {
            let number = u8::try_from(store.ledger.len()).expect("few are signed");
            let entropy = Entropy::from_bytes([number + 1; 32]);
            let signed = self
                .cast
                .authority
                .sign_approved(&request, instant(now), &entropy);
            let Ok(Some(chain)) = signed else {
                continue;
            };
            request.status.certificate = Bytes::from(chain.pem());
            store.ledger.push(Arc::new(Signed {
                request: request.metadata.name.clone(),
                chain: chain.clone(),
            }));
            all.extend(Asked::of_request(&request, chain));
            store.put(request.into());
        }
        all
    }
}

/// What a call says of the administrator's will.
fn word(call: Call) -> Option<Word> {
    match call {
        Call::Invite | Call::ReplaceNonce => Some(Word::Invited),
        Call::End => Some(Word::Ended),
        Call::EndForGood => Some(Word::EndedForGood),
        Call::SetCondition(condition) => Some(Word::Condition(condition)),
        _ => None,
    }
}

fn is_word(call: Call) -> bool {
    !matches!(call, Call::Reconcile | Call::Receive(_))
}
