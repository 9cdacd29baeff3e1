//! Having the request signed.

use core::time::Duration;

use super::issuance::{self, Bearer, CertificateSecret};
use crate::{
    crypto::{
        Authority, BoxError, CertificateChain, Csr, Entropy, Fingerprint, Nonce, PublicKey,
        RequestId, Subject,
    },
    error::{Error, shortened},
    machine::{Effect, Step},
    model::{ClusterId, Resource, Tenant, Timestamp, names},
    policy::Policy,
    provider::{
        Provider,
        observed::Observed,
        record::peer::{IssuedCertificate, Record, RefusedRenewal},
        rights::condition,
    },
    verify::VerifiedTenant,
};

/// Signs certificate requests: the Kubernetes API, a CA of one's own, a person.
///
/// It is called only for requests whose proof is on record. It may be called
/// again for the same [`RequestId`], after a crash or while the answer is
/// pending: one that answers from what it has for that ID never signs twice.
/// The certificate that it gives is checked before it is used.
pub trait CsrSigner: Send + Sync {
    /// Signs, or says when or why not.
    ///
    /// # Errors
    /// Whatever keeps it from an answer; the step fails and can be tried again.
    fn sign(&self, request: &SigningRequest) -> Result<Signing, BoxError>;
}

/// A signer's answer.
#[derive(Debug, Clone)]
pub enum Signing {
    /// The certificate, with its intermediates.
    Issued(CertificateChain),
    /// It will come: look again when it has.
    Pending,
    /// It will not come, for this reason.
    Denied(String),
}

/// A request to be signed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SigningRequest {
    /// Names the request: the same as long as nothing about it changes.
    pub id: RequestId,
    /// The peer that it is for.
    pub peer: ClusterId,
    /// The peer's resource slice that it is for; none for its control plane.
    pub slice: Option<String>,
    /// The request itself, verified.
    pub csr: Csr,
    /// The subject that the certificate has to have.
    pub subject: Subject,
    /// The key that the certificate has to carry.
    pub public_key: PublicKey,
    /// The lifetime that is asked for. A signer may give less, and as much as
    /// the peer's policy takes.
    pub lifetime: Duration,
    /// The present time.
    pub now: Timestamp,
}

impl SigningRequest {
    /// The lifetime as `spec.expirationSeconds` of a Kubernetes
    /// CertificateSigningRequest: in seconds, and at least 600, since the API
    /// takes no less. Source: Kubernetes `certificates.k8s.io/v1`
    /// `CertificateSigningRequestSpec`.
    pub fn expiration_seconds(&self) -> i32 {
        i32::try_from(self.lifetime.as_secs())
            .unwrap_or(i32::MAX)
            .max(SHORTEST_KUBERNETES_LIFETIME)
    }
}

/// The request is verified, its proof is on record, and no certificate for it
/// is there.
#[derive(Clone)]
pub struct NeedsCertificate<'o> {
    provider: Provider,
    observed: Observed<'o>,
    tenant: &'o Tenant,
    request: SigningRequest,
    replaced: Option<Fingerprint>,
    /// The certificate in force, if this is to renew it.
    renews: Option<IssuedCertificate>,
}

/// Signs at once, with an [`Authority`] in memory. It keeps nothing: asked
/// again for the same request, it issues another certificate with another
/// serial number.
pub struct AuthoritySigner {
    authority: Authority,
    serial_numbers: Entropy,
}

impl<'o> NeedsCertificate<'o> {
    pub(in crate::provider) fn new(
        provider: &Provider,
        observed: Observed<'o>,
        tenant: &'o Tenant,
        verified: VerifiedTenant,
        nonce: &Nonce,
        now: Timestamp,
    ) -> Self {
        let lifetime = issuance::lifetime(provider, &observed.peer);
        // The certificate on record is whole: when another one is asked for, it
        // is of no use any more, or about to be.
        let replaced = observed.issued().and_then(IssuedCertificate::fingerprint);
        let id = RequestId::new(
            verified.csr(),
            nonce,
            &tenant.metadata.uid,
            lifetime,
            replaced,
        );
        let request = SigningRequest {
            id,
            peer: observed.peer.clone(),
            slice: None,
            csr: verified.csr().clone(),
            subject: Subject::control_plane(&observed.peer),
            public_key: verified.public_key().clone(),
            lifetime,
            now,
        };
        Self {
            provider: provider.clone(),
            observed,
            tenant,
            request,
            replaced,
            renews: None,
        }
    }

    /// The same, while the certificate that it replaces is in force.
    pub(in crate::provider) fn renewing(self, issued: &IssuedCertificate) -> Self {
        Self {
            renews: Some(issued.clone()),
            ..self
        }
    }

    /// What is to be signed.
    pub fn request(&self) -> &SigningRequest {
        &self.request
    }

    /// Whether the peer has a certificate that is in force until this one
    /// comes.
    pub fn is_renewal(&self) -> bool {
        self.renews.is_some()
    }

    /// Goes on with the certificate that the signer gave: notes it in the
    /// record, then keeps it where Liqo does. A renewal that ends no later than
    /// the certificate in force is refused, so that nothing is renewed again
    /// and again without getting anywhere.
    ///
    /// # Errors
    /// [`ApiMisuse::SignerCertificate`](crate::error::ApiMisuse::SignerCertificate)
    /// if it is not for this request.
    pub fn continue_with(&self, chain: &CertificateChain) -> Result<Step, Error> {
        let policy = self.provider.policy(&self.observed.peer);
        issuance::check_answer(&self.request, chain, policy)?;
        let until = chain.leaf().not_after();
        if let Some(present) = &self.renews
            && until <= present.until()
        {
            let SigningRequest { id, now, .. } = self.request;
            let refused = RefusedRenewal::without_progress(id, now, until);
            return Ok(self.refuse_renewal(present, refused));
        }
        let mut step = Step::default();
        if let Some((_, record)) = &self.observed.record {
            let mut record = record.clone();
            let tightened = condition::tighten(&mut record, &self.observed.peer, self.tenant);
            step.events.extend(tightened);
            record.take(IssuedCertificate::new(
                chain,
                &self.request.csr,
                self.replaced,
                self.request.now,
            ));
            step.effects
                .push(self.provider.write_record(&self.observed, &record));
        }
        let csr = self.tenant.spec.csr.as_slice();
        step.effects
            .extend(kept_in(&self.observed).keep(csr, chain));
        let (about, replaced) = (self.tenant.id(), self.replaced);
        step.events
            .push(issuance::event(&self.request, about, chain, replaced));
        Ok(step)
    }

    /// Says that the signer denied it. A renewal's denial is noted in the
    /// record, and the renewal is not asked for again for a tenth of the life of
    /// the certificate, which stays in force.
    pub fn deny(&self, reason: &str) -> Step {
        if let Some(present) = &self.renews {
            let SigningRequest { id, now, .. } = self.request;
            let refused = RefusedRenewal::denied(id, now, shortened(reason));
            return self.refuse_renewal(present, refused);
        }
        issuance::denied(self.tenant.id(), reason)
    }

    fn refuse_renewal(&self, present: &IssuedCertificate, refused: RefusedRenewal) -> Step {
        let id = self.tenant.id();
        let mut step = Step::refuse(refused.error(present.until(), id));
        step.wait.wake_at = Some(self.request.now + present.pause());
        if let Some((_, record)) = &self.observed.record {
            let record = Record {
                refused_renewal: Some(refused),
                ..record.clone()
            };
            step.effects
                .push(self.provider.write_record(&self.observed, &record));
        }
        step
    }
}

impl AuthoritySigner {
    /// Signs with `authority`; serial numbers are derived from `entropy`.
    pub fn new(authority: Authority, entropy: Entropy) -> Self {
        Self {
            authority,
            serial_numbers: entropy,
        }
    }
}

impl CsrSigner for AuthoritySigner {
    fn sign(&self, request: &SigningRequest) -> Result<Signing, BoxError> {
        let now = request.now.unix().to_be_bytes();
        let serial_number = self
            .serial_numbers
            .derive("serial number", &[request.id.as_bytes(), &now]);
        let chain = self.authority.issue(
            &request.csr,
            &request.subject,
            &request.public_key,
            request.now,
            request.lifetime,
            &Entropy::from_bytes(serial_number),
        )?;
        Ok(Signing::Issued(chain))
    }
}

/// The certificate that was issued for exactly this Tenant's request and can
/// still be used: the one on record. Before there is a record, it is what Liqo
/// left, and who vouches for the nonce vouches for it.
///
/// One that is not valid yet is of no use: a clock that was ahead when it was
/// issued has been set right. Another one is signed then, once for each time
/// that the clock jumps.
pub(in crate::provider) fn in_force(
    observed: &Observed<'_>,
    tenant: &Tenant,
    verified: &VerifiedTenant,
    now: Timestamp,
    policy: &Policy,
) -> Option<CertificateChain> {
    let subject = Subject::control_plane(&observed.peer);
    let bearer = Bearer {
        subject: &subject,
        key: verified.public_key(),
        now,
    };
    match &observed.record {
        Some((_, record)) => bearer.issued(record.issued.as_ref()?, verified.csr(), policy),
        None => kept_in(observed).left_by_liqo(tenant.spec.csr.as_slice(), bearer, policy),
    }
}

/// Keeps the certificate and its request in the Secret in which Liqo does,
/// unless they are there.
pub(in crate::provider) fn keep(
    observed: &Observed<'_>,
    tenant: &Tenant,
    chain: &CertificateChain,
) -> Option<Effect> {
    kept_in(observed).keep(tenant.spec.csr.as_slice(), chain)
}

fn kept_in<'o>(observed: &Observed<'o>) -> CertificateSecret<'o> {
    CertificateSecret {
        namespace: observed.namespace_name(),
        name: names::ISSUED_CERTIFICATE_SECRET.to_owned(),
        peer: observed.peer.clone(),
        stored: observed.certificate,
    }
}

/// The least that Kubernetes takes for `spec.expirationSeconds`.
const SHORTEST_KUBERNETES_LIFETIME: i32 = 600;
