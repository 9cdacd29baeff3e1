//! Courses of events, for property tests.

use proptest::prelude::*;

use super::{ALL, Event};
use crate::model::TenantCondition;

/// Events of an exchange with crashes, delays, repetitions and reorderings.
pub fn events() -> impl Strategy<Value = Vec<Event>> {
    let effects = || prop_oneof![3 => Just(ALL), 2 => 0_usize..4];
    let event = prop_oneof![
        4 => effects().prop_map(|effects| Event::Provider { effects }),
        4 => effects().prop_map(|effects| Event::Consumer { effects }),
        6 => (any::<usize>(), effects()).prop_map(|(message, effects)| Event::Deliver { message, effects }),
        1 => any::<bool>().prop_map(|answers| Event::Signer { answers }),
        1 => (0_u32..600).prop_map(|seconds| Event::Wait { seconds }),
    ];
    proptest::collection::vec(event, 0..24)
}

/// Events of a whole life: those of the exchange, and what comes after it.
pub fn events_of_a_life() -> impl Strategy<Value = Vec<Event>> {
    let effects = || prop_oneof![3 => Just(ALL), 2 => 0_usize..4];
    let conditions = [
        TenantCondition::Active,
        TenantCondition::Cordoned,
        TenantCondition::Drained,
    ];
    let event = prop_oneof![
        5 => effects().prop_map(|effects| Event::Provider { effects }),
        5 => effects().prop_map(|effects| Event::Consumer { effects }),
        5 => effects().prop_map(|effects| Event::Replicate { effects }),
        2 => (any::<usize>(), effects()).prop_map(|(message, effects)| Event::Deliver { message, effects }),
        1 => any::<bool>().prop_map(|answers| Event::Signer { answers }),
        1 => (0_u32..600).prop_map(|seconds| Event::Wait { seconds }),
        3 => prop::bool::weighted(0.7).prop_map(|wanted| Event::Slice { wanted }),
        2 => prop::sample::select(conditions.to_vec()).prop_map(|condition| Event::Condition { condition }),
    ];
    proptest::collection::vec(event, 0..40)
}
