//! Who signs certificate requests.

use core::time::Duration;

use crate::{
    crypto::{
        Answer, Authority, BoxError, CertificateChain, Csr, Entropy, PublicKey, RequestId, Subject,
    },
    machine::Holder,
    model::{ClusterId, Timestamp},
};

/// Signs certificate requests: a CA of one's own, a service, a person. For
/// Kubernetes' own signer see
/// [`kubernetes_signer`](crate::provider::ProviderBuilder::kubernetes_signer).
///
/// The signer is called only for requests whose proof is on record. It may be
/// called again for the same [`RequestId`], after a crash or while the answer is
/// pending: a signer that answers from what it has for that ID never signs
/// twice. The certificate that it gives is checked before it is used.
pub trait CsrSigner: Send + Sync {
    /// Gives the certificate with its intermediates, or says that it comes
    /// later, or why it does not come.
    ///
    /// # Errors
    /// Whatever keeps the signer from an answer; the step fails and can be tried
    /// again.
    fn sign(&self, request: &SigningRequest) -> Result<Answer<CertificateChain>, BoxError>;
}

/// A request to be signed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SigningRequest {
    /// Names the request: the same as long as nothing about it changes.
    pub id: RequestId,
    /// The peer that it is for.
    pub peer: ClusterId,
    /// Whose certificate it is to be: the peer's control plane's, or that of one
    /// of its slices. A peering user's counts as the control plane's.
    pub holder: Holder,
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

/// Signs at once, with an [`Authority`] in memory. It keeps nothing: asked
/// again for the same request, it issues another certificate with another
/// serial number.
pub struct AuthoritySigner {
    authority: Authority,
    serial_numbers: Entropy,
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
    fn sign(&self, request: &SigningRequest) -> Result<Answer<CertificateChain>, BoxError> {
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
        Ok(Answer::Ready(chain))
    }
}

/// The least that Kubernetes takes for `spec.expirationSeconds`.
const SHORTEST_KUBERNETES_LIFETIME: i32 = 600;
