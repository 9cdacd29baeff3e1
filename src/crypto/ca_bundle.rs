//! The CAs that a consumer trusts for one API server.

use super::{Certificate, CertificateError};
use crate::policy::{Forms, Policy};

/// A bundle of CA certificates.
///
/// Every policy reads the framing leniently. Administrators write bundles by hand
/// or copy them from files with comments, and no right depends on the form. NUL
/// bytes at the end are dropped: Liqo writes some when it copies a CA from an
/// option, because it decodes base64 into a buffer of the greatest possible length.
#[derive(Clone, PartialEq, Eq, derive_more::Debug)]
#[debug("CaBundle({certificates:?})")]
pub struct CaBundle {
    pem: Vec<u8>,
    certificates: Vec<Certificate>,
}

impl CaBundle {
    /// Reads a bundle.
    ///
    /// # Errors
    /// [`CertificateError`].
    pub fn from_pem(bytes: &[u8], policy: &Policy) -> Result<Self, CertificateError> {
        let limits = &policy.limits;
        if bytes.len() > limits.certificates {
            let (found, limit) = (bytes.len(), limits.certificates);
            return Err(CertificateError::TooLong { found, limit });
        }
        let pem = without_padding(bytes);
        if pem.iter().all(u8::is_ascii_whitespace) {
            return Err(CertificateError::Empty);
        }
        let certificates = Certificate::read_many(pem, Forms::Compatible, limits.ca_bundle)?;
        match certificates.iter().position(|one| !one.is_authority) {
            Some(index) => Err(CertificateError::NotAnAuthority { index }),
            None => Ok(Self {
                pem: pem.to_vec(),
                certificates,
            }),
        }
    }

    /// The text as it was given, without the NUL bytes at its end.
    pub fn pem(&self) -> &[u8] {
        &self.pem
    }

    /// The certificates in their order.
    pub fn certificates(&self) -> &[Certificate] {
        &self.certificates
    }
}

/// The bundle without the padding of Liqo: if NUL bytes and white space follow the
/// content, the bundle ends before the first such NUL.
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
    use crate::crypto::{Authority, Entropy, PemError, certificate::LABEL, pem_block};

    fn authority(name: &str) -> Vec<u8> {
        let entropy = Entropy::from_bytes([5; 32]);
        let now = "2026-11-20T13:00:00Z".parse().unwrap();
        let life = core::time::Duration::from_secs(3600);
        Authority::new(name, now, life, &entropy)
            .unwrap()
            .ca_bundle()
            .pem()
            .to_vec()
    }

    #[test]
    fn padding_and_comments_are_taken_in_every_policy() {
        let (one, two) = (authority("one"), authority("two"));
        let bundle = [&b"# one\n"[..], &one, b"\n# two\n", &two, b"\n"].concat();
        for policy in [Policy::strict(), Policy::compatible()] {
            let read = CaBundle::from_pem(&bundle, &policy).unwrap();
            assert_eq!(read.pem(), bundle);
            assert_eq!(read.certificates().len(), 2);
            let padded = CaBundle::from_pem(&[&bundle[..], b"\0\0\n\0"].concat(), &policy);
            assert_eq!(padded.unwrap(), read);
        }
    }

    #[test]
    fn what_is_no_bundle_is_refused() {
        use CertificateError::*;
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

    #[test]
    fn a_bundle_of_65_536_bytes_is_read() {
        let mut bytes = authority("one");
        bytes.resize(65_536, 0);
        assert!(CaBundle::from_pem(&bytes, &Policy::strict()).is_ok());
        bytes.push(0);
        let error = CertificateError::TooLong {
            found: 65_537,
            limit: 65_536,
        };
        assert_eq!(CaBundle::from_pem(&bytes, &Policy::strict()), Err(error));
    }
}
