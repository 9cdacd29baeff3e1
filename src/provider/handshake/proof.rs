//! Records a verified handshake.

use super::adoption::adopted_until;
use crate::{
    assurance::commitment::COMMITMENT_ANNOTATION,
    audit::{Decision, Event},
    crypto::{Answer, CertificateChain, Nonce, PublicKey},
    error::Error,
    machine::Part,
    model::{Resource, Tenant, TenantCondition, names},
    provider::{
        look::Look,
        record::{
            IssuedCertificate, OtherName, Proof, Record, StoredCommitment, Verdict,
            signature_digest,
        },
        records::Plan,
    },
    verify::VerifiedTenant,
};

/// Pins the key, records the proof and marks the nonce as used. Adds the finalizer
/// to the Tenant, and the provider's commitment if the provider has a key. All this
/// happens before the provider requests a certificate. `adopted` is the certificate
/// that Liqo issued before, if any.
///
/// # Errors
/// [`LocalFault::Backend`](crate::error::LocalFault::Backend) if the provider's
/// own key fails.
pub(crate) fn record_proof(
    look: &Look<'_>,
    tenant: &Tenant,
    verified: &VerifiedTenant,
    nonce: &Nonce,
    adopted: Option<&CertificateChain>,
    plan: &mut Plan<'_>,
) -> Result<(), Error> {
    let (observed, now) = (look.observed, look.now);
    // The proof is recorded even if the commitment is not ready.
    let commitment = match look.commit(verified, nonce, None, plan)? {
        Answer::Ready(commitment) => commitment,
        Answer::Pending | Answer::Denied(_) => None,
    };
    let key = &verified.public_key;
    let csr = verified.csr.digest();
    // The request counts as approved if no approval is required, or if Liqo has
    // issued its certificate.
    // An earlier proof's verdict is not on this nonce.
    let is_approved = adopted.is_some() || !look.configuration.needs_approval();
    let pinned = observed.pinned_key().filter(|pinned| *pinned != key);
    let predecessor = pinned.map(PublicKey::fingerprint);
    plan.edit(tenant, |tenant| {
        let annotation = commitment.as_ref().map(StoredCommitment::annotation);
        set_finalizer_and_commitment(tenant, annotation);
    });
    let proof = Proof {
        tenant_uid: tenant.metadata.uid.clone(),
        csr,
        nonce: nonce.clone(),
        signature: Some(signature_digest(tenant)),
        commitment,
        verdict: is_approved.then_some(Verdict::Approved),
        may_serve_again: predecessor.is_none(),
        ends_certificate: false,
    };
    // This certificate stays valid, also if the peer gets another one.
    let liqos_until = adopted_until(look, tenant);
    let records = &mut plan.records;
    records.peer.change_or_make(
        || Record::new(Some(key.clone()), now),
        |record| {
            record.end_proof(None, now);
            if let Some(chain) = adopted {
                let leaf = chain.leaf().fingerprint();
                let issued = IssuedCertificate::new(chain, leaf, &verified.csr, None, now);
                record.remember_until(issued.until());
                record.held.take(issued);
            }
            if let Some(until) = liqos_until {
                record.remember_until(until);
            }
            record.public_key = Some(key.clone());
            record.reserved_until = None;
            record.other_name = OtherName::of(tenant, look.peer());
            record.tested_key = None;
            record.use_up(nonce, now);
            record.proof = Some(proof);
        },
    );
    let id = look.configuration.record_id(look.peer());
    let event = |decision| {
        Event::new(look.peer(), decision)
            .about(tenant.id())
            .by_key(key.fingerprint())
    };
    plan.tell_upon_part(id.clone(), Part::Main, event(Decision::HandshakeVerified));
    if let Some(predecessor) = predecessor {
        plan.tell_upon(id, event(Decision::KeySucceeded { predecessor }));
    }
    Ok(())
}

/// Forgets the proof of a Tenant that is gone or is being deleted. A later Tenant proves
/// itself anew, even if a store gives it the earlier one's UID. The nonce may
/// [serve again](crate::provider::ProviderConfig::peer_again).
pub(crate) fn end_proof(look: &Look<'_>, plan: &mut Plan<'_>) {
    let tenant = look.observed.tenant_metadata();
    if tenant.is_none_or(|tenant| tenant.deletion_timestamp.is_some()) {
        let within = look.configuration.settings.peer_again;
        let is_drained = look.observed.condition() == TenantCondition::Drained;
        let is_replaced = look.observed.is_replaced;
        let within = within.filter(|_| !is_drained && !is_replaced);
        plan.records
            .peer
            .change(|record| record.end_proof(within, look.now));
    }
    // Until it is gone, it is the peer's Tenant.
    if tenant.is_none() {
        let peer = &mut plan.records.peer;
        peer.change(|record| record.other_name = None);
    }
}

/// Sets the finalizer and the commitment annotation on a Tenant. Without a
/// commitment, removes the annotation.
pub(crate) fn set_finalizer_and_commitment(tenant: &mut Tenant, commitment: Option<&str>) {
    let finalizers = &mut tenant.metadata.finalizers;
    if !finalizers
        .iter()
        .any(|finalizer| finalizer == names::TENANT_FINALIZER)
    {
        finalizers.push(names::TENANT_FINALIZER.to_owned());
    }
    let annotations = &mut tenant.metadata.annotations;
    match commitment {
        Some(commitment) => {
            annotations.insert(COMMITMENT_ANNOTATION.to_owned(), commitment.to_owned())
        }
        None => annotations.remove(COMMITMENT_ANNOTATION),
    };
}
