//! Someone's word before anything is signed.

use crate::{
    audit::{Decision, Event},
    crypto::{BoxError, Csr, Fingerprint, PublicKey},
    error::{ApiMisuse, Backend, Error, Fault, PolicyRefusal, shortened},
    machine::{Awaited, Step, View},
    model::{ClusterId, ObjectRef, ProxyUrl, Resource, Tenant, Timestamp},
    provider::{
        Phase, Provider,
        observed::Observed,
        record::peer::{Record, Verdict},
        rights::condition,
    },
    verify::VerifiedTenant,
};

/// Says whether a peer's verified request is to be signed: a policy, a ticket,
/// a person.
///
/// It is asked until it has decided, and then no more: the decision is on
/// record, and holds for this key and request in this Tenant. A renewal needs
/// no other one.
///
/// # Examples
/// ```
/// use std::collections::BTreeSet;
/// use liqo_auth::{
///     crypto::{BoxError, Fingerprint},
///     provider::{Approval, ApprovalRequest, Approver},
/// };
///
/// /// Approves of the keys that an administrator has compared; the others wait.
/// struct Compared(BTreeSet<Fingerprint>);
///
/// impl Approver for Compared {
///     fn decide(&self, request: &ApprovalRequest) -> Result<Approval, BoxError> {
///         Ok(if self.0.contains(&request.fingerprint()) {
///             Approval::Approved
///         } else {
///             Approval::Pending
///         })
///     }
/// }
/// # let _ = Compared(BTreeSet::new());
/// ```
pub trait Approver: Send + Sync {
    /// Approves, denies, or leaves it open.
    ///
    /// # Errors
    /// Whatever keeps it from an answer; the step fails and can be tried again.
    fn decide(&self, request: &ApprovalRequest) -> Result<Approval, BoxError>;
}

/// An approver's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Approval {
    /// Sign it.
    Approved,
    /// Not decided yet: look again when it is, or call
    /// [`Provider::approve`] or [`Provider::deny`].
    Pending,
    /// Do not sign it, for this reason.
    Denied(String),
}

/// What is to be approved of. All of it was verified.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ApprovalRequest {
    /// The peer.
    pub peer: ClusterId,
    /// Its Tenant.
    pub tenant: ObjectRef,
    /// Its key.
    pub public_key: PublicKey,
    /// Its request.
    pub csr: Csr,
    /// The proxy that it wants to be reached by.
    pub proxy_url: Option<ProxyUrl>,
    /// The present time.
    pub now: Timestamp,
}

/// The proof is on record, and the request waits for an approval.
#[derive(Clone)]
pub struct NeedsApproval<'o> {
    provider: Provider,
    observed: Observed<'o>,
    tenant: &'o Tenant,
    request: ApprovalRequest,
}

/// Leaves every decision to [`Provider::approve`] and [`Provider::deny`].
pub(in crate::provider) struct ByHand;

impl ApprovalRequest {
    /// The fingerprint of the peer's key: what two administrators compare.
    pub fn fingerprint(&self) -> Fingerprint {
        self.public_key.fingerprint()
    }
}

impl Approver for ByHand {
    fn decide(&self, _request: &ApprovalRequest) -> Result<Approval, BoxError> {
        Ok(Approval::Pending)
    }
}

impl<'o> NeedsApproval<'o> {
    pub(in crate::provider) fn new(
        provider: &Provider,
        observed: Observed<'o>,
        tenant: &'o Tenant,
        verified: &VerifiedTenant,
        now: Timestamp,
    ) -> Self {
        let request = ApprovalRequest {
            peer: observed.peer.clone(),
            tenant: tenant.id(),
            public_key: verified.public_key().clone(),
            csr: verified.csr().clone(),
            proxy_url: verified.proxy_url().cloned(),
            now,
        };
        Self {
            provider: provider.clone(),
            observed,
            tenant,
            request,
        }
    }

    /// What waits.
    pub fn request(&self) -> &ApprovalRequest {
        &self.request
    }

    /// Records that it may be signed.
    pub fn approve(&self) -> Step {
        self.provider
            .decide(&self.observed, self.tenant, Verdict::Approved)
    }

    /// Records that it may not. The peer is refused until someone approves of
    /// the request after all, or it makes another one.
    pub fn deny(&self, reason: &str) -> Step {
        let verdict = Verdict::Denied(shortened(reason));
        self.provider.decide(&self.observed, self.tenant, verdict)
    }
}

impl Provider {
    /// Approves of the request that waits, or that was denied before. Nothing
    /// is signed yet: [`reconcile`](Self::reconcile) goes on.
    ///
    /// # Errors
    /// As [`resume`](Self::resume); [`ApiMisuse::NothingToApprove`] if nothing
    /// waits.
    pub fn approve(&self, view: &View<'_>, now: Timestamp) -> Result<Step, Error> {
        self.decide_by_hand(view, now, Verdict::Approved)
    }

    /// Denies the request that waits.
    ///
    /// # Errors
    /// As [`approve`](Self::approve).
    pub fn deny(&self, view: &View<'_>, reason: &str, now: Timestamp) -> Result<Step, Error> {
        self.decide_by_hand(view, now, Verdict::Denied(shortened(reason)))
    }

    fn decide_by_hand(
        &self,
        view: &View<'_>,
        now: Timestamp,
        verdict: Verdict,
    ) -> Result<Step, Error> {
        let (observed, peering) = self.look(view, now)?;
        let waits = match &peering.phase {
            Phase::NeedsApproval(_) => true,
            Phase::Refused(error) => is_disapproved(error),
            _ => false,
        };
        match observed.tenant {
            Some(tenant) if waits => Ok(self.decide(&observed, tenant, verdict)),
            _ => {
                let phase = peering.phase.name();
                Err(Error::new(ApiMisuse::NothingToApprove { phase }, None, ""))
            }
        }
    }

    /// The phase of a request that is on record and not signed yet, unless it
    /// may be signed.
    pub(in crate::provider) fn approval<'o>(
        &self,
        observed: &Observed<'o>,
        tenant: &'o Tenant,
        verified: &VerifiedTenant,
        now: Timestamp,
    ) -> Result<Option<NeedsApproval<'o>>, Error> {
        let record = observed.record.as_ref().map(|(_, record)| record);
        match record.and_then(|record| record.proof.as_ref()?.verdict.as_ref()) {
            Some(Verdict::Approved) => Ok(None),
            Some(Verdict::Denied(reason)) => Err(disapproved(tenant, reason)),
            // Before the proof is on record, it is Liqo's exchange.
            None if record.is_none() => Ok(None),
            None => Ok(Some(NeedsApproval::new(
                self,
                observed.clone(),
                tenant,
                verified,
                now,
            ))),
        }
    }

    pub(in crate::provider) fn ask_approver(
        &self,
        phase: &NeedsApproval<'_>,
    ) -> Result<Step, Error> {
        let Some(approver) = &self.0.approver else {
            return Ok(Step::awaiting(Awaited::Approval));
        };
        let decided = approver.decide(&phase.request);
        Ok(
            match decided.map_err(|error| Error::backend(Backend::Approver, &*error))? {
                Approval::Approved => phase.approve(),
                Approval::Denied(reason) => phase.deny(&reason),
                Approval::Pending => Step::awaiting(Awaited::Approval),
            },
        )
    }

    fn decide(&self, observed: &Observed<'_>, tenant: &Tenant, verdict: Verdict) -> Step {
        let Some((_, record)) = &observed.record else {
            return Step::default();
        };
        let mut record: Record = record.clone();
        let (mut step, decision) = match &verdict {
            Verdict::Approved => (Step::default(), Decision::Approved),
            Verdict::Denied(reason) => (
                Step::refuse(disapproved(tenant, reason)),
                Decision::Disapproved {
                    reason: reason.clone(),
                },
            ),
        };
        let event = Event::new(&observed.peer, decision).about(tenant.id());
        step.events.push(match &record.public_key {
            Some(key) => event.by_key(key.fingerprint()),
            None => event,
        });
        if let Some(proof) = &mut record.proof {
            proof.verdict = Some(verdict);
        }
        step.events
            .extend(condition::tighten(&mut record, &observed.peer, tenant));
        step.effects.push(self.write_record(observed, &record));
        step
    }
}

fn disapproved(tenant: &Tenant, reason: &str) -> Error {
    let reason = reason.to_owned();
    let refusal = PolicyRefusal::Disapproved { reason };
    Error::new(refusal, Some(tenant.id()), "spec.csr")
}

fn is_disapproved(error: &Error) -> bool {
    matches!(
        error.fault(),
        Fault::Policy(PolicyRefusal::Disapproved { .. })
    )
}
