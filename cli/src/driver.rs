//! What drives one side of a peering, over a home: the same for both sides.

use liqo_auth::{
    error::Error,
    machine::{Env, Machine, Message, MessageBody, Notice, Step, View},
    model::ClusterId,
};

use crate::{
    environment::Clock,
    failure::{Failure, Result},
    home::Home,
    signer::sign_approved,
};

/// One side of one peering, with its home.
pub(crate) struct Driver<'h, M> {
    pub(crate) home: &'h mut Home,
    pub(crate) peer: ClusterId,
    pub(crate) machine: M,
    pub(crate) clock: Clock,
}

/// What was said on the way, until nothing was left to do.
pub(crate) struct Rest {
    /// The last step, which has no effects.
    pub(crate) step: Step,
    /// The notices of all steps, each once.
    pub(crate) notices: Vec<Notice>,
}

impl<M: Machine> Driver<'_, M> {
    /// Goes on as far as possible without the peer, and saves the outcome.
    pub(crate) fn go_on(&mut self) -> Result<Rest> {
        self.go_on_by(|machine, view, env| machine.reconcile(view, env))
    }

    /// The same by another choice of steps.
    ///
    /// What is approved is signed when nothing else is left to do. The home is
    /// saved before: a request rests on what is on the disk. The home is saved
    /// afterwards, too: a certificate is on the disk before it is used.
    pub(crate) fn go_on_by(
        &mut self,
        next: impl Fn(&M, &View<'_>, Env) -> Result<Step, Error>,
    ) -> Result<Rest> {
        let mut notices: Vec<Notice> = Vec::new();
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
            if !sign_approved(self.home, clock)? {
                break step;
            }
        };
        self.home.save()?;
        let now = self.clock.now()?;
        self.home.log_refusals(&self.peer, &step, now)?;
        Ok(Rest { step, notices })
    }

    /// The next step, without taking it.
    pub(crate) fn look(&self) -> Result<Step> {
        let step = self.machine.reconcile(&self.view(), self.clock.env()?);
        step.map_err(|error| self.failure(&error))
    }

    /// Why the machine would not take a message. Nothing is changed.
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

    /// Takes a message in memory. Nothing is saved yet, but a refusal is logged.
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

    /// Does in memory what an administrator asks for.
    pub(crate) fn administer(
        &mut self,
        subject: &str,
        act: impl FnOnce(&M, &View<'_>, Env) -> Result<Step, Error>,
    ) -> Result<Step> {
        let step = act(&self.machine, &self.view(), self.clock.env()?);
        self.carry_out(step, subject)
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

/// Carries out one step after the other, in memory, until a step has no effects.
/// Gives this step, and how many were carried out.
pub(crate) fn exhaust(
    home: &mut Home,
    peer: &ClusterId,
    clock: Clock,
    mut next: impl FnMut(&Home) -> Result<Step>,
) -> Result<(Step, usize)> {
    for carried_out in 0..MOST_STEPS {
        let step = next(home)?;
        if step.is_settled() {
            return Ok((step, carried_out));
        }
        home.carry_out(&step, clock.now()?)?;
    }
    Err(Failure::at_odds(format!(
        "{}: the peering with {peer} does not come to rest",
        home.path().display()
    )))
}

/// What is wrong with a home.
pub(crate) fn failure(home: &Home, error: &Error) -> Failure {
    Failure::of(&home.path().display().to_string(), error)
}

/// More steps than any exchange has: a machine that runs in circles is stopped.
const MOST_STEPS: usize = 32;
