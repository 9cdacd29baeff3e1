//! Drives one side of a peering on a home, as the library says. Both sides use this code.

use std::thread;

use liqo_auth::{
    Consumer, Provider,
    error::Error,
    machine::{
        Env, Machine, Message, MessageBody, Notice, Step, View,
        drive::{Applied, Next, Run, Stopped},
    },
    model::ClusterId,
};

use crate::{
    environment::Clock,
    failure::{Failure, Result},
    home::{Home, overtaken},
    peering::signer::sign_approved,
    remedies::{Role, way_out},
};

/// One side of one peering, with the home that stores its objects.
pub(crate) struct Driver<'h, M> {
    pub(crate) home: &'h mut Home,
    pub(crate) peer: ClusterId,
    pub(crate) machine: M,
    pub(crate) clock: Clock,
}

/// What the peer of a machine is.
pub(crate) trait PeerRole {
    const PEER_IS: Role;
}

impl PeerRole for Provider {
    const PEER_IS: Role = Role::Consumer;
}

impl PeerRole for Consumer {
    const PEER_IS: Role = Role::Provider;
}

/// The result of a run: the machine went on until no step was left.
pub(crate) struct Rest {
    /// The last step, which has no effects.
    pub(crate) step: Step,
    /// The notices of all steps, each once.
    pub(crate) notices: Vec<Notice>,
}

impl<M: Machine + PeerRole> Driver<'_, M> {
    /// Runs the machine as far as possible without the peer, and saves the home.
    pub(crate) fn advance(&mut self) -> Result<Rest> {
        self.advance_by(|machine, view, env| machine.reconcile(view, env))
    }

    /// Like [`advance`](Self::advance), but `next` chooses each step.
    ///
    /// When no step is left, approved requests are signed: by the home's authority, or by
    /// the cluster's signer, for which this waits. A home is saved before that: a request is
    /// on the disk before it is signed. The home is saved again afterwards: a certificate is
    /// on the disk before it is used.
    pub(crate) fn advance_by(
        &mut self,
        next: impl Fn(&M, &View<'_>, Env) -> Result<Step, Error>,
    ) -> Result<Rest> {
        let mut notices: Vec<Notice> = Vec::new();
        let step = loop {
            let mut run = Run::to_rest();
            if self.home.is_live() {
                run = run.doubting_refusals();
            }
            let (machine, peer, clock) = (&self.machine, &self.peer, self.clock);
            go_on(&mut run, self.home, clock, |home| {
                let step = next(machine, &home.view(peer), clock.env()?);
                let step = step.map_err(|error| failure(home, &error))?;
                for notice in &step.notices {
                    if !notices.contains(notice) {
                        notices.push(notice.clone());
                    }
                }
                Ok(step)
            })?;
            if !sign_approved(self.home, clock)? && !self.home.await_signer(&self.peer)? {
                break run.into_step();
            }
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
    /// logged at once. On a cluster, a controller may have changed a record since it was read: then
    /// the message is received again, with the record that is there now.
    pub(crate) fn receive(&mut self, body: impl Into<MessageBody>, subject: &str) -> Result<Step> {
        let message = Message::new(&self.peer, self.machine.cluster_id(), body);
        let mut run = Run::of_one_step();
        let (machine, peer, clock) = (&self.machine, &self.peer, self.clock);
        let mut refused = None;
        let received = go_on(&mut run, self.home, clock, |home| {
            let step = machine.receive(&home.view(peer), message.clone(), clock.env()?);
            step.map_err(|error| {
                let failure = refusal(home, peer, M::PEER_IS, subject, &error);
                refused = Some(error);
                failure
            })
        });
        if let Some(error) = refused {
            let now = self.clock.now()?;
            self.home.log_refusal(&self.peer, &error, now)?;
        }
        received?;
        Ok(run.into_step())
    }

    /// Carries out an administrator's command. On a cluster, a controller may act on
    /// the first effect before the next one is written. Then the command decides again,
    /// from the objects that are there now.
    pub(crate) fn administer(
        &mut self,
        subject: &str,
        act: impl Fn(&M, &View<'_>, Env) -> Result<Step, Error>,
    ) -> Result<Step> {
        let mut run = Run::of_one_step();
        let (machine, peer, clock) = (&self.machine, &self.peer, self.clock);
        go_on(&mut run, self.home, clock, |home| {
            let step = act(machine, &home.view(peer), clock.env()?);
            step.map_err(|error| refusal(home, peer, M::PEER_IS, subject, &error))
        })?;
        Ok(run.into_step())
    }

    pub(crate) fn view(&self) -> View<'_> {
        self.home.view(&self.peer)
    }

    pub(crate) fn failure(&self, error: &Error) -> Failure {
        failure(self.home, error)
    }
}

/// Goes on with a run until nothing is left to do. `next` makes each step.
pub(crate) fn go_on(
    run: &mut Run,
    home: &mut Home,
    clock: Clock,
    mut next: impl FnMut(&Home) -> Result<Step>,
) -> Result<()> {
    loop {
        let action = run.next().map_err(|stopped| match stopped {
            Stopped::Overtaken(id) => overtaken(&id),
            stopped => Failure::at_odds(format!("{}: {stopped}", home.site())),
        })?;
        match action {
            Next::Look { after } => {
                if !after.is_zero() {
                    thread::sleep(after);
                    home.reload()?;
                }
                run.looked(next(home)?);
            }
            Next::Confirm(id) => {
                let is_absent = home.is_absent(id)?;
                run.confirmed(is_absent);
            }
            Next::Apply(effect) => {
                let applied = match home.try_to_apply(effect, clock.now()?)? {
                    true => Applied::Shown,
                    false => Applied::Overtaken,
                };
                run.applied(applied);
            }
            Next::Rest => return Ok(()),
        }
        if let Some(step) = run.carried_out() {
            home.note(step, clock.now()?);
        }
    }
}

fn refusal(home: &Home, peer: &ClusterId, role: Role, subject: &str, error: &Error) -> Failure {
    let way_out = way_out(home, peer, role, error);
    Failure::with_way_out(subject, error, &way_out)
}

/// The failure for an error in a home.
pub(crate) fn failure(home: &Home, error: &Error) -> Failure {
    Failure::of(&home.site().to_string(), error)
}
