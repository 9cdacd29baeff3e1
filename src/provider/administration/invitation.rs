//! What only an administrator's word makes happen: who is let in, and what is
//! forgotten of a peer.

use crate::{
    audit::{Decision, Event},
    error::Error,
    machine::{Env, Step, View},
    provider::{
        NeedsNonce, Peering, Phase, Provider, WhyNonce, observed::Observed, record::peer::Record,
    },
};

impl Provider {
    /// Lets a peer in, or in again: makes the tenant namespace and the nonce,
    /// or hands out the nonce that is there if it can still be signed. Without
    /// this call, or Liqo's empty Secret `liqo-nonce`, nobody is invited: no
    /// label that turns up somewhere makes a peer.
    ///
    /// # Errors
    /// As [`resume`](Self::resume); and why the peer cannot be invited.
    pub fn invite(&self, view: &View<'_>, env: Env) -> Result<Step, Error> {
        let (observed, Peering { phase, notices, .. }) = self.look(view, env.now)?;
        let mut step = match phase {
            Phase::Uninvited => {
                NeedsNonce::new(self, observed, WhyNonce::Absent, env.now).make_nonce(env)?
            }
            Phase::Ended(_) => {
                NeedsNonce::new(self, observed, WhyNonce::Ended, env.now).make_nonce(env)?
            }
            Phase::NeedsNonce(phase) => phase.make_nonce(env)?,
            Phase::AwaitsTenant(phase) => phase.wait(),
            Phase::Refused(error) => return Err(error),
            _ => return self.reconcile(view, env),
        };
        if !step.is_settled() {
            step.events
                .insert(0, Event::new(view.peer(), Decision::Invited));
        }
        step.notices.extend(notices);
        Ok(step)
    }

    /// Makes a new nonce in place of the one that is there, because someone
    /// asked for it. An unmodified consumer's Secret `liqo-signed-nonce` has to
    /// be deleted then, which a [notice](crate::machine::Notice) says.
    ///
    /// # Errors
    /// As [`resume`](Self::resume).
    pub fn replace_nonce(&self, view: &View<'_>, env: Env) -> Result<Step, Error> {
        self.check_peer(view.peer())?;
        let observed = Observed::select(self, view)?;
        observed.check_readable()?;
        NeedsNonce::new(self, observed, WhyNonce::Asked, env.now).make_nonce(env)
    }

    /// Forgets the pinned key of a cluster ID, because its administrator says,
    /// by another way, that it was changed. What the nonces served for and the
    /// peer's condition stay; the next key that signs a nonce is pinned.
    ///
    /// # Errors
    /// As [`resume`](Self::resume).
    pub fn release_key(&self, view: &View<'_>) -> Result<Step, Error> {
        let observed = Observed::select(self, view)?;
        if let Some(error) = observed.unreadable {
            return Err(error);
        }
        let mut step = Step::default();
        if let Some((_, record)) = &observed.record {
            let released = Record {
                public_key: None,
                proof: None,
                ..record.clone()
            };
            step.effects.push(self.write_record(&observed, &released));
            let event = Event::new(&observed.peer, Decision::KeyReleased);
            step.events.push(match &record.public_key {
                Some(key) => event.by_key(key.fingerprint()),
                None => event,
            });
        }
        Ok(step)
    }
}
