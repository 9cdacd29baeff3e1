//! A client certificate and the intermediate certificates up to its CA.

use core::time::Duration;

use super::{
    CaBundle, Certificate, Fingerprint, Issuance, PemError, PublicKey, Subject, certificate::LABEL,
    issuance::Attempts, pem_block,
};
use crate::{model::Timestamp, policy::Policy};

/// A client certificate, followed by intermediate certificates, as a provider
/// issued them: PEM blocks `CERTIFICATE` and nothing else. The bytes are kept
/// unchanged.
///
/// Reading a chain verifies nothing. [`check_client`](Self::check_client) verifies
/// the client's certificate.
#[derive(Clone, PartialEq, Eq, derive_more::Debug)]
pub struct CertificateChain {
    #[debug(skip)]
    pem: Vec<u8>,
    // Boxed to keep the type small, since a chain is often in a variant of an enum.
    leaf: Box<Certificate>,
    #[debug("{}", intermediates.len())]
    intermediates: Vec<Certificate>,
}

/// The expected content of a client certificate.
#[derive(Debug, Clone, Copy)]
pub struct ClientCertificateExpectation<'a> {
    /// The subject.
    pub subject: &'a Subject,
    /// The key.
    pub key: &'a PublicKey,
    /// The present time, at which the certificate has to be valid.
    pub now: Timestamp,
}

/// Why certificates are refused: a client chain or a CA bundle.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// The text is empty.
    #[error("there is no certificate")]
    Empty,
    /// The text is longer than the policy allows.
    #[error("the certificates have {found} bytes, expected at most {limit}")]
    TooLong {
        /// The length found, in bytes.
        found: usize,
        /// The longest length allowed.
        limit: usize,
    },
    /// The text does not consist of PEM blocks `CERTIFICATE` in a form that the
    /// policy accepts.
    #[error("the certificate cannot be read: {0}")]
    Pem(PemError),
    /// The text has more certificates than the policy allows.
    #[error("there are more than {limit} certificates")]
    TooMany {
        /// The most certificates allowed.
        limit: usize,
    },
    /// A block is not an X.509 certificate.
    #[error("block {index} is not an X.509 certificate")]
    Unreadable {
        /// The position of the block, counted from 0.
        index: usize,
    },
    /// The certificate is for another key.
    #[error("the certificate is for the key {found}, not for {expected}")]
    Key {
        /// The fingerprint of the key that it must be for.
        expected: Fingerprint,
        /// The fingerprint of the key found.
        found: Fingerprint,
    },
    /// The certificate is for another subject.
    #[error("the certificate's subject is \"{found}\", not \"{expected}\"")]
    Subject {
        /// The expected subject.
        expected: String,
        /// The subject found, escaped and shortened.
        found: String,
    },
    /// The certificate is not valid yet.
    #[error("the certificate is valid from {not_before} on; the present time is {now}")]
    NotYetValid {
        /// The first second in which the certificate is valid.
        not_before: Timestamp,
        /// The time given.
        now: Timestamp,
    },
    /// The certificate has expired.
    #[error("the certificate was valid until {not_after}; the present time is {now}")]
    Expired {
        /// The last second in which the certificate was valid.
        not_after: Timestamp,
        /// The time given.
        now: Timestamp,
    },
    /// The certificate's lifetime is longer than the policy allows.
    #[error(
        "the certificate is valid for {} days; at most {} are allowed",
        days(found),
        days(limit)
    )]
    Lifetime {
        /// The certificate's lifetime.
        found: Duration,
        /// The longest lifetime allowed.
        limit: Duration,
    },
    /// The certificate is not for client authentication.
    #[error("the certificate is not for client authentication (ExtendedKeyUsage)")]
    NotForClientAuthentication,
    /// The certificate's KeyUsage does not allow digital signatures.
    #[error("the certificate's key is not for digital signatures (KeyUsage)")]
    NotForSignatures,
    /// The certificate is a CA certificate.
    #[error("the certificate is a CA certificate, not a client certificate")]
    Authority,
    /// A certificate of a CA bundle is not a CA certificate.
    #[error("certificate {index} of the CA bundle is not a CA certificate")]
    NotAnAuthority {
        /// The position of the certificate, counted from 0.
        index: usize,
    },
}

impl CertificateChain {
    /// Reads a chain. The client's certificate comes first.
    ///
    /// # Errors
    /// The variants of [`CertificateError`] from [`Empty`](CertificateError::Empty)
    /// to [`Unreadable`](CertificateError::Unreadable).
    pub fn from_pem(pem: &[u8], policy: &Policy) -> Result<Self, CertificateError> {
        let (found, limit) = (pem.len(), policy.limits.certificates);
        if pem.is_empty() {
            return Err(CertificateError::Empty);
        }
        if found > limit {
            return Err(CertificateError::TooLong { found, limit });
        }
        let limit = policy.limits.client_chain;
        let mut certificates = Certificate::read_many(pem, policy.forms, limit)?.into_iter();
        let leaf = certificates.next().ok_or(CertificateError::Empty)?;
        Ok(Self {
            pem: pem.to_vec(),
            leaf: Box::new(leaf),
            intermediates: certificates.collect(),
        })
    }

    /// The chain with one certificate that this library made. `None` if the
    /// certificate cannot be read.
    pub(super) fn of_leaf(der: Vec<u8>) -> Option<Self> {
        Some(Self {
            pem: pem_block::write(LABEL, &der).into_bytes(),
            leaf: Box::new(Certificate::read(der)?),
            intermediates: Vec::new(),
        })
    }

    /// The text as it was given.
    pub fn pem(&self) -> &[u8] {
        &self.pem
    }

    /// The client's certificate.
    pub fn leaf(&self) -> &Certificate {
        &self.leaf
    }

    /// The certificates after the client's.
    pub(super) fn intermediates(&self) -> &[Certificate] {
        &self.intermediates
    }

    /// Checks the client's certificate: its subject and key, that it is valid now,
    /// that its lifetime is allowed, that it is for client authentication and
    /// digital signatures, and that it is not a CA certificate.
    ///
    /// # Errors
    /// [`CertificateError`] names the difference.
    pub fn check_client(
        &self,
        expectation: &ClientCertificateExpectation<'_>,
        policy: &Policy,
    ) -> Result<(), CertificateError> {
        let ClientCertificateExpectation { subject, key, now } = *expectation;
        let leaf = &self.leaf;
        if leaf.spki_der != key.spki_der() {
            return Err(CertificateError::Key {
                expected: key.fingerprint(),
                found: Fingerprint::of(&leaf.spki_der),
            });
        }
        if !leaf.subject_is(subject) {
            return Err(CertificateError::Subject {
                expected: subject.to_string(),
                found: leaf.subject(),
            });
        }
        let (not_before, not_after) = (leaf.not_before, leaf.not_after);
        if now < not_before {
            return Err(CertificateError::NotYetValid { not_before, now });
        }
        if now > not_after {
            return Err(CertificateError::Expired { not_after, now });
        }
        let limit = policy.limits.certificate_lifetime;
        let found = not_after.since(not_before);
        if found > limit {
            return Err(CertificateError::Lifetime { found, limit });
        }
        if leaf.is_authority {
            return Err(CertificateError::Authority);
        }
        if !leaf.client_authentication {
            return Err(CertificateError::NotForClientAuthentication);
        }
        if !leaf.digital_signature {
            return Err(CertificateError::NotForSignatures);
        }
        Ok(())
    }

    /// Whether a CA of the bundle issued the client's certificate, directly or through
    /// the intermediates of the chain.
    ///
    /// The result is information, not a check: the serving CA and the client CA of a
    /// provider may differ.
    pub(crate) fn issued_by(&self, bundle: &CaBundle) -> Issuance {
        let mut attempts = Attempts::default();
        let mut best = Issuance::No;
        let mut so_far = Issuance::Verified;
        let mut current = &*self.leaf;
        let mut rest = self.intermediates.iter();
        loop {
            for authority in bundle.certificates() {
                best = best.max(so_far.min(Issuance::of(current, authority, &mut attempts)));
                if best == Issuance::Verified {
                    return best;
                }
            }
            let Some(next) = rest.next() else { return best };
            if !next.is_authority {
                return best;
            }
            so_far = so_far.min(Issuance::of(current, next, &mut attempts));
            current = next;
        }
    }
}

const fn days(duration: &Duration) -> u64 {
    duration.as_secs() / (24 * 60 * 60)
}

#[cfg(test)]
mod tests;
