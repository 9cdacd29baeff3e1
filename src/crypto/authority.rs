//! A small certificate authority: the embedded default.

use core::{fmt, time::Duration};
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::{
    BoxError, CaBundle, CaBundleError, Certificate, CertificateChain, Csr, Entropy, KeyPair,
    Payload, PublicKey, SigningKey, Subject,
    certificate_chain::LABEL,
    der::{
        CONTEXT_0, CONTEXT_3, GENERALIZED_TIME, INTEGER, OBJECT_IDENTIFIER, OCTET_STRING, Reader,
        SEQUENCE, UTC_TIME, UTF8_STRING, bit_string, element, single,
    },
    name::COMMON_NAME,
    pem_block, sign_verified,
};
use crate::{model::Timestamp, policy::Policy};

/// An authority that issues client certificates as the signer
/// `kubernetes.io/kube-apiserver-client` does. Its key may be anywhere.
///
/// # Examples
/// ```
/// use core::time::Duration;
/// use liqo_auth::{
///     crypto::{
///         Authority, ClientCertificateExpectation, Csr, Entropy, Issuance, KeyPair, SigningKey,
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
/// let csr = Csr::make(&subject, &key)?;
/// let chain = authority.issue(&csr, &subject, key.public_key(), now, day, &entropy(3))?;
///
/// let expectation = ClientCertificateExpectation { subject: &subject, key: key.public_key(), now };
/// chain.check_client(&expectation, &Policy::strict())?;
/// assert_eq!(chain.issued_by(authority.ca_bundle()), Issuance::Verified);
/// # fn entropy(n: u8) -> Entropy { Entropy::from_bytes([n; 32]) }
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[derive(Clone)]
pub struct Authority {
    key: Arc<dyn SigningKey>,
    bundle: CaBundle,
    pem: String,
}

/// Why an [`Authority`] could not be made, or did not issue.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AuthorityError {
    /// The authority's certificate cannot be read, or is none of an authority.
    #[error("the authority's certificate is refused: {0}")]
    Certificate(CaBundleError),
    /// There is more than one certificate where the authority's own belongs.
    #[error("there are {found} certificates where the authority's own belongs")]
    NotOneCertificate {
        /// How many there are.
        found: usize,
    },
    /// The authority's certificate is for another key.
    #[error("the authority's certificate is for another key")]
    Key,
    /// The authority's own certificate does not hold at this time.
    #[error("the authority's certificate holds from {not_before} to {not_after}; it is {now}")]
    NotValid {
        /// When it begins to hold.
        not_before: Timestamp,
        /// The last second in which it holds.
        not_after: Timestamp,
        /// The time given.
        now: Timestamp,
    },
    /// The request is for another subject or key than the certificate.
    #[error("the request is for another subject or key")]
    Request,
    /// The key did not sign.
    #[error("the authority's key did not sign: {reason}")]
    Signing {
        /// What the key reported.
        reason: String,
    },
}

impl Authority {
    /// A new authority with an Ed25519 key out of the entropy, whose
    /// self-signed certificate holds from `now` on for `lifetime`.
    ///
    /// # Errors
    /// [`AuthorityError::Signing`].
    pub fn new(
        common_name: &str,
        now: Timestamp,
        lifetime: Duration,
        entropy: &Entropy,
    ) -> Result<Self, AuthorityError> {
        let key = Arc::new(KeyPair::from_entropy(entropy));
        Self::with_key(common_name, key, now, lifetime, entropy)
    }

    /// A new authority with a key that there is already.
    ///
    /// # Errors
    /// [`AuthorityError::Signing`].
    pub fn with_key(
        common_name: &str,
        key: Arc<dyn SigningKey>,
        now: Timestamp,
        lifetime: Duration,
        entropy: &Entropy,
    ) -> Result<Self, AuthorityError> {
        let kind = element(OBJECT_IDENTIFIER, &[COMMON_NAME]);
        let value = element(UTF8_STRING, &[common_name.as_bytes()]);
        let attribute = element(SEQUENCE, &[&kind, &value]);
        let name = element(SEQUENCE, &[&element(super::der::SET, &[&attribute])]);
        let public_key = key.public_key().clone();
        let identifier = key_identifier(&public_key);
        let der = Template {
            serial: entropy.derive("authority serial", &[common_name.as_bytes()]),
            issuer: &name,
            subject: &name,
            not_before: now - BACKDATE,
            not_after: now + lifetime,
            public_key: &public_key,
            extensions: &[
                extension(BASIC_CONSTRAINTS, CRITICAL, &[0x30, 3, 1, 1, 0xff]),
                // digitalSignature, keyCertSign, cRLSign.
                extension(KEY_USAGE, CRITICAL, &[3, 2, 1, 0x86]),
                extension(SUBJECT_KEY, &[], &element(OCTET_STRING, &[&identifier])),
            ],
        }
        .sign(&*key)
        .map_err(signing)?;
        Self::from_pem(
            pem_block::write(LABEL, &der).as_bytes(),
            key,
            &Policy::strict(),
        )
    }

    /// An authority whose certificate and key there are already.
    ///
    /// # Errors
    /// [`AuthorityError::Certificate`], [`AuthorityError::NotOneCertificate`]
    /// or [`AuthorityError::Key`].
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
        if certificate.spki_der() != key.public_key().spki_der() {
            return Err(AuthorityError::Key);
        }
        let pem = pem_block::write(LABEL, certificate.der());
        Ok(Self { key, bundle, pem })
    }

    /// The authority's certificate, as the CA of what it issues.
    pub const fn ca_bundle(&self) -> &CaBundle {
        &self.bundle
    }

    /// The authority's certificate in canonical PEM.
    pub fn certificate_pem(&self) -> &str {
        &self.pem
    }

    /// Issues a client certificate for a request.
    ///
    /// The subject is copied from the request as it is encoded there. The
    /// certificate holds from five minutes before `now` on, until `lifetime`
    /// after it or until the authority's own certificate ends.
    ///
    /// # Errors
    /// [`AuthorityError::Request`], [`AuthorityError::NotValid`] or
    /// [`AuthorityError::Signing`].
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
        let certificate = self.certificate()?;
        let (not_before, not_after) = (certificate.not_before(), certificate.not_after());
        if now < not_before || now > not_after {
            return Err(AuthorityError::NotValid {
                not_before,
                not_after,
                now,
            });
        }
        let mut extensions = vec![
            // digitalSignature, keyEncipherment.
            extension(KEY_USAGE, CRITICAL, &[3, 2, 5, 0xa0]),
            extension(EXTENDED_KEY_USAGE, &[], CLIENT_AUTHENTICATION),
            extension(BASIC_CONSTRAINTS, CRITICAL, &[0x30, 0]),
        ];
        if let (Some(identifier), _) = certificate.key_identifiers() {
            let identifier = element(SEQUENCE, &[&element(0x80, &[identifier])]);
            extensions.push(extension(AUTHORITY_KEY, &[], &identifier));
        }
        let der = Template {
            serial: entropy.derive("certificate serial", &[&csr.digest()]),
            issuer: certificate.names().0,
            subject: &name,
            not_before: now - BACKDATE,
            not_after: not_after.min(now + lifetime),
            public_key,
            extensions: &extensions,
        }
        .sign(&*self.key)
        .map_err(signing)?;
        let pem = pem_block::write(LABEL, &der);
        CertificateChain::from_pem(pem.as_bytes(), &Policy::compatible())
            .map_err(|error| signing(error.into()))
    }

    fn certificate(&self) -> Result<&Certificate, AuthorityError> {
        self.bundle
            .certificates()
            .first()
            .ok_or(AuthorityError::NotOneCertificate { found: 0 })
    }
}

impl fmt::Debug for Authority {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("Authority")
            .field(&self.bundle)
            .finish()
    }
}

/// What a certificate says.
struct Template<'a> {
    serial: [u8; 16],
    issuer: &'a [u8],
    subject: &'a [u8],
    not_before: Timestamp,
    not_after: Timestamp,
    public_key: &'a PublicKey,
    extensions: &'a [Vec<u8>],
}

impl Template<'_> {
    /// The certificate (RFC 5280 section 4.1) in DER.
    fn sign(&self, key: &dyn SigningKey) -> Result<Vec<u8>, BoxError> {
        let scheme = key.public_key().csr_scheme();
        let mut serial = self.serial;
        // Positive, and of 16 bytes whatever was drawn.
        serial[0] = (serial[0] & 0x7f) | 0x40;
        let validity = element(SEQUENCE, &[&time(self.not_before), &time(self.not_after)]);
        let extensions = element(SEQUENCE, &[&self.extensions.concat()]);
        let signed = element(
            SEQUENCE,
            &[
                // Version 3.
                &[CONTEXT_0, 3, INTEGER, 1, 2],
                &element(INTEGER, &[&serial]),
                scheme.identifier(),
                self.issuer,
                &validity,
                self.subject,
                self.public_key.spki_der(),
                &element(CONTEXT_3, &[&extensions]),
            ],
        );
        let signature = sign_verified(key, &Payload::certificate(&signed, key.public_key()))?;
        let signature = bit_string(signature.as_bytes());
        Ok(element(
            SEQUENCE,
            &[&signed, scheme.identifier(), &signature],
        ))
    }
}

/// How far clocks may differ: the Kubernetes signer's number.
const BACKDATE: Duration = Duration::from_secs(5 * 60);

/// The DER of `TRUE`.
const CRITICAL: &[u8] = &[1, 1, 0xff];
const SUBJECT_KEY: &[u8] = &[0x55, 0x1d, 14];
const KEY_USAGE: &[u8] = &[0x55, 0x1d, 15];
const BASIC_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 19];
const AUTHORITY_KEY: &[u8] = &[0x55, 0x1d, 35];
const EXTENDED_KEY_USAGE: &[u8] = &[0x55, 0x1d, 37];
/// A sequence of id-kp-clientAuth, 1.3.6.1.5.5.7.3.2.
const CLIENT_AUTHENTICATION: &[u8] = &[0x30, 10, 6, 8, 0x2b, 6, 1, 5, 5, 7, 3, 2];

fn extension(kind: &[u8], critical: &[u8], value: &[u8]) -> Vec<u8> {
    let kind = element(OBJECT_IDENTIFIER, &[kind]);
    element(
        SEQUENCE,
        &[&kind, critical, &element(OCTET_STRING, &[value])],
    )
}

/// RFC 7093 section 2, method 1: the first 20 bytes of the SHA-256 of the key.
fn key_identifier(key: &PublicKey) -> Vec<u8> {
    let bits = single(key.spki_der(), SEQUENCE)
        .and_then(|content| {
            let mut information = Reader::new(content);
            information.expect(SEQUENCE)?;
            information.bit_string()
        })
        .unwrap_or_default();
    Sha256::digest(bits).iter().take(20).copied().collect()
}

/// RFC 5280 section 4.1.2.5: UTCTime from 1950 to 2049, else GeneralizedTime.
fn time(time: Timestamp) -> Vec<u8> {
    let digits: Vec<u8> = time
        .to_string()
        .bytes()
        .filter(u8::is_ascii_digit)
        .collect();
    let utc = "1950-01-01T00:00:00Z"
        .parse()
        .is_ok_and(|from: Timestamp| time >= from)
        && "2050-01-01T00:00:00Z"
            .parse()
            .is_ok_and(|to: Timestamp| time < to);
    match digits.get(2..) {
        Some(short) if utc => element(UTC_TIME, &[short, b"Z"]),
        _ => element(GENERALIZED_TIME, &[&digits, b"Z"]),
    }
}

fn signing(error: BoxError) -> AuthorityError {
    AuthorityError::Signing {
        reason: error.to_string(),
    }
}

#[cfg(test)]
mod tests;
