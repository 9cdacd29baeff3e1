//! The administrator's call for another signature: after a denial, or for a certificate that
//! is in force.

use crate::{
    error::Error,
    machine::{Holder, Step, View},
    model::Timestamp,
    provider::{Phase, Provider, Status, credentials, look::Look, records::Plan},
};

impl Provider {
    /// Submits a request to Kubernetes' signer again, after the request was denied
    /// there or failed. Deletes the denied CertificateSigningRequest. The provider
    /// then makes another one. Without this call, the provider does not repeat a
    /// denied request.
    ///
    /// With `even_in_force`, the renewal of a certificate that is in force is due from now on:
    /// [`reconcile`](crate::Machine::reconcile) has the recorded request signed, although the
    /// certificate has most of its life left, and gives the new certificate to the peer as it
    /// gives any renewal. The present certificate stays in force until then, and counts as
    /// issued until it expires. A new certificate that does not end later is refused, as for
    /// every renewal. Use it when another CA signs from now on. The call changes nothing for a
    /// peer that is not [`Authenticated`](Phase::Authenticated), such as one that is drained,
    /// denied or refused, for a slice without a credential, and for AWS users.
    ///
    /// # Errors
    /// As [`look`](Self::look).
    pub fn sign_again(
        &self,
        view: &View<'_>,
        holder: &Holder,
        even_in_force: bool,
        now: Timestamp,
    ) -> Result<Step, Error> {
        self.plan_with(view, now, |look, plan| {
            look.observed.check_record()?;
            let is_in_force = even_in_force && is_in_force(&look.status()?, holder);
            forget_denial(look, holder, plan);
            if is_in_force {
                plan.records.held(holder, |held| held.renew_now());
            }
            Ok(())
        })
    }
}

fn forget_denial(look: &Look<'_>, holder: &Holder, plan: &mut Plan<'_>) {
    let mut denied = None;
    plan.records.held(holder, |held| {
        denied = held.signing.take_if(|attempt| attempt.denied.is_some());
        if denied.is_some() {
            held.refused_renewal = None;
        }
    });
    if let Some(attempt) = denied {
        credentials::delete_denied(look, &attempt.name, plan);
    }
}

/// Whether the holder has a credential, and nothing is wrong with the peer.
fn is_in_force(status: &Status, holder: &Holder) -> bool {
    let has_credential = match holder {
        Holder::ControlPlane => true,
        Holder::Slice(name) => status
            .slices
            .iter()
            .any(|slice| slice.slice.name == *name && slice.phase.settled().is_some()),
    };
    has_credential && matches!(status.phase, Phase::Authenticated(_))
}
