//! A small certificate authority (CA), the default signer.

mod approved;

use core::time::Duration;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::{
    BoxError, CaBundle, Certificate, CertificateChain, CertificateError, Csr, Entropy, KeyPair,
    NotAtOnce, PublicKey, SigningKey, Subject,
    certificate::LABEL,
    der::{Reader, SEQUENCE, UTF8_STRING, element, single},
    name::{COMMON_NAME, relative_name},
    new_certificate::{self, NewCertificate},
    pem_block,
};
use crate::{model::Timestamp, policy::Policy};

/// A CA that issues client certificates as the signer
/// `kubernetes.io/kube-apiserver-client` does. Its key may be any [`SigningKey`]
/// that answers immediately.
///
/// # Examples
/// ```
/// use core::time::Duration;
/// use liqo_auth::{
///     crypto::{
///         Authority, ClientCertificateExpectation, Csr, Entropy, KeyPair, SigningKey,
///         Subject,
///     },
///     model::Timestamp,
///     policy::Policy,
/// };
///
/// let now: Timestamp = "2026-11-20T13:00:00Z".parse()?;
/// let day = Duration::from_secs(24 * 60 * 60);
/// let authority = Authority::new("cl-provider-ca", now, 365 * day, &entropy(1))?;
///
/// let key = KeyPair::from_entropy(&entropy(2));
/// let subject = Subject::control_plane(&"cl-consumer".parse()?);
/// let csr = Csr::make(&subject, &key)?.at_once()?;
/// let chain = authority.issue(&csr, &subject, key.public_key(), now, day, &entropy(3))?;
///
/// let expectation = ClientCertificateExpectation { subject: &subject, key: key.public_key(), now };
/// chain.check_client(&expectation, &Policy::strict())?;
/// assert_eq!(chain.leaf().issuer(), "CN=cl-provider-ca");
/// # fn entropy(n: u8) -> Entropy { Entropy::from_bytes([n; 32]) }
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[derive(Clone, derive_more::Debug)]
#[debug("Authority({bundle:?})")]
pub struct Authority {
    key: Arc<dyn SigningKey>,
    bundle: CaBundle,
}

/// Why an [`Authority`] could not be made, or did not issue a certificate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AuthorityError {
    /// The authority's certificate cannot be read, or is not a CA certificate.
    #[error("the authority's certificate is refused: {0}")]
    Certificate(CertificateError),
    /// The text does not have exactly one certificate, the authority's own.
    #[error("found {found} certificates, expected only the authority's own")]
    NotOneCertificate {
        /// The number of certificates.
        found: usize,
    },
    /// The authority's certificate is for another key.
    #[error("the authority's certificate is for another key")]
    Key,
    /// The authority's own certificate is not valid at this time.
    #[error(
        "the authority's certificate is valid from {not_before} to {not_after}, not at {now}: check the clock"
    )]
    NotValid {
        /// The first second in which it is valid.
        not_before: Timestamp,
        /// The last second in which it is valid.
        not_after: Timestamp,
        /// The time given.
        now: Timestamp,
    },
    /// The request is for another subject or key than expected, or is invalid.
    #[error("the request is for another subject or key, or is invalid")]
    Request,
    /// The key did not sign.
    #[error("the authority's key did not sign: {reason}")]
    Signing {
        /// The error of the key.
        reason: String,
    },
    /// The key answers later, or refuses. For an authority whose key needs time,
    /// implement a `CsrSigner`.
    #[error("the authority's key did not sign: {0}")]
    NotAtOnce(NotAtOnce),
}

impl Authority {
    /// A new authority with an Ed25519 key from the entropy. Its self-signed
    /// certificate is valid from five minutes before `now` until `lifetime` after
    /// `now`.
    ///
    /// # Errors
    /// [`AuthorityError::Signing`], [`AuthorityError::NotAtOnce`].
    pub fn new(
        common_name: &str,
        now: Timestamp,
        lifetime: Duration,
        entropy: &Entropy,
    ) -> Result<Self, AuthorityError> {
        let key = Arc::new(KeyPair::from_entropy(entropy));
        Self::with_key(common_name, key, now, lifetime, entropy)
    }

    /// A new authority with an existing key.
    ///
    /// # Errors
    /// [`AuthorityError::Signing`], [`AuthorityError::NotAtOnce`].
    pub fn with_key(
        common_name: &str,
        key: Arc<dyn SigningKey>,
        now: Timestamp,
        lifetime: Duration,
        entropy: &Entropy,
    ) -> Result<Self, AuthorityError> {
        let attribute = relative_name(COMMON_NAME, UTF8_STRING, common_name);
        let name = element(SEQUENCE, &[&attribute]);
        let certificate = NewCertificate {
            serial: entropy.derive("authority serial", &[common_name.as_bytes()]),
            issuer: &name,
            subject: &name,
            not_before: now - BACKDATE,
            not_after: now + lifetime,
            key: key.public_key(),
            extensions: &new_certificate::of_authority(&key_identifier(key.public_key())),
        };
        let der = certificate.sign(&*key).map_err(signing)?;
        let pem = pem_block::write(LABEL, &der);
        Self::from_pem(pem.as_bytes(), key, &Policy::strict())
    }

    /// The authority with an existing certificate and key.
    ///
    /// # Errors
    /// [`AuthorityError::Certificate`], [`AuthorityError::NotOneCertificate`] or
    /// [`AuthorityError::Key`].
    pub fn from_pem(
        certificate: &[u8],
        key: Arc<dyn SigningKey>,
        policy: &Policy,
    ) -> Result<Self, AuthorityError> {
        let bundle =
            CaBundle::from_pem(certificate, policy).map_err(AuthorityError::Certificate)?;
        let [certificate] = bundle.certificates() else {
            let found = bundle.certificates().len();
            return Err(AuthorityError::NotOneCertificate { found });
        };
        if certificate.spki_der != key.public_key().spki_der() {
            return Err(AuthorityError::Key);
        }
        Ok(Self { key, bundle })
    }

    /// The authority's certificate, as it was given. It is the CA of the issued
    /// certificates.
    pub const fn ca_bundle(&self) -> &CaBundle {
        &self.bundle
    }

    /// Issues a client certificate for a request.
    ///
    /// The subject is copied byte for byte from the request. The certificate is
    /// valid from five minutes before `now` on. It ends `lifetime` after `now`, or
    /// with the authority's own certificate if that is earlier.
    ///
    /// # Errors
    /// [`AuthorityError::Request`], [`AuthorityError::NotValid`],
    /// [`AuthorityError::Signing`] or [`AuthorityError::NotAtOnce`].
    pub fn issue(
        &self,
        csr: &Csr,
        subject: &Subject,
        public_key: &PublicKey,
        now: Timestamp,
        lifetime: Duration,
        entropy: &Entropy,
    ) -> Result<CertificateChain, AuthorityError> {
        let name = csr
            .name_for(subject, public_key)
            .ok_or(AuthorityError::Request)?;
        self.issue_to(name, public_key, now, lifetime, csr, entropy)
    }

    fn issue_to(
        &self,
        name: &[u8],
        public_key: &PublicKey,
        now: Timestamp,
        lifetime: Duration,
        csr: &Csr,
        entropy: &Entropy,
    ) -> Result<CertificateChain, AuthorityError> {
        let authority = self.certificate()?;
        let (not_before, not_after) = (authority.not_before, authority.not_after);
        if now < not_before || now > not_after {
            return Err(AuthorityError::NotValid {
                not_before,
                not_after,
                now,
            });
        }
        // A Kubernetes API server (in Go) finds a CA by the bytes of its name.
        let certificate = NewCertificate {
            serial: entropy.derive("certificate serial", &[&csr.digest()]),
            issuer: &authority.subject,
            subject: name,
            not_before: now - BACKDATE,
            not_after: not_after.min(now + lifetime),
            key: public_key,
            extensions: &new_certificate::of_client(authority.subject_key_identifier.as_deref()),
        };
        let der = certificate.sign(&*self.key).map_err(signing)?;
        CertificateChain::of_leaf(der).ok_or(AuthorityError::Request)
    }

    fn certificate(&self) -> Result<&Certificate, AuthorityError> {
        self.bundle
            .certificates()
            .first()
            .ok_or(AuthorityError::NotOneCertificate { found: 0 })
    }
}

/// The tolerated difference of clocks, as in the Kubernetes signer.
const BACKDATE: Duration = Duration::from_secs(5 * 60);

/// RFC 7093 section 2, method 1: the first 20 bytes of the SHA-256 of the key.
fn key_identifier(key: &PublicKey) -> Vec<u8> {
    let digest = Sha256::digest(key_bits(key));
    digest.iter().take(20).copied().collect()
}

/// The content of a key's subjectPublicKey (RFC 5280 section 4.1).
pub(super) fn key_bits(key: &PublicKey) -> &[u8] {
    single(key.spki_der(), SEQUENCE)
        .and_then(|content| {
            let mut information = Reader::new(content);
            information.expect(SEQUENCE)?;
            information.bit_string()
        })
        .unwrap_or_default()
}

fn signing(error: BoxError) -> AuthorityError {
    match error.downcast::<NotAtOnce>() {
        Ok(answer) => AuthorityError::NotAtOnce(*answer),
        Err(error) => AuthorityError::Signing {
            reason: error.to_string(),
        },
    }
}

#[cfg(test)]
mod tests;
