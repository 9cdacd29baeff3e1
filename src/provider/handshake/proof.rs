//! Recording that a handshake was verified.

use crate::{
    assurance::commitment::COMMITMENT_ANNOTATION,
    audit::{Decision, Event},
    crypto::{CertificateChain, Nonce, PublicKey},
    error::Error,
    machine::{Effect, Part, Step},
    model::{Resource, Tenant, Timestamp, names},
    provider::{
        Provider,
        observed::Observed,
        record::peer::{IssuedCertificate, Proof, Record, Verdict},
        rights::condition,
    },
    verify::VerifiedTenant,
};

/// The Tenant is verified: its key, its request and its signature over a nonce
/// of ours. That is to be recorded, with the pin of the key, before anything
/// is signed.
#[derive(Clone)]
pub struct NeedsProof<'o> {
    provider: Provider,
    observed: Observed<'o>,
    tenant: &'o Tenant,
    verified: VerifiedTenant,
    nonce: Nonce,
    now: Timestamp,
}

impl<'o> NeedsProof<'o> {
    pub(in crate::provider) fn new(
        provider: &Provider,
        observed: Observed<'o>,
        tenant: &'o Tenant,
        verified: VerifiedTenant,
        nonce: Nonce,
        now: Timestamp,
    ) -> Self {
        Self {
            provider: provider.clone(),
            observed,
            tenant,
            verified,
            nonce,
            now,
        }
    }

    /// What was verified.
    pub fn tenant(&self) -> &VerifiedTenant {
        &self.verified
    }

    /// Pins the key, keeps the proof, uses the nonce up, and puts the finalizer
    /// (and the provider's commitment, if it has a key) on the Tenant.
    ///
    /// # Errors
    /// [`LocalFault::Backend`](crate::error::LocalFault::Backend) if the
    /// provider's own key fails.
    pub fn record(&self) -> Result<Step, Error> {
        self.record_with(None)
    }

    /// The same, with the certificate that Liqo had issued.
    pub(in crate::provider) fn record_with(
        &self,
        adopted: Option<&CertificateChain>,
    ) -> Result<Step, Error> {
        let mut record = match &self.observed.record {
            Some((_, record)) => record.clone(),
            None => Record::new(Some(self.verified.public_key().clone()), self.now),
        };
        if let Some(chain) = adopted {
            record.take(IssuedCertificate::new(
                chain,
                self.verified.csr(),
                None,
                self.now,
            ));
        }
        let csr = self.verified.csr().digest();
        // Where nobody is asked, or Liqo has signed it already, it is approved.
        let is_approved = adopted.is_some() || self.provider.0.approver.is_none();
        let verdict = earlier_verdict(&record, self.verified.public_key(), &csr, self.tenant)
            .or_else(|| is_approved.then_some(Verdict::Approved));
        let predecessor = record
            .public_key
            .replace(self.verified.public_key().clone())
            .filter(|pinned| pinned != self.verified.public_key());
        record.use_up(&self.nonce, self.now);
        let commitment = self
            .provider
            .commit(&self.observed, &self.verified, &self.nonce, None)?;
        let tenant = marked(
            self.tenant,
            commitment
                .as_ref()
                .map(|commitment| commitment.annotation()),
        );
        let tightened = condition::tighten(&mut record, &self.observed.peer, self.tenant);
        record.proof = Some(Proof {
            tenant_uid: self.tenant.metadata.uid.clone(),
            csr,
            nonce: self.nonce.clone(),
            commitment,
            verdict,
        });
        let mut step = Step::default();
        step.effects
            .push(self.provider.write_record(&self.observed, &record));
        step.effects
            .extend(Effect::patch(self.tenant, tenant, Part::Main));
        let event = |decision| {
            Event::new(&self.observed.peer, decision)
                .about(self.tenant.id())
                .by_key(self.verified.public_key().fingerprint())
        };
        step.events.push(event(Decision::HandshakeVerified));
        step.events.extend(tightened);
        if let Some(predecessor) = predecessor {
            let predecessor = predecessor.fingerprint();
            step.events
                .push(event(Decision::KeySucceeded { predecessor }));
        }
        Ok(step)
    }
}

/// What was said of the same key and request in the same Tenant before: a new
/// nonce changes nothing about it.
fn earlier_verdict(
    record: &Record,
    key: &PublicKey,
    csr: &[u8; 32],
    tenant: &Tenant,
) -> Option<Verdict> {
    let proof = record.proof.as_ref()?;
    let same = record.public_key.as_ref() == Some(key)
        && proof.csr == *csr
        && proof.tenant_uid == tenant.metadata.uid;
    proof.verdict.clone().filter(|_| same)
}

/// The Tenant with the marks that this side puts on it.
pub(in crate::provider) fn marked(tenant: &Tenant, commitment: Option<&str>) -> Tenant {
    let mut tenant = tenant.clone();
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
    tenant
}
