//! The name of a request to sign.

use core::{fmt, str::FromStr, time::Duration};

use sha2::{Digest, Sha256};

use super::{Csr, Fingerprint, Nonce};
#[cfg(feature = "legacy")]
use crate::model::Metadata;
use crate::model::{ValueError, read_hex, write_hex};

/// The name of a request: SHA-256 over the request, the proof that it rests
/// on, the lifetime and the certificate that it replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId([u8; 32]);

impl RequestId {
    pub(crate) fn new(
        csr: &Csr,
        nonce: &Nonce,
        tenant_uid: &str,
        lifetime: Duration,
        replaced: Option<Fingerprint>,
    ) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"liqo-auth signing request v1\0");
        hash.update(csr.digest());
        hash.update(nonce.digest());
        hash.update(Sha256::digest(tenant_uid.as_bytes()));
        hash.update(lifetime.as_secs().to_be_bytes());
        hash.update(replaced.as_ref().map_or(&[0; 32], Fingerprint::as_bytes));
        Self(hash.finalize().into())
    }

    /// A resource slice's request, which rests on the proof of its Tenant.
    pub(crate) fn of_slice(
        csr: &Csr,
        tenant_uid: &str,
        slice_uid: &str,
        lifetime: Duration,
        replaced: Option<Fingerprint>,
    ) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"liqo-auth slice signing request v1\0");
        hash.update(csr.digest());
        hash.update(Sha256::digest(tenant_uid.as_bytes()));
        hash.update(Sha256::digest(slice_uid.as_bytes()));
        hash.update(lifetime.as_secs().to_be_bytes());
        hash.update(replaced.as_ref().map_or(&[0; 32], Fingerprint::as_bytes));
        Self(hash.finalize().into())
    }

    /// The request for a credential of another kind than a certificate, for the
    /// object of this UID. `domain` names the kind; `earlier` is the number of
    /// credentials that the holder had before.
    pub(crate) fn of_credential(domain: &str, csr: &Csr, uid: &str, earlier: u64) -> Self {
        let mut hash = Sha256::new();
        hash.update(domain);
        hash.update([0]);
        hash.update(csr.digest());
        hash.update(Sha256::digest(uid.as_bytes()));
        hash.update(earlier.to_be_bytes());
        Self(hash.finalize().into())
    }

    /// The request of a peering user: its name and its key are its own.
    pub(crate) fn of_peering_user(csr: &Csr, lifetime: Duration) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"liqo-auth peering user request v1\0");
        hash.update(csr.digest());
        hash.update(lifetime.as_secs().to_be_bytes());
        Self(hash.finalize().into())
    }

    /// A request that rests on the claim of a home cluster: on this version of
    /// the object that records it.
    #[cfg(feature = "legacy")]
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
        write_hex(&self.0, formatter)
    }
}

impl FromStr for RequestId {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        read_hex(text)
            .map(Self)
            .ok_or(ValueError("an ID has 64 hexadecimal digits"))
    }
}
