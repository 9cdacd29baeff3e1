//! The CAs that a consumer trusts for one API server.

use std::sync::Arc;

use super::{Certificate, CertificateError};
use crate::policy::{Forms, Policy};

/// A bundle of CA certificates.
///
/// Under every policy, the forms of PEM that the compatible policy allows are
/// accepted. Administrators write bundles by hand or copy them from files with
/// comments, and no right depends on the form. NUL bytes at the end are dropped:
/// Liqo pads a CA that it copies from an option. A bundle is cheap to clone.
#[derive(Clone, PartialEq, Eq, derive_more::Debug)]
#[debug("CaBundle({certificates:?})")]
pub struct CaBundle {
    pem: Arc<[u8]>,
    certificates: Arc<[Certificate]>,
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
                pem: pem.into(),
                certificates: certificates.into(),
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
    let is_content = |byte: &u8| *byte != 0 && !byte.is_ascii_whitespace();
    let last = bytes.iter().rposition(is_content).unwrap_or(0);
    let nul = bytes.iter().skip(last).position(|byte| *byte == 0);
    nul.and_then(|at| bytes.get(..last + at)).unwrap_or(bytes)
}

#[cfg(test)]
mod tests;
