//! Sequences of events, for property tests.

use liqo_auth::model::TenantCondition;
use proptest::prelude::*;

use crate::{ALL, Occurrence};

/// Events of an exchange, with crashes, delays, repetitions and reorderings.
pub fn occurrences() -> impl Strategy<Value = Vec<Occurrence>> {
    let effects = || prop_oneof![3 => Just(ALL), 2 => 0_usize..4];
    let event = prop_oneof![
        4 => effects().prop_map(|effects| Occurrence::Provider { effects }),
        4 => effects().prop_map(|effects| Occurrence::Consumer { effects }),
        6 => (any::<usize>(), effects()).prop_map(|(message, effects)| Occurrence::Deliver { message, effects }),
        1 => any::<bool>().prop_map(|answers| Occurrence::Signer { answers }),
        1 => (0_u32..600).prop_map(|seconds| Occurrence::Wait { seconds }),
    ];
    proptest::collection::vec(event, 0..24)
}

/// Events of a whole peering: those of the exchange and those after it.
pub fn occurrences_of_a_life() -> impl Strategy<Value = Vec<Occurrence>> {
    let effects = || prop_oneof![3 => Just(ALL), 2 => 0_usize..4];
    let conditions = [
        TenantCondition::Active,
        TenantCondition::Cordoned,
        TenantCondition::Drained,
    ];
    let event = prop_oneof![
        5 => effects().prop_map(|effects| Occurrence::Provider { effects }),
        5 => effects().prop_map(|effects| Occurrence::Consumer { effects }),
        5 => effects().prop_map(|effects| Occurrence::Replicate { effects }),
        2 => (any::<usize>(), effects()).prop_map(|(message, effects)| Occurrence::Deliver { message, effects }),
        1 => any::<bool>().prop_map(|answers| Occurrence::Signer { answers }),
        1 => (0_u32..600).prop_map(|seconds| Occurrence::Wait { seconds }),
        3 => prop::bool::weighted(0.7).prop_map(|wanted| Occurrence::Slice { wanted }),
        2 => prop::sample::select(conditions.to_vec()).prop_map(|condition| Occurrence::Condition { condition }),
    ];
    proptest::collection::vec(event, 0..40)
}
