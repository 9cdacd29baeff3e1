//! A session: one peer's objects and the loop of its driver, kept between calls.
//!
//! A thread has one session at most, and so has an instance of the module. The session keeps
//! the configuration, the objects ([`Placed`]), the run ([`Run`]) and which messages were
//! delivered ([`Deliveries`]). The record key comes with each request and is not kept. Of the
//! cluster's own key, the module knows the public half alone, which belongs to the configuration.
//!
//! # Requests
//!
//! `session` has the fields of [`SessionRequest`]. A request takes what has changed, and what
//! became of the last answer. Then it makes a `call`, which begins a run, or goes on with the
//! run (`goOn`), or does neither. The objects follow the request, so that they are read once:
//! `seen` has the length of each of them. The calls are those of [`machine`](crate::machine). An order
//! (each call that makes a step, except `reconcile`) is carried out first. The run then goes on
//! to rest.
//!
//! # Answers
//!
//! | `next` | fields | what to do |
//! |---|---|---|
//! | `answer` | `questions` | go on with all answers so far, and with the same time and entropy |
//! | `apply` | `step`, `effects` | if the step has `absent`, ask the store for that object; then apply the effects, up to the first that fails, and go on with the `outcomes` |
//! | `look` | `afterMilliseconds`, `forgotten` | wait, and go on with the objects as they are then, and with the forgotten ones again |
//! | `rest` | `step`, `numbers`, `againMilliseconds` | deliver the step's `outbox`, whose messages have these numbers; nothing is left to do |
//!
//! The session keeps what a peer wrote within the bounds of a [`Mirror`](liqo_auth::machine::Mirror).
//! What has lost its content is forgotten, and is named when there is room again.
//!
//! Here, a step has no `effects` of its own, and has an `outbox` at rest alone. An effect has
//! its `type`, `id`, `part` and `version`, and the `request` to an API server. The body of the
//! request is the object or the patch. The bodies follow the answer after a newline, in the order
//! of the effects, and `body` has the length of each of them. The answer itself has no newline.
//! `look`, `watches` and `interests` answer as they do without a session,
//! and leave the run as it is. A request without a call and without `goOn` has an empty
//! answer. An error of a call ends the run.

mod next;
mod request;

use core::{cell::RefCell, time::Duration};
use std::collections::BTreeSet;

use liqo_auth::{
    machine::{
        Message, Step,
        drive::{Deliveries, Next, Run},
    },
    model::ObjectRef,
};

pub use self::request::SessionRequest;
use self::request::{Changes, Configuration, Outcomes, Present, Wanted};
use crate::{
    calls::Called,
    failure::Failure,
    json::Value,
    placed::Placed,
    side::{Call, Side},
};

thread_local! {
    static SESSION: RefCell<Option<Box<Session>>> = const { RefCell::new(None) };
}

struct Session {
    configuration: Configuration,
    objects: Placed,
    work: Option<Work>,
    deliveries: Deliveries,
    /// The messages that were handed out, of those that the last step at rest has named, with
    /// their numbers.
    handed_out: Vec<(u64, Message)>,
    last_number: u64,
}

/// A run, and the call that makes its steps.
struct Work {
    run: Run,
    call: Call,
    /// Whether the caller was told to wait before the next look.
    has_waited: bool,
    /// The forgotten objects that were named.
    named: BTreeSet<ObjectRef>,
}

/// Answers a request. One that cannot be read changes nothing.
pub(crate) fn answer(mut request: SessionRequest, objects: &[u8]) -> Result<Value, Failure> {
    SESSION.with_borrow_mut(|open| {
        let mut opened = match request.open.take() {
            Some(opening) => Some(Box::new(Session::new(*opening)?)),
            None => None,
        };
        let Some(session) = opened.as_mut().or(open.as_mut()) else {
            return Err(Failure::of_part("session", "found none, expected one"));
        };
        let (changes, wanted) = request.read(objects, &session.configuration)?;
        let answer = session.answer(changes, wanted);
        if opened.is_some() {
            *open = opened;
        }
        answer
    })
}

/// Ends the session, if there is one.
pub(crate) fn close() -> Vec<u8> {
    SESSION.with_borrow_mut(|open| *open = None);
    b"{}".to_vec()
}

impl Session {
    fn new(opening: request::Opening) -> Result<Self, Failure> {
        let (configuration, peer) = opening.read();
        let objects = Placed::new(peer, configuration.watches()?)?;
        Ok(Self {
            configuration,
            objects,
            work: None,
            deliveries: Deliveries::default(),
            handed_out: Vec::new(),
            last_number: 0,
        })
    }

    fn answer(&mut self, changes: Changes, wanted: Option<Wanted>) -> Result<Value, Failure> {
        for id in &changes.gone {
            self.objects.gone(id);
        }
        for object in changes.seen {
            self.objects.show(object)?;
        }
        self.learn(&changes.outcomes)?;
        let Some(Wanted {
            side,
            call,
            present,
        }) = wanted
        else {
            return Ok(b"{}".to_vec().into());
        };
        match call {
            Some(call) if call.makes_a_step() => self.work = Some(Work::of(call)),
            Some(call) => {
                return match self.call(&side, &call, &present)? {
                    Called::Value(value) => Ok(value.into()),
                    Called::Step(_) => Err(Failure::of_part("call", "found a step")),
                };
            }
            None => {}
        }
        let answer = self.advance(&side, &present);
        if answer.is_err() {
            self.work = None;
        }
        answer
    }

    /// Takes what became of the last answer.
    fn learn(&mut self, outcomes: &Outcomes) -> Result<(), Failure> {
        for (number, message) in &self.handed_out {
            if outcomes.undelivered.contains(number) {
                self.deliveries.failed(message);
            }
        }
        let Some(Work { run, .. }) = &mut self.work else {
            return Ok(());
        };
        if let (Some(is_absent), Ok(Next::Confirm(_))) = (outcomes.is_absent, run.next()) {
            run.confirmed(is_absent);
        }
        for applied in &outcomes.applied {
            if !matches!(run.next(), Ok(Next::Apply(_))) {
                return Err(Failure::of_part("applied", "found more than the effects"));
            }
            run.applied((*applied).into());
        }
        Ok(())
    }

    /// Goes on until the caller has to do something.
    fn advance(&mut self, side: &Side, present: &Present) -> Result<Value, Failure> {
        loop {
            let Some(work) = &mut self.work else {
                return Err(Failure::of_part("goOn", "found no run, expected one"));
            };
            match work.run.next()? {
                Next::Look { after } if !after.is_zero() && !work.has_waited => {
                    work.has_waited = true;
                    return Ok(next::look(after, &[]).into());
                }
                Next::Look { .. } => {}
                // The answer before this one has the effects.
                Next::Confirm(_) | Next::Apply(_) => {
                    return Err(Failure::of_part("applied", "found less than the effects"));
                }
                Next::Rest if work.call.is_an_order() => {
                    *work = Work::of(side.reconcile());
                    continue;
                }
                Next::Rest => {
                    let mut lost = self.objects.lost();
                    lost.retain(|id| work.named.insert(id.clone()));
                    if lost.is_empty() {
                        return Ok(self.rest(present).into());
                    }
                    *work = Work {
                        named: core::mem::take(&mut work.named),
                        ..Work::of(side.reconcile())
                    };
                    return Ok(next::look(SHORTLY, &lost).into());
                }
            }
            let step = self.step(side, present)?;
            let questions = side.questions();
            if !questions.is_empty() {
                return Ok(next::answer(&questions).into());
            }
            if let Some(answer) = self.looked(step)? {
                return Ok(answer);
            }
        }
    }

    fn step(&self, side: &Side, present: &Present) -> Result<Step, Failure> {
        let work = self.work.as_ref();
        let called = work.map(|work| self.call(side, &work.call, present));
        match called.transpose()? {
            Some(Called::Step(step)) => Ok(*step),
            _ => Err(Failure::of_part("call", "found no step")),
        }
    }

    fn call(&self, side: &Side, call: &Call, present: &Present) -> Result<Called, Failure> {
        side.answer(
            call,
            self.objects.view()?,
            &present.vouched_nonces,
            present.env()?,
        )
    }

    /// Gives the run its step. Returns an answer if the step has effects.
    fn looked(&mut self, mut step: Step) -> Result<Option<Value>, Failure> {
        let answer = match step.is_settled() {
            true => None,
            false => Some(next::apply(&mut step)?),
        };
        if let Some(work) = &mut self.work {
            work.has_waited = false;
            work.run.looked(step);
        }
        Ok(answer)
    }

    /// Ends the run. Its last step has no effects.
    fn rest(&mut self, present: &Present) -> Vec<u8> {
        let work = self.work.take();
        let mut step = work.map(|work| work.run.into_step()).unwrap_or_default();
        let named = core::mem::take(&mut step.outbox);
        self.handed_out
            .retain(|(_, message)| named.contains(message));
        step.outbox = self.deliveries.take(named);
        let numbers: Vec<u64> = step.outbox.iter().map(|one| self.number(one)).collect();
        let again = step.wait.next_run(present.now, present.poll);
        next::rest(&step, &numbers, again)
    }

    /// The number by which the caller names the message later.
    fn number(&mut self, message: &Message) -> u64 {
        let known = self.handed_out.iter().find(|(_, known)| known == message);
        if let Some((number, _)) = known {
            return *number;
        }
        self.last_number += 1;
        self.handed_out.push((self.last_number, message.clone()));
        self.last_number
    }
}

impl Work {
    /// A run of this call.
    fn of(call: Call) -> Self {
        let run = match call.is_an_order() {
            true => Run::of_one_step(),
            false => Run::to_rest(),
        };
        Self {
            run,
            call,
            has_waited: false,
            named: BTreeSet::new(),
        }
    }
}

/// A caller that waits comes again.
const SHORTLY: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests;
