//! Renewals after a crash, and after a jump of the clock.

use core::time::Duration;

use liqo_auth::{
    consumer::{Renewal, RenewalScheme},
    machine::Effect,
    model::Object,
};

use super::by;
use crate::consumer::home::{HOUR, Home, MINUTE, crash_everywhere};

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_jumping_clock_causes_no_loop_of_renewals() {
    let mut home = by(RenewalScheme::ByConsumer, HOUR);
    let issued = home.now;
    // The clock jumps back and forth before the certificate is due.
    for at in [
        issued - 4 * MINUTE,
        issued + 39 * MINUTE,
        issued - MINUTE,
        issued,
    ] {
        home.now = at;
        let step = home.settle();
        assert_eq!(step.wait.wake_at, Some(issued + 40 * MINUTE));
        assert_eq!(home.renew(), None);
    }
    // The clock jumps to a time when the certificate is due, and back. The
    // request was made once.
    home.now = issued + 45 * MINUTE;
    home.settle();
    assert!(home.renew().is_some());
    home.now = issued + MINUTE;
    for _ in 0..3 {
        assert!(home.turn().is_settled());
    }
    home.answer_renew(home.issue(HOUR));
    home.settle();
    assert_eq!(home.renew(), None);
    assert_eq!(
        home.held().renewal,
        Renewal::NotBefore(issued + MINUTE + 40 * MINUTE)
    );
}

#[test]
fn a_crash_anywhere_loses_nothing() {
    // Crashes at the channel's creation, at an answer through it, at a request,
    // and at its answer.
    let mut start = Home::new();
    start.sign_nonce(7);
    let identity = start.identity(&start.issue(HOUR));
    start.receive(identity).unwrap();
    crash_everywhere(&start, Home::reconciled);
    let mut start = Home::authenticated(HOUR);
    start.now = start.now + MINUTE;
    start.answer_renew(start.issue(HOUR));
    crash_everywhere(&start, Home::reconciled);
    // One that ends earlier takes its place.
    start.answer_renew(start.issue(30 * MINUTE));
    crash_everywhere(&start, Home::reconciled);
    for scheme in [RenewalScheme::ByEvidence, RenewalScheme::ByConsumer] {
        let mut start = by(scheme, HOUR);
        start.now = start.now + 41 * MINUTE;
        crash_everywhere(&start, Home::reconciled);
        start.settle();
        start.answer_renew(start.issue(HOUR));
        crash_everywhere(&start, Home::reconciled);
    }
}

#[test]
fn a_recorded_request_that_was_not_sent_is_sent() {
    let mut home = by(RenewalScheme::ByConsumer, HOUR);
    home.now = home.now + 41 * MINUTE;
    let mut step = home.reconciled();
    assert_eq!(step.effects.len(), 2);
    step.effects.truncate(1);
    home.carry_out(step);
    assert_eq!(home.renew(), None);
    home.now = home.now + SECOND;
    let step = home.turn();
    assert!(matches!(
        &step.effects[..],
        [Effect::Create(Object::Renew(_))]
    ));
}
