//! A peer cannot have certificates signed without end.

use core::time::Duration;
use std::sync::atomic::Ordering;

use liqo_auth::{
    error::Error,
    machine::Notice,
    model::ResourceSliceConditionStatus as Said,
    policy::{Limits, Policy},
};

use crate::clusters::pool::{Pool, replica};

const ACCEPTED: [Option<Said>; 2] = [Some(Said::Accepted), Some(Said::Accepted)];
const BURST: usize = 128;
const INTERVAL: Duration = Duration::from_secs(600);

/// The peer makes the same slice again and again.
fn again(pool: &mut Pool) {
    if pool.slice("mypool").is_some() {
        pool.remove("mypool");
    }
    pool.bring(replica("mypool")).settle();
}

#[test]
fn slices_made_again_and_again_are_signed_at_a_rate() {
    let mut pool = Pool::new();
    for _ in 0..BURST + 72 {
        again(&mut pool);
    }
    assert_eq!(pool.signer.asked.load(Ordering::Relaxed), BURST);
    // The peer is told why, and when it goes on.
    assert_eq!(pool.refused, []);
    assert_eq!(pool.wake_at, Some(pool.now + INTERVAL));
    let step = pool.reconcile();
    let waits = Notice::SignaturesWait {
        until: pool.now + INTERVAL,
    };
    assert!(step.notices.contains(&waits), "{:?}", step.notices);
    assert_eq!(pool.said("mypool"), [None, None]);

    pool.wait(INTERVAL).settle();
    assert_eq!(pool.said("mypool"), ACCEPTED);
    assert!(pool.reconcile().notices.is_empty());
    again(&mut pool);
    assert_eq!(pool.said("mypool"), [None, None]);
    // The clock was a month ahead: nothing waits longer for it.
    let right = pool.now;
    pool.wait(Duration::from_secs(30 * 24 * 3600));
    for _ in 0..BURST {
        again(&mut pool);
    }
    pool.now = right;
    again(&mut pool);
    assert_eq!(pool.said("mypool"), [None, None]);
    assert_eq!(pool.wake_at, Some(pool.now + INTERVAL));
    pool.wait(INTERVAL).settle();
    assert_eq!(pool.said("mypool"), ACCEPTED);
}

/// The provider stops after it has written the peer's record, again and again.
#[test]
fn a_request_that_is_tried_again_counts_once() {
    let mut pool = Pool::new();
    pool.bring(replica("mypool"));
    for _ in 0..=BURST {
        for effect in pool.reconcile().effects {
            if effect.id().name == "liqo-auth-provider-cl-consumer" {
                pool.at_provider.apply(&effect).unwrap();
            }
        }
    }
    assert_eq!(pool.records(), [""; 0]);
    pool.settle();
    assert_eq!(pool.said("mypool"), ACCEPTED);
}

/// A request that the record held before is signed anew, so it counts anew.
#[test]
fn requests_that_take_turns_are_signed_at_a_rate() {
    let mut pool = Pool::new();
    pool.bring(replica("mypool")).settle();
    let uids = ["one", "other"];
    for round in 0..BURST {
        let uid = uids[round % 2];
        pool.edit("mypool", |slice| slice.metadata.uid = uid.to_owned());
        pool.settle();
    }
    assert_eq!(pool.signer.asked.load(Ordering::Relaxed), BURST);
    assert_eq!(pool.wake_at, Some(pool.now + INTERVAL));
}

#[test]
fn a_peer_with_all_its_slices_does_not_meet_the_rate() {
    let mut pool = Pool::new();
    for round in 0..2 {
        for number in 0..64 {
            let name = format!("pool{number}");
            if round == 1 {
                pool.remove(&name);
            }
            pool.bring(replica(&name));
        }
        pool.settle();
        for number in 0..64 {
            assert_eq!(pool.said(&format!("pool{number}")), ACCEPTED, "{number}");
        }
    }
    // Renewals are this side's own.
    pool.now = pool.slice_due();
    pool.settle();
    let waits = |notice: &Notice| matches!(notice, Notice::SignaturesWait { .. });
    assert!(!pool.reconcile().notices.iter().any(waits));
}

#[test]
fn records_of_slices_that_are_gone_have_a_limit() {
    let limits = Limits {
        slice_records: 3,
        ..Limits::default()
    };
    let mut policy = Policy::strict();
    policy.limits = limits;
    let mut pool = Pool::with(|builder| builder.configure(|config| config.policy = policy));
    for name in ["a", "b", "c"] {
        pool.bring(replica(name)).settle();
        assert_eq!(pool.said(name), ACCEPTED);
        pool.remove(name).settle();
    }
    let fault = |error: &Error| error.code().to_owned();
    pool.bring(replica("d")).settle();
    assert_eq!(pool.phase("d"), "Refused");
    let refused = pool.reconcile().refused;
    let refused: Vec<String> = refused
        .iter()
        .map(|refused| fault(&refused.error))
        .collect();
    assert_eq!(refused, ["too-many-slice-records"]);
    // The name of a slice that has a record is no new one.
    pool.bring(replica("a")).settle();
    assert_eq!(pool.said("a"), ACCEPTED);

    pool.wait(Duration::from_secs(366 * 24 * 3600)).settle();
    assert_eq!(pool.said("d"), ACCEPTED);
}
