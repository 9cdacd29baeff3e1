//! One look at one provider, and what every rule needs of it.

use super::{
    administration::ending,
    configuration::{Configuration, PeerSettings},
    credentials::{
        holding::{Holding, Standing},
        stored_identity::Succession,
    },
    handshake::{keys::Keys, signature::Signing},
    observed::Observed,
    phase::{Phase, Status},
    record::{Plan, Records},
    slice::Slice,
};
use crate::{
    crypto::Nonce,
    error::{Error, Fault},
    machine::{Awaited, Message, Notice, View},
    model::{ClusterId, Namespace, ObjectRef, Resource, Tenant, Timestamp},
    policy::Policy,
    verify::{self, NonceExpectation},
};

/// The configuration, what was observed of one provider, this cluster's keys
/// and the present time.
#[derive(Clone, Copy)]
pub(super) struct Look<'a> {
    pub(super) configuration: &'a Configuration,
    pub(super) view: &'a View<'a>,
    pub(super) observed: &'a Observed<'a>,
    /// The keys towards the provider; none while the key store has none.
    pub(super) keys: Option<&'a Keys>,
    pub(super) now: Timestamp,
}

impl<'a> Look<'a> {
    /// A plan that changes nothing yet.
    pub(super) fn plan(&self) -> Plan<'a> {
        Plan::new(Records::of(self.configuration, self.observed))
    }

    /// Sends the Tenant, again and again.
    pub(super) fn send_tenant(&self, tenant: &Tenant, plan: &mut Plan<'_>) {
        self.send(tenant.clone(), plan);
        plan.await_for(Awaited::Identity);
    }

    fn send(&self, tenant: Tenant, plan: &mut Plan<'_>) {
        let own = &self.configuration.cluster_id;
        plan.send(Message::new(own, self.peer(), tenant));
    }

    pub(super) fn peer(&self) -> &'a ClusterId {
        &self.observed.peer
    }

    pub(super) fn policy(&self) -> &'a Policy {
        self.configuration.policy(self.peer())
    }

    pub(super) fn settings(&self) -> &'a PeerSettings {
        self.configuration.settings(self.peer())
    }

    pub(super) fn status(&self) -> Result<Status, Error> {
        let phase = self.phase()?;
        let slices = self.slices(phase.accepted());
        let accepted = phase.accepted().into_iter();
        let mut notices: Vec<Notice> = accepted.flat_map(|it| it.notices()).collect();
        if let Phase::Authenticated(stored) = &phase {
            notices.extend(Holding::of_control_plane(*self).renewal_notice(stored));
            if matches!(stored.succession, Succession::AwaitsNonce) {
                notices.push(Notice::NewKeyAwaitsNonce);
            }
        }
        notices.extend(slices.iter().filter_map(Slice::renewal_notice));
        let slices = slices.into_iter().map(|slice| slice.status).collect();
        Ok(Status {
            phase,
            slices,
            notices,
        })
    }

    /// The phase of the control plane. What is wrong on this side is an error;
    /// what is wrong with what the provider sent is a phase.
    pub(super) fn phase(&self) -> Result<Phase, Error> {
        match self.phase_unless_refused() {
            Err(error)
                if matches!(
                    error.fault(),
                    Fault::Precondition(_) | Fault::Local(_) | Fault::ApiMisuse(_)
                ) =>
            {
                Err(error)
            }
            Err(error) => Ok(Phase::Refused(error)),
            phase => phase,
        }
    }

    fn phase_unless_refused(&self) -> Result<Phase, Error> {
        if ending::is_ending(self.observed) {
            return Ok(Phase::Ending);
        }
        let Some(keys) = self.keys else {
            return Ok(Phase::NeedsKey);
        };
        if self.observed.identity.is_some() {
            let holding = Holding::of_control_plane(*self);
            let given = holding.renewed();
            return Ok(match holding.standing(keys, given)? {
                Standing::Nothing => Phase::AwaitsNonce,
                Standing::NeedsIdentity(offered) => Phase::NeedsIdentity(offered),
                Standing::NeedsKubeconfig(accepted) => Phase::NeedsKubeconfig(accepted),
                Standing::Held(mut stored) => {
                    stored.succession = self.succession(keys, stored.accepted.awaits_new_key());
                    Phase::Authenticated(stored)
                }
            });
        }
        let Some((secret, text)) = self.observed.nonce_text() else {
            return Ok(Phase::AwaitsNonce);
        };
        // What was signed already is sent on, also when its nonce has expired:
        // the provider knows which nonces it takes.
        if let Ok(nonce) = Nonce::parse(text, self.policy())
            && let Some(tenant) = self.signing(keys, &nonce).stored_tenant()
        {
            return Ok(Phase::AwaitsIdentity(Box::new(tenant)));
        }
        let nonce = self.check_nonce(text, Some(secret.id()))?;
        Ok(Phase::NeedsSignature(nonce))
    }

    /// What the nonce that is stored beside an Identity asks for: a nonce that
    /// was received and is not signed yet, and, while the provider knows this
    /// cluster by its earlier key, one that the earlier key has not signed.
    fn succession(&self, keys: &Keys, awaits_new_key: bool) -> Succession {
        let rests = if awaits_new_key {
            Succession::AwaitsNonce
        } else {
            Succession::Done
        };
        let Some((_, text)) = self.observed.nonce_text() else {
            return rests;
        };
        let Ok(nonce) = Nonce::parse(text, self.policy()) else {
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
        if is_to_be_signed && self.check_nonce(text, None).is_ok() {
            return Succession::NeedsSignature(nonce);
        }
        rests
    }

    /// Leads on from the phase of the control plane.
    pub(super) fn go_on(&self, phase: &Phase, plan: &mut Plan<'_>) -> Result<(), Error> {
        let holding = || Holding::of_control_plane(*self);
        match phase {
            Phase::NeedsKey => plan.await_for(Awaited::OwnKey),
            Phase::AwaitsNonce => plan.await_for(Awaited::Nonce),
            Phase::NeedsSignature(nonce) => self.sign(nonce, plan)?,
            Phase::AwaitsIdentity(tenant) => self.send_tenant(tenant, plan),
            Phase::NeedsIdentity(offered) => holding().take(offered, plan),
            Phase::NeedsKubeconfig(accepted) => holding().store(accepted, plan)?,
            Phase::Authenticated(stored) => {
                holding().maintain(stored, plan)?;
                let succession = &stored.succession;
                // The identity serves on, whatever the nonce and the key say.
                if let Err(error) = plan.attempt(|plan| self.succeed(succession, plan)) {
                    plan.refuse(error);
                }
            }
            Phase::Refused(error) => {
                plan.refuse(error.clone());
                // What mends an Identity that cannot be used is another one.
                self.ask_again(plan)?;
            }
            Phase::Ending => ending::go_on(self.observed, plan),
        }
        Ok(())
    }

    /// Goes on to the present key, while the provider knows the one before it.
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

    /// The Tenant that the provider should have, if it was made, or if its nonce
    /// waits for the key.
    fn ask_again(&self, plan: &mut Plan<'_>) -> Result<(), Error> {
        let (Some(keys), Some((_, text))) = (self.keys, self.observed.nonce_text()) else {
            return Ok(());
        };
        let Ok(nonce) = Nonce::parse(text, self.policy()) else {
            return Ok(());
        };
        let signing = self.signing(keys, &nonce);
        if let Some(tenant) = signing.stored_tenant() {
            self.send(tenant, plan);
        } else if self.observed.identity.is_some()
            && !self.observed.has_signature()
            && self.check_nonce(text, None).is_ok()
        {
            signing.sign(plan)?;
        }
        Ok(())
    }

    pub(super) fn signing<'s>(&'s self, keys: &'s Keys, nonce: &'s Nonce) -> Signing<'s> {
        Signing {
            look: self,
            keys,
            nonce,
        }
    }

    fn sign(&self, nonce: &Nonce, plan: &mut Plan<'_>) -> Result<(), Error> {
        match self.keys {
            Some(keys) => self.signing(keys, nonce).sign(plan),
            None => Ok(()),
        }
    }

    /// That a text is a nonce that this cluster may sign for this provider.
    pub(super) fn check_nonce(
        &self,
        text: &[u8],
        object: Option<ObjectRef>,
    ) -> Result<Nonce, Error> {
        let configured = !self.settings().provider_keys.is_empty();
        let pinned = self
            .observed
            .record()
            .and_then(|record| record.provider_key);
        let expectation = NonceExpectation {
            provider: self.peer(),
            consumer: &self.configuration.cluster_id,
            now: self.now,
            known_by_key: configured || pinned.is_some(),
        };
        verify::nonce_at(text, &expectation, self.policy(), object)
    }

    /// Makes the tenant namespace, if it is missing.
    pub(super) fn ensure_namespace(&self, plan: &mut Plan<'_>) -> Result<(), Error> {
        if self.observed.namespace.is_none() {
            verify::default_namespace(self.peer())?;
            plan.create(Namespace::for_tenant(self.peer()));
        }
        Ok(())
    }
}
