//! Thousands of slices cost one pass over them: no backend is asked about those
//! that are too many.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use liqo_auth::{
    crypto::{Answer, BoxError},
    error::{Fault, PolicyRefusal},
    model::TenantCondition,
    provider::{NameRequest, Principals},
};

use crate::{
    clusters::pool::{Pool, replica, resources},
    work::result_within,
};

#[derive(Default)]
struct Counting(AtomicUsize);

impl Principals for Counting {
    fn is_taken(&self, _: &NameRequest<'_>) -> Result<Answer<bool>, BoxError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(Answer::Ready(false))
    }
}

#[test]
fn eight_thousand_slices_are_dealt_with_in_a_pass() {
    let names = Arc::new(Counting::default());
    let asked: Arc<dyn Principals> = names.clone();
    let mut pool = Pool::with(|builder| builder.principals(asked));
    bring_slices(&mut pool, 8000);
    pool.settle();
    assert_eq!(names.0.load(Ordering::Relaxed), 0, "no request is verified");
    let surplus = Fault::Policy(PolicyRefusal::TooManySlices { limit: 64 });
    let refused = pool.refused.iter();
    let refused = refused.filter(|(_, error)| *error.fault() == surplus);
    assert_eq!(refused.count(), 8000 - 64);
    // What the peer wrote in the surplus grants nothing.
    assert_eq!(
        pool.slice("pool999").unwrap().status.resources,
        resources(&[])
    );

    pool.write_condition(TenantCondition::Drained).settle();
    assert!(pool.slice("pool0").is_none() && pool.slice("pool999").is_none());
}

/// A step that looks at all slices for each slice looks at slices as often as 256 steps for
/// a 16th of the slices.
#[test]
fn the_work_for_many_slices_grows_with_their_number() {
    const FEW: usize = 500;
    const TIMES: usize = 16;
    let (few, many) = (with_slices(FEW), with_slices(FEW * TIMES));
    let effects = |pool: &Pool| pool.reconcile().effects.len();
    let few_effects = || assert_eq!(effects(&few), FEW);
    let done = result_within(8 * TIMES, few_effects, move || effects(&many));
    assert_eq!(done, Some(FEW * TIMES));
}

fn with_slices(number: usize) -> Pool {
    let mut pool = Pool::new();
    bring_slices(&mut pool, number);
    pool
}

fn bring_slices(pool: &mut Pool, number: usize) {
    let mut slice = replica("mypool");
    slice.status.resources = resources(&[("cpu", "1000")]);
    for number in 0..number {
        slice.metadata.name = format!("pool{number}");
        pool.bring(slice.clone());
    }
}
