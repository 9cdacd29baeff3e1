//! The course of a peering: the phase that the objects show, and the next step.

use super::{
    administration::ending,
    credentials::{
        holder_context::HolderContext, identity_state::IdentityState, stored_identity::Succession,
    },
    keys::Keys,
    look::Look,
    phase::{Phase, Status},
    record::Plan,
    slice::Slice,
};
use crate::{
    crypto::{Certificate, Nonce},
    error::Error,
    machine::{Awaited, Holder, Notice, Step, expired_at},
    model::{Resource, Timestamp},
};

impl Look<'_> {
    pub(super) fn status(&self) -> Result<Status, Error> {
        let phase = self.phase()?;
        let slices = self.slices(phase.accepted());
        Ok(self.status_of(phase, slices))
    }

    /// The status, and the step that follows from the objects alone: it does not ask a backend, and
    /// is for nobody to carry out.
    pub(super) fn status_and_step(&self) -> Result<(Status, Step), Error> {
        let phase = self.phase()?;
        let slices = self.slices(phase.accepted());
        let mut plan = self.plan().asking_nobody();
        if let Err(error) = self.plan_step(&phase, &slices, &mut plan) {
            plan.refuse(error);
        }
        Ok((self.status_of(phase, slices), plan.finish()))
    }

    /// Plans the step from this phase, and from the phases of the slices.
    pub(super) fn plan_step(
        &self,
        phase: &Phase,
        slices: &[Slice<'_>],
        plan: &mut Plan<'_>,
    ) -> Result<(), Error> {
        if !matches!(phase, Phase::Ending) {
            self.keep_label_of_identity(plan);
        }
        self.advance(phase, plan)?;
        self.advance_slices(slices, phase.accepted(), plan);
        Ok(())
    }

    fn status_of(&self, phase: Phase, slices: Vec<Slice<'_>>) -> Status {
        let accepted = phase.accepted().into_iter();
        let mut notices: Vec<Notice> = accepted.flat_map(|it| it.notices()).collect();
        if let Phase::Authenticated(stored) = &phase {
            notices.extend(HolderContext::of_control_plane(*self).renewal_notice(stored));
            if matches!(stored.succession, Succession::AwaitsNonce) {
                notices.push(Notice::NewKeyAwaitsNonce);
            }
        }
        if let Phase::AwaitsNonce = &phase {
            notices.extend(self.unnamed_kubeconfig());
        }
        notices.extend(slices.iter().filter_map(Slice::renewal_notice));
        let slices = slices.into_iter().map(|slice| slice.status).collect();
        Status {
            certificate: self.certificate(&phase),
            nonce_until: self.nonce_until(&phase),
            phase,
            slices,
            notices,
        }
    }

    /// The certificate of the phase, or else the stored one that was verified before.
    fn certificate(&self, phase: &Phase) -> Option<Certificate> {
        match (phase, phase.accepted()) {
            (Phase::KubeconfigByHand(by_hand), _) => by_hand.certificate.clone(),
            (_, Some(accepted)) => accepted.certificate(),
            (_, None) => self.certificate_on_record(&Holder::ControlPlane, self.observed.identity?),
        }
    }

    fn nonce_until(&self, phase: &Phase) -> Option<Timestamp> {
        match phase {
            Phase::NeedsSignature(nonce) => nonce.expires(),
            Phase::AwaitsIdentity(_) => self.stored_nonce()?.expires(),
            _ => None,
        }
    }

    /// The phase of the control plane. A fault on this side is returned as an error.
    /// A fault in an object from the provider is returned as [`Phase::Refused`].
    pub(super) fn phase(&self) -> Result<Phase, Error> {
        let refused = |error: Error| error.of_the_peer().map(Phase::Refused);
        self.phase_unless_refused().or_else(refused)
    }

    fn phase_unless_refused(&self) -> Result<Phase, Error> {
        if ending::is_ending(self.observed) {
            return Ok(Phase::Ending);
        }
        if self.observed.identity.is_none() && self.observed.nonce_text().is_none() {
            return Ok(match self.kubeconfig_by_hand()? {
                Some(by_hand) => Phase::KubeconfigByHand(Box::new(by_hand)),
                None => Phase::AwaitsNonce,
            });
        }
        let Some(keys) = self.keys else {
            return Ok(Phase::NeedsKey);
        };
        if self.observed.identity.is_some() {
            let context = HolderContext::of_control_plane(*self);
            let given = context.renewed();
            return Ok(match context.identity_state(keys, given)? {
                IdentityState::Nothing => Phase::AwaitsNonce,
                IdentityState::NeedsIdentity(offered) => Phase::NeedsIdentity(offered),
                IdentityState::NeedsKubeconfig(accepted) => Phase::NeedsKubeconfig(accepted),
                IdentityState::Held(mut stored) => {
                    stored.succession = self.succession(keys, stored.accepted.awaits_new_key);
                    Phase::Authenticated(stored)
                }
            });
        }
        let Some((secret, text)) = self.observed.nonce_text() else {
            return Ok(Phase::AwaitsNonce);
        };
        // A stored Tenant is sent again even if its nonce has expired, since the
        // provider decides which nonces it accepts.
        if let Some(nonce) = self.stored_nonce()
            && let Some(tenant) = self.signing(keys, &nonce).stored_tenant()
        {
            return Ok(Phase::AwaitsIdentity(Box::new(tenant)));
        }
        let nonce = self.check_nonce(text, Some(secret.id()))?;
        Ok(Phase::NeedsSignature(nonce))
    }

    /// The state of the key succession, while an Identity is stored. If the provider
    /// still knows this cluster by its earlier key, the stored nonce has to be
    /// signed unless the earlier key has signed it. Otherwise, the nonce has to be
    /// signed if it has no signature.
    fn succession(&self, keys: &Keys, awaits_new_key: bool) -> Succession {
        let rests = if awaits_new_key {
            Succession::AwaitsNonce
        } else {
            Succession::Done
        };
        let Some(nonce) = self.stored_nonce() else {
            return rests;
        };
        let signing = self.signing(keys, &nonce);
        if awaits_new_key && let Some(tenant) = signing.stored_tenant() {
            return Succession::AwaitsIdentity(Box::new(tenant));
        }
        let is_to_be_signed = if awaits_new_key {
            !signing.was_signed_by(keys.predecessor.as_deref())
        } else {
            !self.observed.has_signature()
        };
        if is_to_be_signed && self.check_nonce(nonce.as_bytes(), None).is_ok() {
            return Succession::NeedsSignature(nonce);
        }
        rests
    }

    /// Makes the next step for the phase of the control plane.
    fn advance(&self, phase: &Phase, plan: &mut Plan<'_>) -> Result<(), Error> {
        let context = || HolderContext::of_control_plane(*self);
        match phase {
            Phase::NeedsKey => plan.await_for(Awaited::OwnKey),
            Phase::AwaitsNonce => {
                if let Some(notice) = self.unnamed_kubeconfig() {
                    plan.notify(notice);
                }
                plan.await_for(Awaited::Nonce);
            }
            Phase::NeedsSignature(nonce) => self.sign(nonce, plan)?,
            Phase::AwaitsIdentity(tenant) => self.send_tenant(tenant, plan),
            Phase::NeedsIdentity(offered) => context().take(offered, plan),
            Phase::NeedsKubeconfig(accepted) => context().store(accepted, plan)?,
            Phase::Authenticated(stored) => {
                context().maintain_identity(stored, plan)?;
                let succession = &stored.succession;
                // The stored identity stays in use, even if the nonce or the key has
                // a fault.
                if let Err(error) = plan.attempt(|plan| self.succeed(succession, plan)) {
                    plan.refuse(error);
                }
            }
            Phase::KubeconfigByHand(by_hand) => {
                plan.wake_by(by_hand.valid_until.map(expired_at));
            }
            Phase::Refused(error) => {
                plan.refuse(error.clone());
                // A new Identity replaces the Identity that cannot be used. So the
                // consumer requests a new one.
                self.ask_again(plan)?;
            }
            Phase::Ending => ending::advance(self.observed, plan),
        }
        Ok(())
    }

    /// Makes the next step of the key succession. The succession is complete when
    /// the provider knows the present key.
    fn succeed(&self, succession: &Succession, plan: &mut Plan<'_>) -> Result<(), Error> {
        match succession {
            Succession::Done => {}
            Succession::AwaitsNonce => {
                plan.notify(Notice::NewKeyAwaitsNonce);
                plan.await_for(Awaited::Nonce);
            }
            Succession::NeedsSignature(nonce) => self.sign(nonce, plan)?,
            Succession::AwaitsIdentity(tenant) => self.send_tenant(tenant, plan),
        }
        Ok(())
    }

    /// Sends the stored Tenant again. If no Tenant is stored, but an Identity is, the
    /// stored nonce is signed unless it has a signature.
    fn ask_again(&self, plan: &mut Plan<'_>) -> Result<(), Error> {
        let (Some(keys), Some(nonce)) = (self.keys, self.stored_nonce()) else {
            return Ok(());
        };
        let signing = self.signing(keys, &nonce);
        if let Some(tenant) = signing.stored_tenant() {
            self.send(tenant, plan);
        } else if self.observed.identity.is_some()
            && !self.observed.has_signature()
            && self.check_nonce(nonce.as_bytes(), None).is_ok()
        {
            signing.sign(plan)?;
        }
        Ok(())
    }

    fn sign(&self, nonce: &Nonce, plan: &mut Plan<'_>) -> Result<(), Error> {
        match self.keys {
            Some(keys) => self.signing(keys, nonce).sign(plan),
            None => Ok(()),
        }
    }
}
