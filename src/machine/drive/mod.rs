//! Drives one side of one peering: what to do next, without doing it.
//!
//! ```text
//!         ┌──────────── Next::Look ────────────┐
//!         ▼                                    │
//!   objects ──▶ (a machine) ──▶ step ──▶ Run::looked ──▶ Next::Apply, for each effect
//!                                              │                  │
//!                                          Next::Rest        Run::applied
//! ```
//!
//! A [`Run`] holds the bounds and the pauses of a driver. A driver reads objects, applies
//! effects and waits, each in its own way. A run may be given up at any point: the next run
//! goes on from the objects.
//!
//! After a run, the driver delivers the messages that [`Deliveries`] returns, and runs again
//! when an object of the peer changes, or at [`Wait::next_run`](super::Wait::next_run).

mod deliveries;
mod waiting;

use core::time::Duration;

pub use self::deliveries::Deliveries;
use super::{Effect, Step};
use crate::model::ObjectRef;

/// One run of one side of a peering: look, apply, and look again, until nothing is left to
/// do.
///
/// # Examples
/// A driver of objects in memory:
/// ```
/// use liqo_auth::machine::{
///     Env, Machine, Objects, Step,
///     drive::{Applied, Next, Run, Stopped},
/// };
/// use liqo_auth::model::ClusterId;
///
/// fn run(
///     machine: &dyn Machine,
///     objects: &mut Objects,
///     peer: &ClusterId,
///     env: impl Fn() -> Env,
/// ) -> Result<Step, Box<dyn std::error::Error>> {
///     let mut run = Run::to_rest();
///     loop {
///         match run.next()? {
///             // Other drivers wait for the time in `Look`, and read the objects here.
///             Next::Look { .. } => run.looked(machine.reconcile(&objects.view(peer), env())?),
///             Next::Confirm(_) => run.confirmed(true),
///             Next::Apply(effect) => {
///                 let applied = match objects.apply(effect) {
///                     Ok(()) => Applied::Shown,
///                     Err(_) => Applied::Overtaken,
///                 };
///                 run.applied(applied);
///             }
///             Next::Rest => return Ok(run.into_step()),
///         }
///     }
/// }
/// # use std::sync::Arc;
/// # use liqo_auth::{Consumer, consumer::ConsumerConfig, crypto::{Entropy, KeyPair, OneKey}};
/// # let key = KeyPair::from_entropy(&Entropy::from_bytes([3; 32]));
/// # let keys = Arc::new(OneKey(Arc::new(key)));
/// # let consumer = Consumer::new(ConsumerConfig::new("cl-consumer".parse()?), keys);
/// # let mut objects = Objects::new(&Entropy::from_bytes([4; 32]));
/// # let now = "2026-11-20T13:00:00Z".parse()?;
/// # let env = || Env { now, entropy: Entropy::from_bytes([5; 32]) };
/// # let step = run(&consumer, &mut objects, &"cl-provider".parse()?, env)?;
/// # assert!(step.is_settled());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Run {
    goal: Goal,
    step: Option<Step>,
    /// Whether the store has said that what the step misses is absent.
    is_confirmed: bool,
    /// How many effects of the step are applied.
    applied: usize,
    /// Whether the caller's objects show all of them.
    is_shown: bool,
    /// The steps with effects.
    steps: u32,
    /// The object that another writer changed first, and how often in a row that happened.
    overtaken: Option<ObjectRef>,
    overtakings: u32,
    /// The pauses that are left before a refusal counts.
    doubts: &'static [Duration],
}

/// What a run goes on to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Goal {
    /// A step without effects.
    Rest,
    /// One step with all its effects applied.
    OneStep,
}

/// What a driver does next.
#[derive(Debug, PartialEq, Eq)]
pub enum Next<'r> {
    /// Make a step from the peer's objects as they are now, and give it to
    /// [`Run::looked`].
    Look {
        /// How long to wait before. A change of one of the peer's objects ends the wait.
        after: Duration,
    },
    /// Ask the store whether this object is absent, and tell [`Run::confirmed`]. A driver whose
    /// looks read all objects at one time knows that it is.
    Confirm(&'r ObjectRef),
    /// Apply this effect, and tell [`Run::applied`] what became of it.
    Apply(&'r Effect),
    /// Nothing is left to do. [`Run::into_step`] is the last step.
    Rest,
}

/// What became of an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applied {
    /// It is applied, and the next look sees it.
    Shown,
    /// It is applied. The next look may not see it yet, since a watch will show it.
    Unshown,
    /// Another writer was faster: the object has another version, its name is taken, or it
    /// does not exist. Nothing changed.
    Overtaken,
}

/// Why a run ends before its goal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Stopped {
    /// More steps in a row have effects than any exchange takes.
    #[error("{steps} steps in a row had effects to apply: the peering does not come to rest")]
    Restless {
        /// The number of steps.
        steps: u32,
    },
    /// Other writers keep changing this object.
    #[error("other programs keep changing {0}: try again")]
    Overtaken(ObjectRef),
}

impl Run {
    /// A run that looks until a step has no effects.
    pub fn to_rest() -> Self {
        Self::to(Goal::Rest)
    }

    /// A run that applies one step, such as that of an administrator's call. After a
    /// conflict, the step is made anew from the objects as they are then.
    pub fn of_one_step() -> Self {
        Self::to(Goal::OneStep)
    }

    /// The same run, which looks again up to three times before a refusal counts. Another
    /// program may be in the middle of the same exchange.
    #[must_use]
    pub fn doubting_refusals(mut self) -> Self {
        self.doubts = &DOUBTS;
        self
    }

    /// Does everything up to the goal with two functions, for a driver that may block: one
    /// waits and makes a step from the peer's objects as they are then, all of them read at one
    /// time, and one applies an effect. Returns the last step.
    ///
    /// # Errors
    /// Those of the functions, and [`Stopped`].
    pub fn finish<E: From<Stopped>>(
        mut self,
        mut look: impl FnMut(Duration) -> Result<Step, E>,
        mut apply: impl FnMut(&Effect) -> Result<Applied, E>,
    ) -> Result<Step, E> {
        loop {
            match self.next()? {
                Next::Look { after } => self.looked(look(after)?),
                Next::Confirm(_) => self.confirmed(true),
                Next::Apply(effect) => {
                    let applied = apply(effect)?;
                    self.applied(applied);
                }
                Next::Rest => return Ok(self.into_step()),
            }
        }
    }

    /// What to do next.
    ///
    /// # Errors
    /// [`Stopped`]; the objects stay as they are.
    pub fn next(&self) -> Result<Next<'_>, Stopped> {
        if self.overtakings > MOST_OVERTAKINGS
            && let Some(id) = &self.overtaken
        {
            return Err(Stopped::Overtaken(id.clone()));
        }
        if self.overtaken.is_some() {
            let after = SHORTLY.saturating_mul(self.overtakings);
            return Ok(Next::Look { after });
        }
        let Some(step) = &self.step else {
            let after = Duration::ZERO;
            return match self.steps < MOST_STEPS {
                true => Ok(Next::Look { after }),
                false => Err(Stopped::Restless { steps: self.steps }),
            };
        };
        if let Some(effect) = step.effects.get(self.applied) {
            return Ok(match &step.absent {
                Some(id) if !self.is_confirmed => Next::Confirm(id),
                _ => Next::Apply(effect),
            });
        }
        if self.goal == Goal::OneStep {
            return Ok(Next::Rest);
        }
        if !step.is_settled() {
            let after = match self.is_shown {
                true => Duration::ZERO,
                false => LATER,
            };
            return match self.steps < MOST_STEPS {
                true => Ok(Next::Look { after }),
                false => Err(Stopped::Restless { steps: self.steps }),
            };
        }
        match self.doubts {
            [pause, ..] if !step.refused.is_empty() => Ok(Next::Look { after: *pause }),
            _ => Ok(Next::Rest),
        }
    }

    /// Takes the step that was made from the peer's objects.
    pub fn looked(&mut self, step: Step) {
        if self.step.as_ref().is_some_and(|step| step.is_settled())
            && let [_, rest @ ..] = self.doubts
        {
            self.doubts = rest;
        }
        self.steps = self.steps.saturating_add(u32::from(!step.is_settled()));
        self.step = Some(step);
        self.is_confirmed = false;
        self.applied = 0;
        self.is_shown = true;
        self.overtaken = None;
    }

    /// Takes what the store says of the object that [`next`](Self::next) named. If it is there,
    /// the step does not count, and the next look sees the object: the driver shows it.
    pub fn confirmed(&mut self, is_absent: bool) {
        match is_absent {
            true => self.is_confirmed = true,
            false => self.step = None,
        }
    }

    /// Takes what became of the effect that [`next`](Self::next) named.
    pub fn applied(&mut self, applied: Applied) {
        let mut effects = self.step.iter().flat_map(|step| &step.effects);
        let Some(effect) = effects.nth(self.applied) else {
            return;
        };
        if applied == Applied::Overtaken {
            self.overtaken = Some(effect.id());
            self.overtakings = self.overtakings.saturating_add(1);
            return;
        }
        self.is_shown &= applied == Applied::Shown;
        self.applied = self.applied.saturating_add(1);
        self.overtakings = 0;
    }

    /// The step of the last look, if all its effects are applied: its events and notices
    /// count then.
    pub fn carried_out(&self) -> Option<&Step> {
        self.step
            .as_ref()
            .filter(|step| self.overtaken.is_none() && self.applied == step.effects.len())
    }

    /// The object that another writer changed first, since the last look.
    pub fn overtaken(&self) -> Option<&ObjectRef> {
        self.overtaken.as_ref()
    }

    /// The last step.
    pub fn into_step(self) -> Step {
        self.step.unwrap_or_default()
    }

    fn to(goal: Goal) -> Self {
        Self {
            goal,
            step: None,
            is_confirmed: false,
            applied: 0,
            is_shown: true,
            steps: 0,
            overtaken: None,
            overtakings: 0,
            doubts: &[],
        }
    }
}

/// More steps in a row than any exchange has.
const MOST_STEPS: u32 = 32;
/// So many times in a row, another writer may be faster.
pub const MOST_OVERTAKINGS: u32 = 8;
/// The pause after the first of these times. It grows by itself with each further one, and is
/// usually long enough for a watch to show the other writer's change.
pub const SHORTLY: Duration = Duration::from_millis(50);
/// A watch that has not shown a change by then may have missed it.
const LATER: Duration = Duration::from_secs(1);
/// The pauses before a refusal counts.
const DOUBTS: [Duration; 3] = [
    Duration::from_millis(100),
    Duration::from_millis(300),
    Duration::from_secs(1),
];

#[cfg(test)]
mod tests;
