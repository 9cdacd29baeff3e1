//! A client certificate and the certificates between it and its authority.

use core::{fmt, time::Duration};

use super::{
    CaBundle, Certificate, Fingerprint, Issuance, PemError, PublicKey, Subject, certificate::LABEL,
    issuance::Attempts, pem_block,
};
use crate::{model::Timestamp, policy::Policy};

/// A client certificate, followed by intermediate certificates, as a provider gave
/// them: blocks `CERTIFICATE` and nothing else. The bytes are kept as they are.
///
/// Reading a chain verifies nothing. [`check_client`](Self::check_client) verifies
/// the client's certificate.
#[derive(Clone, PartialEq, Eq)]
pub struct CertificateChain {
    pem: Vec<u8>,
    // Boxed, since a chain is often one variant of an enum.
    leaf: Box<Certificate>,
    intermediates: Vec<Certificate>,
}

/// The expected content of a client certificate.
#[derive(Debug, Clone, Copy)]
pub struct ClientCertificateExpectation<'a> {
    /// The subject.
    pub subject: &'a Subject,
    /// The key.
    pub key: &'a PublicKey,
    /// The present time. The certificate has to be valid then.
    pub now: Timestamp,
}

/// Why certificates are refused: a client chain or a CA bundle.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// There are no bytes.
    #[error("there is no certificate")]
    Empty,
    /// There are more bytes than the policy reads.
    #[error("the certificates have {found} bytes; at most {limit} are read")]
    TooLong {
        /// The length found, in bytes.
        found: usize,
        /// The longest length read.
        limit: usize,
    },
    /// The PEM is not blocks `CERTIFICATE` in a form that the policy takes.
    #[error("the certificate cannot be read: {0}")]
    Pem(PemError),
    /// There are more certificates than the policy reads.
    #[error("there are more than {limit} certificates")]
    TooMany {
        /// The most that are read.
        limit: usize,
    },
    /// A block is no X.509 certificate.
    #[error("block {index} is no X.509 certificate")]
    Unreadable {
        /// Which block, counted from 0.
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
        /// The subject that it must have.
        expected: String,
        /// The subject found, escaped and cut to a readable length.
        found: String,
    },
    /// The certificate does not hold yet.
    #[error("the certificate holds from {not_before} on; it is {now}")]
    NotYetValid {
        /// When it begins to hold.
        not_before: Timestamp,
        /// The time given.
        now: Timestamp,
    },
    /// The certificate holds no longer.
    #[error("the certificate held until {not_after}; it is {now}")]
    Expired {
        /// The last second in which it held.
        not_after: Timestamp,
        /// The time given.
        now: Timestamp,
    },
    /// The certificate lives longer than the policy takes.
    #[error(
        "the certificate lives for {} days; at most {} are taken",
        days(found),
        days(limit)
    )]
    Lifetime {
        /// How long it lives.
        found: Duration,
        /// The longest life taken.
        limit: Duration,
    },
    /// The certificate is not for client authentication.
    #[error("the certificate is not for client authentication (ExtendedKeyUsage)")]
    NotForClientAuthentication,
    /// The certificate's key may not sign.
    #[error("the certificate's key is not for digital signatures (KeyUsage)")]
    NotForSignatures,
    /// The certificate is one of an authority.
    #[error("the certificate is one of an authority, not of a client")]
    Authority,
    /// A certificate of a CA bundle is not one of an authority.
    #[error("certificate {index} of the CA bundle is not one of an authority")]
    NotAnAuthority {
        /// The position of the certificate, counted from 0.
        index: usize,
    },
}

impl CertificateChain {
    /// Reads a chain. The client's certificate comes first.
    ///
    /// # Errors
    /// [`CertificateError`], up to [`CertificateError::Unreadable`].
    pub fn from_pem(pem: &[u8], policy: &Policy) -> Result<Self, CertificateError> {
        let limits = policy.limits();
        match pem.len() {
            0 => return Err(CertificateError::Empty),
            found if found > limits.certificates => {
                return Err(CertificateError::TooLong {
                    found,
                    limit: limits.certificates,
                });
            }
            _ => {}
        }
        let limit = limits.client_chain;
        let mut certificates = Certificate::read_many(pem, policy.forms(), limit)?.into_iter();
        let leaf = certificates.next().ok_or(CertificateError::Empty)?;
        Ok(Self {
            pem: pem.to_vec(),
            leaf: Box::new(leaf),
            intermediates: certificates.collect(),
        })
    }

    /// The chain of one certificate that this library made. `None` if the
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

    /// Checks the client's certificate: its subject and key, that it is valid now,
    /// lives no longer than the policy accepts, is for client authentication, and
    /// is not one of an authority.
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
        let limit = policy.limits().certificate_lifetime;
        let found = not_after.since(not_before);
        if found > limit {
            return Err(CertificateError::Lifetime { found, limit });
        }
        if leaf.is_authority() {
            return Err(CertificateError::Authority);
        }
        if !leaf.is_for_client_authentication() {
            return Err(CertificateError::NotForClientAuthentication);
        }
        if !leaf.is_for_digital_signature() {
            return Err(CertificateError::NotForSignatures);
        }
        Ok(())
    }

    /// Whether an authority of the bundle issued the client's certificate, directly
    /// or by the intermediates of the chain.
    ///
    /// This is a question and no check: serving certificates and client certificates
    /// of a provider may have different authorities.
    pub fn issued_by(&self, bundle: &CaBundle) -> Issuance {
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
            if !next.is_authority() {
                return best;
            }
            so_far = so_far.min(Issuance::of(current, next, &mut attempts));
            current = next;
        }
    }
}

impl fmt::Debug for CertificateChain {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("CertificateChain")
            .field("leaf", &self.leaf)
            .field("intermediates", &self.intermediates.len())
            .finish()
    }
}

const fn days(duration: &Duration) -> u64 {
    duration.as_secs() / (24 * 60 * 60)
}

#[cfg(test)]
mod tests;
