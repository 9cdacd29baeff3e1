//! The approval of a peer's request before it is signed.

use serde::Serialize;

use crate::{
    audit::{Decision, Event},
    crypto::{Answer, BoxError, Csr, Fingerprint, PublicKey},
    error::{Backend, Error, Fault, PolicyRefusal, shortened},
    machine::Awaited,
    model::{ClusterId, ObjectRef, ProxyUrl, Resource, Tenant, Timestamp},
    provider::{look::Look, record::Verdict, records::Plan},
    verify::VerifiedTenant,
};

/// Decides whether a peer's verified request is signed. An approver may be a
/// policy, a ticket system or a person.
///
/// The provider asks the approver until the approver decides. The decision is then
/// recorded, and is valid for this proof: for this key and request, in this Tenant, by
/// this nonce. A renewal does not need a new decision. A proof by another nonce does. Meanwhile,
/// a peer that was let in before keeps its certificate and its rights.
///
/// # Examples
/// ```
/// use std::collections::BTreeSet;
/// use liqo_auth::{
///     crypto::{Answer, BoxError, Fingerprint},
///     provider::{ApprovalRequest, Approver},
/// };
///
/// /// Approves the keys that an administrator has compared. The other keys wait.
/// struct Compared(BTreeSet<Fingerprint>);
///
/// impl Approver for Compared {
///     fn decide(&self, request: &ApprovalRequest) -> Result<Answer<()>, BoxError> {
///         Ok(if self.0.contains(&request.fingerprint) {
///             Answer::Ready(())
///         } else {
///             Answer::Pending
///         })
///     }
/// }
/// # let _ = Compared(BTreeSet::new());
/// ```
pub trait Approver: Send + Sync {
    /// Approves ([`Answer::Ready`]), denies, or leaves the request open. If the
    /// request is open, look again later, or call
    /// [`Provider::approve`](crate::Provider::approve) or
    /// [`Provider::deny`](crate::Provider::deny).
    ///
    /// # Errors
    /// The reason why the approver cannot answer. The step fails and can be tried
    /// again.
    fn decide(&self, request: &ApprovalRequest) -> Result<Answer<()>, BoxError>;
}

/// A function approves.
impl<F> Approver for F
where
    F: Fn(&ApprovalRequest) -> Result<Answer<()>, BoxError> + Send + Sync,
{
    fn decide(&self, request: &ApprovalRequest) -> Result<Answer<()>, BoxError> {
        self(request)
    }
}

/// The request to approve. All its fields are verified. As data, it is the question
/// `approval` of [the JSON forms](crate::machine::json).
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename = "approval", rename_all = "camelCase")]
#[non_exhaustive]
pub struct ApprovalRequest {
    /// The peer.
    pub peer: ClusterId,
    /// The peer's Tenant.
    pub tenant: ObjectRef,
    /// The peer's key.
    pub public_key: PublicKey,
    /// The key's fingerprint, which the administrators of both clusters compare.
    pub fingerprint: Fingerprint,
    /// The peer's certificate request.
    pub csr: Csr,
    /// The proxy by which the peer wants to reach this cluster.
    #[serde(rename = "proxyURL")]
    pub proxy_url: Option<ProxyUrl>,
    /// The present time.
    pub now: Timestamp,
}

impl ApprovalRequest {
    /// The verified Tenant that makes the request.
    pub(crate) fn verified(&self) -> VerifiedTenant {
        VerifiedTenant {
            cluster_id: self.peer.clone(),
            public_key: self.public_key.clone(),
            csr: self.csr.clone(),
            proxy_url: self.proxy_url.clone(),
        }
    }
}

impl Look<'_> {
    /// The approval that a recorded request still needs; `None` if the request may
    /// be signed.
    pub(crate) fn approval_needed(
        &self,
        tenant: &Tenant,
        verified: &VerifiedTenant,
    ) -> Result<Option<ApprovalRequest>, Error> {
        let record = self.observed.record();
        match record.and_then(|record| record.proof.as_ref()?.verdict.as_ref()) {
            Some(Verdict::Approved) => Ok(None),
            Some(Verdict::Denied(reason)) => Err(disapproved(tenant, reason)),
            // Without a record, Liqo completed the exchange.
            None if record.is_none() => Ok(None),
            None => Ok(Some(ApprovalRequest {
                peer: self.peer().clone(),
                tenant: tenant.id(),
                public_key: verified.public_key.clone(),
                fingerprint: verified.public_key.fingerprint(),
                csr: verified.csr.clone(),
                proxy_url: verified.proxy_url.clone(),
                now: self.now,
            })),
        }
    }

    /// Asks the approver, and records the decision.
    pub(crate) fn ask_approver(
        &self,
        tenant: &Tenant,
        request: &ApprovalRequest,
        plan: &mut Plan<'_>,
    ) -> Result<(), Error> {
        let by_hand = self.configuration.settings.require_approval;
        let answer = match &self.configuration.approver {
            Some(approver) if !by_hand => plan.ask(|| approver.decide(request)),
            _ => Ok(Answer::Pending),
        };
        match answer.map_err(|error| Error::backend(Backend::Approver, error))? {
            Answer::Ready(()) => self.decide(tenant, Verdict::Approved, plan),
            Answer::Denied(reason) => {
                self.decide(tenant, Verdict::Denied(shortened(&reason)), plan);
            }
            Answer::Pending => plan.await_for(Awaited::Approval),
        }
        Ok(())
    }

    /// Records a decision on the recorded request.
    pub(crate) fn decide(&self, tenant: &Tenant, verdict: Verdict, plan: &mut Plan<'_>) {
        let Some(record) = self.observed.record() else {
            return;
        };
        let decision = match &verdict {
            Verdict::Approved => Decision::Approved,
            Verdict::Denied(reason) => {
                plan.refuse(disapproved(tenant, reason));
                let reason = reason.clone();
                Decision::Disapproved { reason }
            }
        };
        let event = Event::new(self.peer(), decision).about(tenant.id());
        let event = event.by_key(record.public_key.as_ref().map(PublicKey::fingerprint));
        plan.tell_upon(self.configuration.record_id(self.peer()), event);
        plan.records.peer.change(|record| {
            if let Some(proof) = &mut record.proof {
                proof.verdict = Some(verdict);
            }
        });
    }
}

fn disapproved(tenant: &Tenant, reason: &str) -> Error {
    let reason = reason.to_owned();
    let refusal = PolicyRefusal::Disapproved { reason };
    Error::found_in(tenant, "spec.csr", refusal)
}

/// Whether a peer is refused because its request was denied.
pub(crate) fn is_disapproved(error: &Error) -> bool {
    matches!(
        error.fault(),
        Fault::Policy(PolicyRefusal::Disapproved { .. })
    )
}
