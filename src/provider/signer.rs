//! Having the request signed.

use core::time::Duration;
use std::collections::BTreeMap;

use super::{
    Provider, condition,
    record::{IssuedCertificate, Record},
    seen::Seen,
};
use crate::{
    audit::{Decision, Event},
    crypto::{
        Authority, BoxError, CertificateChain, ClientCertificateExpectation, Csr, Entropy,
        Fingerprint, Nonce, PublicKey, Subject,
    },
    error::{ApiMisuse, Error, PolicyRefusal, shortened},
    model::{ClusterId, Metadata, Resource, Secret, Tenant, Timestamp, names},
    policy::Policy,
    request_id::RequestId,
    step::{Effect, Refused, Step, Version},
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
    /// The request itself, verified.
    pub csr: Csr,
    /// The subject that the certificate has to have.
    pub subject: Subject,
    /// The key that the certificate has to carry.
    pub public_key: PublicKey,
    /// The lifetime that is asked for.
    pub lifetime: Duration,
    /// The present time.
    pub now: Timestamp,
}

/// The request is verified, its proof is on record, and no certificate for it
/// is there.
#[derive(Clone)]
pub struct NeedsCertificate<'o> {
    provider: Provider,
    seen: Seen<'o>,
    tenant: &'o Tenant,
    request: SigningRequest,
    replaced: Option<Fingerprint>,
}

/// Signs at once, with an [`Authority`] in memory. It keeps nothing: asked
/// again for the same request, it issues another certificate with another
/// serial number.
pub struct AuthoritySigner {
    authority: Authority,
    serial_numbers: Entropy,
}

impl<'o> NeedsCertificate<'o> {
    pub(super) fn new(
        provider: &Provider,
        seen: Seen<'o>,
        tenant: &'o Tenant,
        verified: VerifiedTenant,
        nonce: &Nonce,
        now: Timestamp,
    ) -> Self {
        let limit = provider.policy(&seen.peer).limits().certificate_lifetime;
        let lifetime = provider
            .0
            .certificate_lifetime
            .min(limit.saturating_sub(BACKDATED));
        let issued = seen
            .record
            .as_ref()
            .and_then(|(_, record)| record.issued.as_ref());
        let replaced = issued.and_then(|issued| issued.next_replaces(verified.csr(), now));
        let id = RequestId::new(&verified, nonce, &tenant.metadata.uid, lifetime, replaced);
        let request = SigningRequest {
            id,
            peer: seen.peer.clone(),
            csr: verified.csr().clone(),
            subject: Subject::control_plane(&seen.peer),
            public_key: verified.public_key().clone(),
            lifetime,
            now,
        };
        Self {
            provider: provider.clone(),
            seen,
            tenant,
            request,
            replaced,
        }
    }

    /// What is to be signed.
    pub fn request(&self) -> &SigningRequest {
        &self.request
    }

    /// Goes on with the certificate that the signer gave: notes it in the
    /// record, then keeps it where Liqo does.
    ///
    /// # Errors
    /// [`ApiMisuse::SignerCertificate`] if it is not for this request.
    pub fn continue_with(&self, chain: &CertificateChain) -> Result<Step, Error> {
        let expectation = ClientCertificateExpectation {
            subject: &self.request.subject,
            key: &self.request.public_key,
            now: self.request.now,
        };
        chain
            .check_client(&expectation, self.provider.policy(&self.seen.peer))
            .map_err(|error| Error::new(ApiMisuse::SignerCertificate(error), None, ""))?;
        let data = BTreeMap::from([
            (
                names::CSR.to_owned(),
                self.tenant.spec.csr.as_slice().to_vec().into(),
            ),
            (names::CERTIFICATE.to_owned(), chain.pem().to_vec().into()),
        ]);
        let secret = Secret {
            metadata: Metadata {
                name: names::ISSUED_CERTIFICATE_SECRET.to_owned(),
                namespace: self.seen.namespace_name(),
                labels: BTreeMap::from([(
                    names::REMOTE_CLUSTER_ID_LABEL.to_owned(),
                    self.seen.peer.to_string(),
                )]),
                ..Metadata::default()
            },
            data,
            ..Secret::default()
        };
        let effect = match self.seen.certificate {
            None => Effect::Create(secret.into()),
            Some(stored) => Effect::Replace {
                object: secret.into(),
                version: Version::of(&stored.metadata),
            },
        };
        let mut step = Step::default();
        if let Some((_, record)) = &self.seen.record {
            let issued =
                IssuedCertificate::new(chain, &self.request.csr, self.replaced, self.request.now);
            let record = Record {
                issued: Some(issued),
                condition: record.condition.max(condition::said_by(self.tenant)),
                ..record.clone()
            };
            step.effects
                .push(self.provider.write_record(&self.seen, &record));
        }
        step.effects.push(effect);
        let leaf = chain.leaf();
        let issued = Decision::CertificateIssued {
            request: self.request.id,
            certificate: leaf.fingerprint(),
            until: leaf.not_after(),
            replaces: self.replaced,
        };
        step.events.push(
            Event::new(&self.seen.peer, issued)
                .about(self.tenant.id())
                .by_key(self.request.public_key.fingerprint()),
        );
        Ok(step)
    }

    /// Says that the signer denied it.
    pub fn deny(&self, reason: &str) -> Step {
        let reason = shortened(reason);
        let id = self.tenant.id();
        Step {
            refused: vec![Refused {
                object: Some(id.clone()),
                error: Error::new(
                    PolicyRefusal::SigningDenied { reason },
                    Some(id),
                    "spec.csr",
                ),
            }],
            ..Step::default()
        }
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
pub(super) fn stored(
    seen: &Seen<'_>,
    tenant: &Tenant,
    verified: &VerifiedTenant,
    now: Timestamp,
    policy: &Policy,
) -> Option<CertificateChain> {
    let secret = seen.certificate?;
    let pem = secret.data.get(names::CERTIFICATE)?;
    let chain = CertificateChain::from_pem(pem.expose(), policy).ok()?;
    let issued = match &seen.record {
        Some((_, record)) => record.issued.as_ref()?.is(&chain, verified.csr()),
        None => secret.data.get(names::CSR)?.expose() == tenant.spec.csr.as_slice(),
    };
    if !issued {
        return None;
    }
    let expectation = ClientCertificateExpectation {
        subject: &Subject::control_plane(&seen.peer),
        key: verified.public_key(),
        now,
    };
    chain
        .check_client(&expectation, policy)
        .is_ok()
        .then_some(chain)
}

/// What a signer may set notBefore back, and then some.
const BACKDATED: Duration = Duration::from_secs(10 * 60);
