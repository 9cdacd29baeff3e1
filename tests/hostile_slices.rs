//! What a peer cannot reach by the slices that it may write whole.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)] // Tests may panic.

mod exchange;
mod pool;

use core::time::Duration;
use std::sync::atomic::Ordering;

use liqo_auth::model::{ResourceSliceConditionStatus as Said, ResourceSliceStatus, names};

use pool::{Pool, replica};

const ACCEPTED: [Option<Said>; 2] = [Some(Said::Accepted), Some(Said::Accepted)];

#[test]
fn many_slices_at_once_are_signed_once_each() {
    let mut pool = Pool::new();
    for number in 0..8 {
        pool.bring(replica(&format!("pool{number}")));
    }
    // Each look is later, so that each certificate ends later.
    for _ in 0..4 {
        pool.look(usize::MAX);
        pool.wait(Duration::from_secs(1));
    }
    for number in 0..8 {
        assert_eq!(pool.said(&format!("pool{number}")), ACCEPTED, "{number}");
    }
    assert_eq!(pool.signer.asked.load(Ordering::Relaxed), 8);

    // With the control plane's own renewal in the same step, too.
    let due = pool.slice_due();
    pool.now = due;
    pool.settle();
    assert_eq!(pool.signer.asked.load(Ordering::Relaxed), 8 + 9);
}

#[test]
fn a_peer_that_writes_again_and_again_has_its_renewal_signed_once() {
    let mut pool = Pool::new();
    pool.bring(replica("mypool")).settle();
    pool.now = pool.slice_due();
    let before = pool.signer.asked.load(Ordering::Relaxed);
    for _ in 0..4 {
        pool.edit("mypool", |slice| {
            slice.status = ResourceSliceStatus::default();
            let annotations = &mut slice.metadata.annotations;
            annotations.insert(names::CORDON_TENANT_ANNOTATION.into(), "true".into());
        });
        pool.look(usize::MAX);
        pool.wait(Duration::from_secs(1));
    }
    // The slice's, and the control plane's own.
    assert_eq!(pool.signer.asked.load(Ordering::Relaxed), before + 2);
}
