//! Having the request signed.

use core::{fmt, time::Duration};
use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::{Provider, seen::Seen};
use crate::{
    crypto::{
        Authority, BoxError, CertificateChain, ClientCertificateExpectation, Csr, Entropy,
        Fingerprint, Nonce, PublicKey, Subject,
    },
    error::{ApiMisuse, Error, PolicyRefusal, shortened},
    model::{ClusterId, Metadata, Resource, Secret, Tenant, Timestamp, names},
    policy::Policy,
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
#[expect(clippy::large_enum_variant, reason = "it lives for one call")]
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

/// The name of a request: SHA-256 over the request, the proof that it rests
/// on, the lifetime and the certificate that it replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId([u8; 32]);

/// The request is verified, its proof is on record, and no certificate for it
/// is there.
#[derive(Clone)]
pub struct NeedsCertificate<'o> {
    provider: Provider,
    seen: Seen<'o>,
    tenant: &'o Tenant,
    request: SigningRequest,
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
        let lifetime = provider.0.certificate_lifetime;
        let replaced = seen
            .certificate
            .and_then(|secret| chain(secret, provider.policy(&seen.peer)))
            .map(|chain| chain.leaf().fingerprint());
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
        }
    }

    /// What is to be signed.
    pub fn request(&self) -> &SigningRequest {
        &self.request
    }

    /// Goes on with the certificate that the signer gave.
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
        Ok(Step {
            effects: vec![effect],
            ..Step::default()
        })
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
            .derive("serial number", &[&request.id.0, &now]);
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

impl RequestId {
    fn new(
        verified: &VerifiedTenant,
        nonce: &Nonce,
        tenant_uid: &str,
        lifetime: Duration,
        replaced: Option<Fingerprint>,
    ) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"liqo-auth signing request v1\0");
        hash.update(verified.csr().digest());
        hash.update(nonce.digest());
        hash.update(Sha256::digest(tenant_uid.as_bytes()));
        hash.update(lifetime.as_secs().to_be_bytes());
        hash.update(replaced.as_ref().map_or(&[0; 32], Fingerprint::as_bytes));
        Self(hash.finalize().into())
    }

    /// A request that rests on the claim of a home cluster: on this version of
    /// the object that records it.
    pub(crate) fn of_claim(csr: &Csr, claim: &Metadata, lifetime: Duration) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"liqo-auth legacy signing request v1\0");
        hash.update(csr.digest());
        hash.update(Sha256::digest(claim.uid.as_bytes()));
        hash.update(Sha256::digest(claim.resource_version.as_bytes()));
        hash.update(lifetime.as_secs().to_be_bytes());
        Self(hash.finalize().into())
    }

    /// The 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// 64 hexadecimal digits, in lower case.
impl fmt::Display for RequestId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

/// The certificate that was issued for exactly this Tenant's request and can
/// still be used.
pub(super) fn stored(
    seen: &Seen<'_>,
    tenant: &Tenant,
    verified: &VerifiedTenant,
    now: Timestamp,
    policy: &Policy,
) -> Option<CertificateChain> {
    let secret = seen.certificate?;
    if secret.data.get(names::CSR)?.expose() != tenant.spec.csr.as_slice() {
        return None;
    }
    let chain = chain(secret, policy)?;
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

fn chain(secret: &Secret, policy: &Policy) -> Option<CertificateChain> {
    let pem = secret.data.get(names::CERTIFICATE)?;
    CertificateChain::from_pem(pem.expose(), policy).ok()
}
