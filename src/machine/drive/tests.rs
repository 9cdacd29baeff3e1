use super::*;
use crate::{
    error::{ApiMisuse, Error},
    machine::{Awaited, Refused, Version, Wait},
    model::{Kind, Timestamp},
};

fn effects(number: usize) -> Step {
    let effect = |number: usize| Effect::Delete {
        id: ObjectRef::new(Kind::Secret, "liqo", number.to_string()),
        version: Version::default(),
    };
    Step {
        effects: (0..number).map(effect).collect(),
        ..Step::default()
    }
}

fn look(milliseconds: u64) -> Result<Next<'static>, Stopped> {
    Ok(Next::Look {
        after: Duration::from_millis(milliseconds),
    })
}

/// Applies the effect that is next.
fn apply(run: &mut Run, applied: Applied) {
    assert!(matches!(run.next(), Ok(Next::Apply(_))), "{run:?}");
    run.applied(applied);
}

#[test]
fn a_run_looks_again_after_all_effects_until_none_is_left() {
    let mut run = Run::to_rest();
    assert_eq!(run.next(), look(0));
    run.looked(effects(2));
    apply(&mut run, Applied::Shown);
    assert_eq!(run.carried_out(), None);
    apply(&mut run, Applied::Shown);
    assert_eq!(run.carried_out(), Some(&effects(2)));
    assert_eq!(run.next(), look(0));
    run.looked(Step::default());
    assert_eq!(run.next(), Ok(Next::Rest));
    assert_eq!(run.into_step(), Step::default());
}

#[test]
fn one_step_is_enough_for_an_order() {
    let mut run = Run::of_one_step();
    run.looked(effects(1));
    apply(&mut run, Applied::Unshown);
    assert_eq!(run.next(), Ok(Next::Rest));
    assert_eq!(run.into_step(), effects(1));
}

#[test]
fn what_a_step_misses_is_asked_for_before_an_effect() {
    let missing = ObjectRef::new(Kind::Tenant, "t", "rome");
    let step = Step {
        absent: Some(missing.clone()),
        ..effects(2)
    };
    let mut run = Run::to_rest();
    run.looked(step.clone());
    assert_eq!(run.next(), Ok(Next::Confirm(&missing)));
    run.confirmed(false);
    assert_eq!((run.next(), run.carried_out()), (look(0), None));

    run.looked(step.clone());
    assert_eq!(run.next(), Ok(Next::Confirm(&missing)));
    run.confirmed(true);
    apply(&mut run, Applied::Shown);
    apply(&mut run, Applied::Shown);
    assert_eq!(run.next(), look(0));
    // Each step is asked about.
    run.looked(step);
    assert_eq!(run.next(), Ok(Next::Confirm(&missing)));
    // Nothing is asked for a step that does nothing.
    run.looked(Step {
        absent: Some(missing),
        ..Step::default()
    });
    assert_eq!(run.next(), Ok(Next::Rest));
}

#[test]
fn an_object_that_is_never_shown_ends_the_run() {
    let mut run = Run::to_rest();
    for _ in 0..1000 {
        match run.next() {
            Ok(Next::Look { .. }) => run.looked(Step {
                absent: Some(ObjectRef::new(Kind::Tenant, "t", "rome")),
                ..effects(1)
            }),
            Ok(Next::Confirm(_)) => run.confirmed(false),
            next => {
                assert_eq!(next, Err(Stopped::Restless { steps: 32 }));
                return;
            }
        }
    }
    panic!("the run does not end");
}

#[test]
fn what_a_watch_will_show_is_waited_for() {
    let mut run = Run::to_rest();
    run.looked(effects(2));
    apply(&mut run, Applied::Unshown);
    apply(&mut run, Applied::Shown);
    assert_eq!(run.next(), look(1000));
    run.looked(effects(1));
    apply(&mut run, Applied::Shown);
    assert_eq!(run.next(), look(0));
}

#[test]
fn after_a_conflict_the_step_is_made_anew_and_the_pauses_grow() {
    for mut run in [Run::to_rest(), Run::of_one_step()] {
        for overtakings in 1..=8 {
            run.looked(effects(2));
            apply(&mut run, Applied::Overtaken);
            assert_eq!(run.carried_out(), None);
            assert_eq!(run.next(), look(50 * overtakings));
        }
        run.looked(effects(2));
        apply(&mut run, Applied::Overtaken);
        let id = ObjectRef::new(Kind::Secret, "liqo", "0");
        assert_eq!(run.overtaken(), Some(&id));
        assert_eq!(run.next(), Err(Stopped::Overtaken(id)));
    }
}

#[test]
fn a_success_ends_the_row_of_conflicts() {
    let mut run = Run::to_rest();
    for _ in 0..20 {
        run.looked(effects(2));
        apply(&mut run, Applied::Shown);
        apply(&mut run, Applied::Overtaken);
        assert_eq!(run.next(), look(50));
    }
}

#[test]
fn a_peering_that_does_not_come_to_rest_is_left() {
    let mut run = Run::to_rest();
    for _ in 0..32 {
        assert_eq!(run.next(), look(0));
        run.looked(effects(1));
        apply(&mut run, Applied::Shown);
    }
    assert_eq!(run.next(), Err(Stopped::Restless { steps: 32 }));
}

#[test]
fn a_refusal_counts_if_it_stays() {
    let refused = || Step {
        refused: vec![Refused {
            object: None,
            error: Error::new(ApiMisuse::NotAddressable, None, ""),
        }],
        ..Step::default()
    };
    let mut run = Run::to_rest();
    run.looked(refused());
    assert_eq!(run.next(), Ok(Next::Rest));

    let mut run = Run::to_rest().doubting_refusals();
    for pause in [100, 300, 1000] {
        run.looked(refused());
        assert_eq!(run.next(), look(pause));
    }
    run.looked(refused());
    assert_eq!(run.next(), Ok(Next::Rest));

    let mut run = Run::to_rest().doubting_refusals();
    run.looked(refused());
    assert_eq!(run.next(), look(100));
    run.looked(Step::default());
    assert_eq!(run.next(), Ok(Next::Rest));
}

#[test]
fn the_next_run_is_due_at_the_wake_up_time_or_while_a_backend_is_asked() {
    let now = Timestamp::from_unix(100).unwrap();
    let poll = Duration::from_secs(10);
    let wait = |wake_at: Option<i64>, awaiting: &[Awaited]| Wait {
        wake_at: wake_at.map(|seconds| Timestamp::from_unix(seconds).unwrap()),
        awaiting: awaiting.to_vec(),
    };
    for (wait, seconds) in [
        (wait(None, &[]), None),
        (wait(None, &[Awaited::Nonce]), None),
        (wait(Some(103), &[]), Some(3)),
        (wait(Some(90), &[]), Some(1)),
        (wait(None, &[Awaited::Nonce, Awaited::Approval]), Some(10)),
        (wait(Some(103), &[Awaited::Names]), Some(3)),
        (wait(Some(400), &[Awaited::Names]), Some(10)),
    ] {
        let expected = seconds.map(Duration::from_secs);
        assert_eq!(wait.next_run(now, poll), expected, "{wait:?}");
    }
}
