//! Two instances of a provider with the signer of Kubernetes.

use liqo_auth::{
    Machine,
    machine::{ApplyError, Effect},
};
use proptest::prelude::*;

use super::kubernetes_signer::{exchange, provider, requests, sign_approved};
use crate::clusters::exchange::RECORD_KEY;

/// The next action: of one of two instances, or of the signer.
#[derive(Debug, Clone, Copy)]
enum Turn {
    /// The instance reconciles.
    Look(usize),
    /// The instance applies the next effect of its last step.
    Apply(usize),
    /// The controller manager signs what is approved.
    Sign,
}

fn turns() -> impl Strategy<Value = Vec<Turn>> {
    let turn = prop_oneof![
        (0..2_usize).prop_map(Turn::Look),
        (0..2_usize).prop_map(Turn::Apply),
        (0..2_usize).prop_map(Turn::Apply),
        Just(Turn::Sign),
    ];
    proptest::collection::vec(turn, 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Two instances work on one API server, from the Tenant on. However their effects
    /// are interleaved, they make one request and get one certificate.
    #[test]
    fn two_instances_make_one_request_and_get_one_certificate(turns in turns()) {
        let mut exchange = exchange();
        exchange.turn_of_provider();
        exchange.deliver("nonce");
        exchange.deliver("Tenant");
        let instances = [provider(RECORD_KEY), provider(RECORD_KEY)];
        let mut pending: [Vec<Effect>; 2] = Default::default();
        let mut signed = 0;
        for turn in turns.into_iter().chain(rest()) {
            match turn {
                Turn::Look(instance) => {
                    let mut step = instances[instance]
                        .reconcile(&exchange.provider_view(), exchange.env())
                        .unwrap();
                    step.effects.reverse();
                    pending[instance] = step.effects;
                }
                Turn::Apply(instance) => {
                    let Some(effect) = pending[instance].pop() else {
                        continue;
                    };
                    match exchange.at_provider.apply(&effect) {
                        Ok(()) => {}
                        Err(ApplyError::Exists(_) | ApplyError::Changed(_) | ApplyError::Missing(_)) => {
                            pending[instance].clear();
                        }
                        Err(error) => panic!("{error}"),
                    }
                }
                Turn::Sign => signed += sign_approved(&mut exchange),
            }
        }
        prop_assert_eq!(exchange.provider_phase().name(), "Authenticated");
        prop_assert_eq!(requests(&exchange.at_provider).len(), 1);
        prop_assert_eq!(signed, 1);
    }
}

/// Enough undisturbed turns to complete any exchange.
fn rest() -> impl Iterator<Item = Turn> {
    (0..8).flat_map(|round| {
        let instance = round % 2;
        [Turn::Look(instance)]
            .into_iter()
            .chain(std::iter::repeat_n(Turn::Apply(instance), 12))
            .chain([Turn::Sign])
    })
}
