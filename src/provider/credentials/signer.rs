//! The signer of certificate requests.

use core::time::Duration;

use serde::{Serialize, Serializer};

use crate::{
    crypto::{
        Answer, Authority, BoxError, CertificateChain, Csr, Entropy, PublicKey, RequestId, Subject,
    },
    machine::Holder,
    model::{Bytes, CertificateSigningRequestSpec, ClusterId, Timestamp, names},
};

/// Signs certificate requests. An implementation may be your own CA, a service or a
/// person. For Kubernetes' own signer see
/// [`kubernetes_signer`](crate::provider::ProviderConfig::kubernetes_signer).
///
/// The provider asks the signer only for requests whose proof is on record. It may
/// ask again for the same [`RequestId`], after a crash or while the answer is
/// pending. A signer that stores its answers by that ID never signs twice. The
/// provider checks the certificate before use.
pub trait CsrSigner: Send + Sync {
    /// Returns the certificate with its intermediates. The answer may also be pending
    /// or denied.
    ///
    /// # Errors
    /// The reason why the signer cannot answer. The step fails and can be tried
    /// again.
    fn sign(&self, request: &SigningRequest) -> Result<Answer<CertificateChain>, BoxError>;
}

/// A request for a certificate. As data, it is the question `certificate` of
/// [the JSON forms](crate::machine::json). A caller in another language answers this
/// question with its next call.
///
/// # Examples
/// ```
/// use liqo_auth::{
///     crypto::{Answer, BoxError, CertificateChain},
///     model::read_document,
///     provider::{CsrSigner, SigningRequest},
/// };
///
/// /// Another language's callback: JSON in, JSON out.
/// struct Callback(fn(String) -> String);
///
/// impl CsrSigner for Callback {
///     fn sign(&self, request: &SigningRequest) -> Result<Answer<CertificateChain>, BoxError> {
///         let question = serde_json::to_string(request)?;
///         Ok(read_document((self.0)(question).as_bytes())?)
///     }
/// }
/// # let _ = Callback(|_| r#"{ "type": "pending" }"#.to_owned());
/// ```
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename = "certificate", rename_all = "camelCase")]
#[non_exhaustive]
pub struct SigningRequest {
    /// The ID of the request. It does not change while the request does not change.
    pub id: RequestId,
    /// The peer that gets the certificate.
    pub peer: ClusterId,
    /// The holder of the certificate: the peer's control plane, or one of its
    /// slices. For a peering user, this is the control plane.
    pub holder: Holder,
    /// The request itself, verified.
    pub csr: Csr,
    /// The subject that the certificate has to have.
    pub subject: Subject,
    /// The key that the certificate has to carry.
    pub public_key: PublicKey,
    /// The requested lifetime. The signer may choose a shorter one, or a longer one
    /// that the peer's policy allows.
    #[serde(rename = "lifetimeSeconds", serialize_with = "seconds")]
    pub lifetime: Duration,
    /// The present time.
    pub now: Timestamp,
}

impl SigningRequest {
    /// The lifetime as `spec.expirationSeconds` of a Kubernetes
    /// CertificateSigningRequest: in seconds, and at least 600, since the API
    /// accepts no less. Source: Kubernetes `certificates.k8s.io/v1`
    /// `CertificateSigningRequestSpec`.
    pub fn expiration_seconds(&self) -> i32 {
        i32::try_from(self.lifetime.as_secs())
            .unwrap_or(i32::MAX)
            .max(SHORTEST_KUBERNETES_LIFETIME)
    }

    /// The request as Kubernetes' own signer gets it.
    pub(crate) fn to_kubernetes(&self) -> CertificateSigningRequestSpec {
        CertificateSigningRequestSpec {
            request: Bytes::from(self.csr.pem()),
            signer_name: names::CLIENT_SIGNER.to_owned(),
            usages: names::CLIENT_USAGES.map(str::to_owned).to_vec(),
            expiration_seconds: Some(self.expiration_seconds()),
        }
    }
}

fn seconds<S: Serializer>(lifetime: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(lifetime.as_secs())
}

/// Signs at once with an [`Authority`] in memory. It stores nothing: for a repeated
/// request, it issues another certificate with another serial number.
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

/// The minimum that Kubernetes accepts for `spec.expirationSeconds`.
const SHORTEST_KUBERNETES_LIFETIME: i32 = 600;
