//! Drives one side of a peering on a home. Both sides use this code.

use std::{thread, time::Duration};

use liqo_auth::{
    error::Error,
    machine::{Env, Machine, Message, MessageBody, Notice, Step, View},
    model::ClusterId,
};

use crate::{
    environment::Clock,
    failure::{Failure, Result},
    home::{Home, overtaken},
    signer::sign_approved,
};

/// One side of one peering, with the home that stores its objects.
pub(crate) struct Driver<'h, M> {
    pub(crate) home: &'h mut Home,
    pub(crate) peer: ClusterId,
    pub(crate) machine: M,
    pub(crate) clock: Clock,
}

/// The result of a run: the machine went on until no step was left.
pub(crate) struct Rest {
    /// The last step, which has no effects.
    pub(crate) step: Step,
    /// The notices of all steps, each once.
    pub(crate) notices: Vec<Notice>,
}

impl<M: Machine> Driver<'_, M> {
    /// Runs the machine as far as possible without the peer, and saves the home.
    pub(crate) fn advance(&mut self) -> Result<Rest> {
        self.advance_by(|machine, view, env| machine.reconcile(view, env))
    }

    /// Like [`advance`](Self::advance), but `next` chooses each step.
    ///
    /// When no step is left, approved requests are signed: by the home's
    /// authority, or by the cluster's signer, for which this waits. A home is saved before that: a request is on the disk before it
    /// is signed. The home is saved again afterwards: a certificate is on the disk
    /// before it is used.
    pub(crate) fn advance_by(
        &mut self,
        next: impl Fn(&M, &View<'_>, Env) -> Result<Step, Error>,
    ) -> Result<Rest> {
        let mut notices: Vec<Notice> = Vec::new();
        let mut pauses = PAUSES.into_iter();
        let step = loop {
            let (machine, peer, clock) = (&self.machine, &self.peer, self.clock);
            let (step, _) = exhaust(self.home, peer, clock, |home| {
                let step = next(machine, &home.view(peer), clock.env()?);
                let step = step.map_err(|error| failure(home, &error))?;
                for notice in &step.notices {
                    if !notices.contains(notice) {
                        notices.push(notice.clone());
                    }
                }
                Ok(step)
            })?;
            if sign_approved(self.home, clock)? || self.home.await_signer(&self.peer)? {
                continue;
            }
            if step.refused.is_empty() || !self.home.is_live() {
                break step;
            }
            // Another program may be in the middle of the same exchange. A refusal
            // counts if it stays.
            let Some(pause) = pauses.next() else {
                break step;
            };
            thread::sleep(pause);
            self.home.reload()?;
        };
        self.home.save()?;
        let now = self.clock.now()?;
        self.home.log_refusals(&self.peer, &step, now)?;
        Ok(Rest { step, notices })
    }

    /// Computes the next step, and does not carry it out.
    pub(crate) fn look(&self) -> Result<Step> {
        let step = self.machine.reconcile(&self.view(), self.clock.env()?);
        step.map_err(|error| self.failure(&error))
    }

    /// Checks whether the machine would accept a message. Returns the error if it
    /// would not. Nothing changes.
    pub(crate) fn judge(
        home: &Home,
        peer: &ClusterId,
        machine: &M,
        clock: Clock,
        message: Message,
    ) -> Result<Result<(), Error>> {
        let step = machine.receive(&home.view(peer), message, clock.env()?);
        Ok(step.map(|_| ()))
    }

    /// Receives a message in memory, and does not save the home. A refusal is
    /// logged at once.
    pub(crate) fn receive(&mut self, body: impl Into<MessageBody>, subject: &str) -> Result<Step> {
        let message = Message::new(&self.peer, self.machine.cluster_id(), body);
        let step = self
            .machine
            .receive(&self.view(), message, self.clock.env()?);
        if let Err(error) = &step {
            let now = self.clock.now()?;
            self.home.log_refusal(&self.peer, error, now)?;
        }
        self.carry_out(step, subject)
    }

    /// Carries out an administrator's command. On a cluster, a controller may act on
    /// the first effect before the next one is written. Then the command decides again,
    /// from the objects that are there now.
    pub(crate) fn administer(
        &mut self,
        subject: &str,
        act: impl Fn(&M, &View<'_>, Env) -> Result<Step, Error>,
    ) -> Result<Step> {
        let mut overtakings = 0;
        loop {
            let step = act(&self.machine, &self.view(), self.clock.env()?);
            let step = step.map_err(|error| Failure::of(subject, &error))?;
            match self.home.try_to_carry_out(&step, self.clock.now()?)? {
                None => return Ok(step),
                Some(_) if overtakings < MOST_OVERTAKINGS => {
                    overtakings += 1;
                    thread::sleep(SHORTLY * overtakings);
                }
                Some(id) => return Err(overtaken(&id)),
            }
        }
    }

    pub(crate) fn view(&self) -> View<'_> {
        self.home.view(&self.peer)
    }

    pub(crate) fn failure(&self, error: &Error) -> Failure {
        failure(self.home, error)
    }

    fn carry_out(&mut self, step: Result<Step, Error>, subject: &str) -> Result<Step> {
        let step = step.map_err(|error| Failure::of(subject, &error))?;
        self.home.carry_out(&step, self.clock.now()?)?;
        Ok(step)
    }
}

/// Carries out steps in memory until a step has no effects. Returns this step and
/// the number of steps before it.
pub(crate) fn exhaust(
    home: &mut Home,
    peer: &ClusterId,
    clock: Clock,
    mut next: impl FnMut(&Home) -> Result<Step>,
) -> Result<(Step, usize)> {
    let mut overtakings = 0;
    for carried_out in 0..MOST_STEPS {
        let step = next(home)?;
        if step.is_settled() {
            return Ok((step, carried_out));
        }
        match home.try_to_carry_out(&step, clock.now()?)? {
            None => overtakings = 0,
            // The next step sees what another program has changed meanwhile.
            Some(_) if overtakings < MOST_OVERTAKINGS => {
                overtakings += 1;
                thread::sleep(SHORTLY * overtakings);
            }
            Some(id) => return Err(overtaken(&id)),
        }
    }
    Err(Failure::at_odds(format!(
        "{}: the peering with {peer} does not reach a stable state",
        home.site()
    )))
}

/// The failure for an error in a home.
pub(crate) fn failure(home: &Home, error: &Error) -> Failure {
    Failure::of(&home.site().to_string(), error)
}

/// The maximum number of steps. No exchange has so many: the limit only stops an
/// endless loop.
const MOST_STEPS: usize = 32;
/// So many times in a row, another program may be faster.
const MOST_OVERTAKINGS: u32 = 8;
/// The pause after the first of these times. It grows by itself with each further one.
const SHORTLY: Duration = Duration::from_millis(50);
/// The pauses before a cluster is read again to confirm a refusal.
const PAUSES: [Duration; 3] = [
    Duration::from_millis(100),
    Duration::from_millis(300),
    Duration::from_secs(1),
];
