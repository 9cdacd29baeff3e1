//! The course of a handshake: the present phase, and the step to the next one.

use super::{
    ApprovalRequest, Phase,
    administration::clean_up,
    credentials::{
        CertificateSecret, CredentialRequest, CredentialState, HolderContext, Issued, RequestBasis,
        answer_renews, await_revocations, delete_unanswered,
    },
    handshake::{
        Proven, end_proof, hand_out, keep_on_offer, phase_without_tenant, record_proof, takes_over,
    },
    look::Look,
    phase::NeedsCredential,
    record::signature_digest,
    records::Plan,
    rights::{self, Granted},
    slice::{SliceTerms, Slices, unconfirmed_grants},
};
use crate::{
    crypto::{Answer, Nonce},
    error::{Error, Fault, LocalFault},
    machine::{Awaited, Env, Holder, Notice, Step},
    model::{Resource, Tenant, names},
    verify::{self, VerifiedTenant},
};

impl<'a> Look<'a> {
    /// The step to the next phase.
    pub(super) fn reconcile(&self, env: &Env) -> Result<Step, Error> {
        let phase = match self.phase_or_refused() {
            Err(error) if !is_of_a_backend(&error) => return Err(error),
            phase => phase,
        };
        let terms = match &phase {
            Ok(phase) => self.slice_terms(phase)?,
            Err(_) => None,
        };
        let mut slices = Slices::of(*self, terms.as_ref());
        if takes_over(self, phase.as_ref()) {
            slices = slices.taken_over();
        }
        let mut plan = self.plan();
        let failed = self.plan_step(phase.as_ref(), &slices, env, &mut plan);
        let Some(error) = failed else {
            return Ok(plan.finish());
        };
        // An error of a backend blocks neither the Tenant's condition nor the
        // slices.
        plan.refuse(error.clone());
        let step = plan.finish();
        if step.is_settled() {
            Err(error)
        } else {
            Ok(step)
        }
    }

    /// Plans the step from this phase, or without a phase if a backend failed. Returns the error
    /// of what the step could not do.
    pub(super) fn plan_step(
        &self,
        phase: Result<&Phase, &Error>,
        slices: &Slices<'_>,
        env: &Env,
        plan: &mut Plan<'_>,
    ) -> Option<Error> {
        let mut failed = match phase {
            Ok(phase) => plan
                .attempt(|plan| self.advance(phase, slices, env, plan))
                .err(),
            Err(error) => Some(error.clone()),
        };
        // An approver that fails takes nothing from a peer that was let in before.
        if let Ok(Phase::NeedsApproval(request)) = phase {
            let kept = plan.attempt(|plan| self.keep_in_force(request, slices, plan));
            failed = failed.or(kept.err());
        }
        // These rules apply in every phase, also after an error of `advance`.
        self.keep_label(plan);
        rights::tighten(self, plan);
        rights::apply_lift(self, plan);
        rights::correct_origins(self, plan);
        end_proof(self, plan);
        await_revocations(self, plan);
        slices.advance(plan);
        plan.follow_from_absence(self.observed.lost_tenant());
        self.notify(plan);
        failed
    }

    /// Adds the notices for the administrator, in any phase.
    pub(super) fn notify(&self, plan: &mut Plan<'_>) {
        for notice in self.notices() {
            plan.notify(notice);
        }
    }

    pub(super) fn notices(&self) -> impl Iterator<Item = Notice> {
        let of_rights = rights::notices(self.observed).into_iter();
        of_rights.chain(unconfirmed_grants(self))
    }

    /// The notice that the record holds the condition in force. A step may lift it, so a step
    /// decides for itself.
    pub(super) fn held_condition(&self) -> Option<Notice> {
        let is_held = self.observed.is_condition_held();
        let condition = self.observed.condition();
        is_held.then_some(Notice::ConditionHeld { condition })
    }

    /// The phase. A fault of the peer results in the phase `Refused`.
    pub(super) fn phase_or_refused(&self) -> Result<Phase, Error> {
        let refused = |error: Error| error.of_the_peer().map(Phase::Refused);
        self.phase().or_else(refused)
    }

    fn phase(&self) -> Result<Phase, Error> {
        let observed = self.observed;
        // The rights are withdrawn even if other objects have a fault.
        if rights::is_ending(observed) {
            return Ok(Phase::Ending);
        }
        if observed.is_drained() {
            return Ok(Phase::Drained);
        }
        observed.check_record()?;
        if let Some(error) = &observed.unreadable_handshake
            && !observed.is_over(self.now)
        {
            return Ok(Phase::Refused(error.clone()));
        }
        if let Some(tenant) = observed.unreadable_tenant {
            return Ok(Phase::Refused(tenant.error()));
        }
        if let Some(error) = &observed.ambiguous_tenant
            && !observed.is_over(self.now)
        {
            return Ok(Phase::Refused(error.clone()));
        }
        self.configuration.check_peer(self.peer())?;
        let Some(tenant) = observed.tenant else {
            return phase_without_tenant(self);
        };
        if !self.configuration.handshake_required(self.peer(), tenant) {
            return Ok(match rights::tolerates(self, tenant)? {
                true => Phase::Tolerated,
                false => Phase::AwaitsNames,
            });
        }
        let usable = self.check_provable(tenant)?;
        let verified = self.verify_claim(tenant)?;
        observed.check_rights()?;
        if tenant.metadata.uid.is_empty() {
            return Ok(Phase::NeedsUid(tenant.id()));
        }
        let nonce = match self.prove(tenant, &tenant.metadata.uid, &verified, usable)? {
            Proven::Recorded(proof) => {
                return self.phase_with_proof(tenant, verified, &proof.nonce);
            }
            Proven::AwaitsNames => return Ok(Phase::AwaitsNames),
            Proven::By(nonce) => nonce,
        };
        if !observed.is_known() {
            // If Liqo itself has completed the exchange, only the record is missing.
            let phase = self.phase_with_proof(tenant, verified.clone(), &nonce)?;
            if matches!(phase, Phase::Authenticated(_)) {
                return Ok(phase);
            }
        }
        Ok(Phase::NeedsProof(Box::new(verified), nonce))
    }

    fn phase_with_proof(
        &self,
        tenant: &Tenant,
        verified: VerifiedTenant,
        nonce: &Nonce,
    ) -> Result<Phase, Error> {
        if let Some(request) = self.approval_needed(tenant, &verified)? {
            return Ok(Phase::NeedsApproval(Box::new(request)));
        }
        let context = self.control_plane(tenant, &verified, nonce);
        let credential = match context.credential_state() {
            CredentialState::InForce(credential) => credential,
            CredentialState::Needs(request) => {
                drop(context);
                return Ok(Phase::NeedsCredential(Box::new(NeedsCredential {
                    tenant: verified,
                    request,
                    nonce: nonce.clone(),
                })));
            }
        };
        let granted = Granted {
            tenant,
            verified: &verified,
            context: &context,
            credential: &credential,
        };
        let issued = Box::new(Issued::new(&granted, nonce.clone()));
        Ok(if granted.is_complete()? {
            Phase::Authenticated(issued)
        } else {
            Phase::NeedsRights(issued)
        })
    }

    /// The credential in force of a peer that was let in by an earlier proof, and whose
    /// newer proof waits for its approval. No peer can write the bindings or the status of
    /// the Tenant, which an end and a drain take away.
    fn let_in_before(&self, request: &ApprovalRequest) -> Result<Option<Box<Issued>>, Error> {
        let record = self.observed.record();
        let (Some(tenant), Some(proof)) = (
            self.observed.tenant,
            record.and_then(|record| record.proof.as_ref()),
        ) else {
            return Ok(None);
        };
        let verified = request.verified();
        let context = self.control_plane(tenant, &verified, &proof.nonce);
        let CredentialState::InForce(credential) = context.credential_state() else {
            return Ok(None);
        };
        let is_let_in = tenant.status.auth_params.is_some()
            && rights::missing_bindings(self.observed, tenant)?.is_empty();
        Ok(is_let_in.then(|| {
            let granted = Granted {
                tenant,
                verified: &verified,
                context: &context,
                credential: &credential,
            };
            Box::new(Issued::new(&granted, proof.nonce.clone()))
        }))
    }

    /// The control plane as the holder of a credential, with its request.
    fn control_plane<'s>(
        &self,
        tenant: &'s Tenant,
        verified: &'s VerifiedTenant,
        nonce: &'s Nonce,
    ) -> HolderContext<'s>
    where
        'a: 's,
    {
        let observed = self.observed;
        HolderContext {
            look: *self,
            holder: Holder::ControlPlane,
            about: tenant.id(),
            uid: &tenant.metadata.uid,
            text: tenant.spec.csr.as_slice(),
            csr: &verified.csr,
            key: &verified.public_key,
            subject: Holder::ControlPlane.subject(self.peer()),
            basis: RequestBasis::Handshake {
                nonce,
                tenant: &tenant.metadata.uid,
            },
            held: observed.record().map(|record| &record.held),
            key_held: observed.record().map(|record| &record.aws.held),
            kept_in: CertificateSecret {
                namespace: observed.namespace_name(),
                name: names::ISSUED_CERTIFICATE_SECRET.to_owned(),
                peer: self.peer(),
                stored: observed.certificate,
                unreadable: None,
            },
            client_cas: self.configuration.client_cas.as_ref(),
        }
    }

    /// The terms for the peer's slices that result from the control plane's
    /// authentication.
    pub(super) fn slice_terms(&self, phase: &Phase) -> Result<Option<SliceTerms>, Error> {
        let Some(tenant) = self.observed.tenant else {
            return Ok(None);
        };
        let (key, proxy_url) = match phase {
            Phase::Authenticated(issued) => {
                let verified = &issued.tenant;
                (
                    Some(verified.public_key.clone()),
                    verified.proxy_url.clone(),
                )
            }
            Phase::NeedsApproval(request) if self.let_in_before(request)?.is_some() => {
                (Some(request.public_key.clone()), request.proxy_url.clone())
            }
            Phase::Tolerated => (None, verify::proxy_url(tenant)?),
            _ => return Ok(None),
        };
        Ok(Some(SliceTerms {
            key,
            tenant_uid: tenant.metadata.uid.clone(),
            address: self.address(proxy_url.as_ref()),
        }))
    }

    /// Plans the step from this phase to the next.
    fn advance(
        &self,
        phase: &Phase,
        slices: &Slices<'_>,
        env: &Env,
        plan: &mut Plan<'_>,
    ) -> Result<(), Error> {
        match (phase, self.observed.tenant) {
            (Phase::NeedsUid(tenant), _) => plan.await_for(Awaited::Uid(tenant.clone())),
            (Phase::Uninvited, _) => plan.await_for(Awaited::Invitation),
            (Phase::AwaitsNames, _) => plan.await_for(Awaited::Names),
            (Phase::Ended { kept_until }, _) => clean_up(self, *kept_until, plan),
            (Phase::NeedsNonce(why), _) => hand_out(self, *why, env, plan)?,
            (Phase::AwaitsTenant(nonce), _) => self.await_tenant(nonce, plan),
            (Phase::NeedsProof(verified, nonce), Some(tenant)) => {
                record_proof(self, tenant, verified, nonce, None, plan)?;
                self.request_with_proof(tenant, verified, nonce, plan)?;
            }
            (Phase::NeedsApproval(request), Some(tenant)) => {
                self.ask_approver(tenant, request, plan)?;
                keep_on_offer(self, env, plan)?;
            }
            (Phase::NeedsCredential(needs), Some(tenant)) => {
                let context = self.control_plane(tenant, &needs.tenant, &needs.nonce);
                needs.request.ask(&context, plan)?;
            }
            (Phase::NeedsRights(issued), Some(tenant)) => {
                let context = self.control_plane(tenant, &issued.tenant, &issued.nonce);
                issued.granted(tenant, &context).grant(plan)?;
            }
            (Phase::Authenticated(issued), Some(tenant)) => {
                self.maintain_peering(issued, tenant, slices, plan)?;
                keep_on_offer(self, env, plan)?;
            }
            (Phase::Tolerated, Some(tenant)) => rights::tolerate(self, tenant, plan)?,
            (Phase::Drained, _) => self.withdraw(plan),
            (Phase::Ending, _) => {
                self.withdraw(plan);
                rights::let_tenant_go(self, plan);
                // A record without a proof has this end already, or there was no peering. Its
                // offer is newer than the end, which other objects may show late.
                let record = self.observed.record();
                if record.is_some_and(|record| record.proof.is_some()) {
                    plan.records.peer.change(|record| record.offered = None);
                }
            }
            (Phase::Refused(error), Some(tenant)) => {
                plan.refuse(error.clone());
                self.remember_key_test(tenant, plan);
                keep_on_offer(self, env, plan)?;
            }
            (Phase::Refused(error), None) => plan.refuse(error.clone()),
            // The other phases require a Tenant.
            (_, None) => {}
        }
        Ok(())
    }

    /// Makes the request to the cluster's own signer in the step that records the proof, so
    /// that the record is written once for both. The record comes before the request. An
    /// approver comes before it as well.
    fn request_with_proof(
        &self,
        tenant: &Tenant,
        verified: &VerifiedTenant,
        nonce: &Nonce,
        plan: &mut Plan<'_>,
    ) -> Result<(), Error> {
        if !self.configuration.settings.kubernetes_signer || self.configuration.needs_approval() {
            return Ok(());
        }
        let context = self.control_plane(tenant, verified, nonce);
        match context.credential_state() {
            CredentialState::Needs(request @ CredentialRequest::Certificate(_)) => {
                request.ask(&context, plan)
            }
            _ => Ok(()),
        }
    }

    /// Withdraws the rights, and the request that is not answered.
    fn withdraw(&self, plan: &mut Plan<'_>) {
        rights::withdraw(self, plan);
        if let Some(record) = self.observed.record() {
            delete_unanswered(self, &record.held, plan);
        }
    }

    /// Sends the Identity and answers renewals. Also restores the finalizer and the
    /// commitment annotation on the Tenant, makes the record of an exchange that Liqo
    /// completed, and renews the commitment if the committed content has changed.
    fn maintain_peering(
        &self,
        issued: &Issued,
        tenant: &Tenant,
        slices: &Slices<'_>,
        plan: &mut Plan<'_>,
    ) -> Result<(), Error> {
        let verified = &issued.tenant;
        if issued.is_adopted {
            let chain = issued.credential.shown.certificate();
            return record_proof(self, tenant, verified, &issued.nonce, chain, plan);
        }
        let context = self.control_plane(tenant, verified, &issued.nonce);
        let granted = issued.granted(tenant, &context);
        // The next look recognises this signature without arithmetic.
        plan.records.peer.change(|record| {
            if let Some(proof) = &mut record.proof {
                proof.signature = Some(signature_digest(tenant));
            }
        });
        let is_committed = self.renew_commitment(issued, plan)?;
        granted.restore_finalizer_and_commitment(plan);
        answer_renews(
            self,
            tenant,
            verified,
            &|name| slices.auth_params(name),
            plan,
        );
        let is_renewed = context.renew(&issued.credential, plan);
        if is_committed && !is_renewed {
            self.send(issued.identity(None), plan);
        }
        Ok(())
    }

    /// Maintains what a peer has by an earlier proof: its certificate, the Secret with it and
    /// the Tenant's status, and the answers to its Renews. The Identity is not sent, since it
    /// is the answer to the proof that waits.
    fn keep_in_force(
        &self,
        request: &ApprovalRequest,
        slices: &Slices<'_>,
        plan: &mut Plan<'_>,
    ) -> Result<(), Error> {
        let (Some(tenant), Some(issued)) = (self.observed.tenant, self.let_in_before(request)?)
        else {
            return Ok(());
        };
        let verified = &issued.tenant;
        let context = self.control_plane(tenant, verified, &issued.nonce);
        issued.granted(tenant, &context).grant(plan)?;
        answer_renews(
            self,
            tenant,
            verified,
            &|name| slices.auth_params(name),
            plan,
        );
        context.renew(&issued.credential, plan);
        Ok(())
    }

    /// Renews the commitment if the content that it covers has changed. Returns
    /// whether the recorded commitment covers the present content.
    fn renew_commitment(&self, issued: &Issued, plan: &mut Plan<'_>) -> Result<bool, Error> {
        let record = self.observed.record();
        let Some(proof) = record.and_then(|record| record.proof.as_ref()) else {
            return Ok(true);
        };
        let earlier = proof.commitment.as_ref();
        match self.commit(&issued.tenant, &issued.nonce, earlier, plan)? {
            Answer::Ready(commitment) if commitment == proof.commitment => Ok(true),
            Answer::Ready(commitment) => {
                plan.records.peer.change(|record| {
                    if let Some(proof) = &mut record.proof {
                        proof.commitment = commitment;
                    }
                });
                Ok(false)
            }
            Answer::Pending | Answer::Denied(_) => Ok(false),
        }
    }
}

fn is_of_a_backend(error: &Error) -> bool {
    matches!(error.fault(), Fault::Local(LocalFault::Backend { .. }))
}
