//! The authorities that a consumer trusts for one API server.

use core::fmt;

use super::{
    Certificate, Fingerprint, PemError,
    certificate_chain::LABEL,
    pem_block::{self, ManyError},
};
use crate::policy::{Forms, Policy};

/// A bundle of certificates, all of them of authorities.
///
/// Its framing is read leniently in every policy: a bundle is written by an
/// administrator, by hand or out of a file with comments, and no right depends
/// on its form. NUL bytes at its end are taken and left out: Liqo writes some
/// when it copies a CA that an option gives, because it decodes base64 into a
/// buffer of the greatest length possible.
#[derive(Clone, PartialEq, Eq)]
pub struct CaBundle {
    pem: Vec<u8>,
    certificates: Vec<Certificate>,
}

/// Why a text is no [`CaBundle`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CaBundleError {
    /// There is nothing but white space.
    #[error("the CA bundle is empty")]
    Empty,
    /// There are more bytes than the policy reads.
    #[error("the CA bundle has {found} bytes; at most {limit} are read")]
    TooLong {
        /// The length found, in bytes.
        found: usize,
        /// The longest length read.
        limit: usize,
    },
    /// The PEM is not blocks `CERTIFICATE`.
    #[error("the CA bundle cannot be read: {0}")]
    Pem(PemError),
    /// There are more certificates than the policy reads.
    #[error("the CA bundle has more than {limit} certificates")]
    TooMany {
        /// The most that are read.
        limit: usize,
    },
    /// A block is no X.509 certificate.
    #[error("block {index} of the CA bundle is no X.509 certificate")]
    Unreadable {
        /// Which block, counted from 0.
        index: usize,
    },
    /// A certificate is not one of an authority.
    #[error("certificate {index} of the CA bundle is not one of an authority")]
    NotAnAuthority {
        /// Which certificate, counted from 0.
        index: usize,
    },
}

impl CaBundle {
    /// Reads a bundle.
    ///
    /// # Errors
    /// [`CaBundleError`] says what is wrong. Whether a bundle may be empty is
    /// the caller's to say.
    pub fn from_pem(bytes: &[u8], policy: &Policy) -> Result<Self, CaBundleError> {
        let limits = policy.limits();
        if bytes.len() > limits.certificates {
            let (found, limit) = (bytes.len(), limits.certificates);
            return Err(CaBundleError::TooLong { found, limit });
        }
        let pem = without_padding(bytes);
        if pem.iter().all(u8::is_ascii_whitespace) {
            return Err(CaBundleError::Empty);
        }
        let limit = limits.ca_bundle;
        let blocks = pem_block::read_many(pem, LABEL, Forms::Compatible, limit);
        let blocks = blocks.map_err(|error| match error {
            ManyError::Pem(error) => CaBundleError::Pem(error),
            ManyError::TooMany => CaBundleError::TooMany { limit },
        })?;
        let certificates = blocks
            .into_iter()
            .enumerate()
            .map(|(index, der)| {
                let certificate =
                    Certificate::read(der).ok_or(CaBundleError::Unreadable { index })?;
                if !certificate.is_authority() {
                    return Err(CaBundleError::NotAnAuthority { index });
                }
                Ok(certificate)
            })
            .collect::<Result<_, _>>()?;
        Ok(Self {
            pem: pem.to_vec(),
            certificates,
        })
    }

    /// The text as it was given, without NUL bytes at its end.
    pub fn pem(&self) -> &[u8] {
        &self.pem
    }

    /// The certificates in their order.
    pub fn certificates(&self) -> &[Certificate] {
        &self.certificates
    }

    /// The SHA-256 of each certificate, in their order.
    pub fn fingerprints(&self) -> Vec<Fingerprint> {
        self.certificates
            .iter()
            .map(Certificate::fingerprint)
            .collect()
    }
}

impl fmt::Debug for CaBundle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("CaBundle")
            .field(&self.certificates)
            .finish()
    }
}

/// A bundle without what Liqo pads one with: what stands before the first NUL of
/// the NULs and white space at its end.
pub(crate) fn without_padding(bytes: &[u8]) -> &[u8] {
    let padding = bytes
        .iter()
        .rev()
        .take_while(|byte| **byte == 0 || byte.is_ascii_whitespace())
        .count();
    let tail = bytes.len() - padding;
    let end = bytes
        .iter()
        .skip(tail)
        .position(|byte| *byte == 0)
        .map_or(bytes.len(), |at| tail + at);
    bytes.get(..end).unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::{Authority, Entropy};

    fn authority(name: &str) -> Vec<u8> {
        let entropy = Entropy::from_bytes([5; 32]);
        let now = "2026-11-20T13:00:00Z".parse().unwrap();
        let life = core::time::Duration::from_secs(3600);
        Authority::new(name, now, life, &entropy)
            .unwrap()
            .certificate_pem()
            .as_bytes()
            .to_vec()
    }

    #[test]
    fn padding_and_comments_are_taken_in_every_policy() {
        let (one, two) = (authority("one"), authority("two"));
        let bundle = [&b"# one\n"[..], &one, b"\n# two\n", &two, b"\n"].concat();
        for policy in [Policy::strict(), Policy::compatible()] {
            let read = CaBundle::from_pem(&bundle, &policy).unwrap();
            assert_eq!(read.pem(), bundle);
            assert_eq!(read.fingerprints().len(), 2);
            let padded = CaBundle::from_pem(&[&bundle[..], b"\0\0\n\0"].concat(), &policy);
            assert_eq!(padded.unwrap(), read);
        }
    }

    #[test]
    fn what_is_no_bundle_is_refused() {
        use CaBundleError::*;
        let one = authority("one");
        let key = pem_block::write("PRIVATE KEY", &[1; 40]).into_bytes();
        let label = PemError::Label {
            found: "PRIVATE KEY".to_owned(),
            expected: LABEL,
        };
        let broken = pem_block::write(LABEL, &[0x30, 0]).into_bytes();
        for (bytes, error) in [
            (vec![], Empty),
            (b"\n\0\0".to_vec(), Empty),
            (
                vec![0; 70_000],
                TooLong {
                    found: 70_000,
                    limit: 65_536,
                },
            ),
            ([&one[..], &key].concat(), Pem(label)),
            (b"garbage".to_vec(), Pem(PemError::NoBlock)),
            ([&one[..], &broken].concat(), Unreadable { index: 1 }),
            (one.repeat(65), TooMany { limit: 64 }),
        ] {
            assert_eq!(CaBundle::from_pem(&bytes, &Policy::strict()), Err(error));
        }
    }
}
