//! The IDs of requests to backends.

use core::{str::FromStr, time::Duration};

use sha2::{Digest, Sha256};

use super::{Csr, Fingerprint, Nonce, Payload};
#[cfg(feature = "legacy")]
use crate::model::Metadata;
use crate::model::{Hex, ValueError, as_text, read_hex};

/// The ID of a request to a backend. All calls that request the same credential or
/// signature use the same ID.
///
/// - A credential: SHA-256 over the certificate request, and over the values that
///   distinguish two requests for the same subject and key, such as the nonce, the
///   UID of the Tenant, the lifetime and the certificate to replace.
/// - A signature: SHA-256 over its purpose, the scheme, the key and the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, derive_more::Display)]
#[display("{}", Hex(_0))]
pub struct RequestId([u8; 32]);

impl RequestId {
    pub(crate) fn new(
        csr: &Csr,
        nonce: &Nonce,
        tenant_uid: &str,
        lifetime: Duration,
        replaced: Option<Fingerprint>,
    ) -> Self {
        let (nonce, uid) = (nonce.digest(), digest(tenant_uid));
        let domain = b"liqo-auth signing request v1";
        Self::of_certificate(domain, csr, [nonce, uid], lifetime, replaced)
    }

    /// The ID of a resource slice's request. The ID depends on the UID of the Tenant
    /// whose proof covers the slice.
    pub(crate) fn of_slice(
        csr: &Csr,
        tenant_uid: &str,
        slice_uid: &str,
        lifetime: Duration,
        replaced: Option<Fingerprint>,
    ) -> Self {
        let uids = [tenant_uid, slice_uid].map(digest);
        let domain = b"liqo-auth slice signing request v1";
        Self::of_certificate(domain, csr, uids, lifetime, replaced)
    }

    fn of_certificate(
        domain: &[u8],
        csr: &Csr,
        [first, second]: [[u8; 32]; 2],
        lifetime: Duration,
        replaced: Option<Fingerprint>,
    ) -> Self {
        let replaced = replaced.as_ref().map_or(&[0; 32], Fingerprint::as_bytes);
        Self::of(
            domain,
            csr,
            &[&first, &second, &seconds(lifetime), replaced],
        )
    }

    /// The ID of a request for a credential other than a certificate, for the object
    /// with this UID. `domain` names the kind of credential; `earlier` is the number
    /// of credentials that the holder had before.
    pub(crate) fn of_credential(domain: &str, csr: &Csr, uid: &str, earlier: u64) -> Self {
        let parts = [&digest(uid)[..], &earlier.to_be_bytes()];
        Self::of(domain.as_bytes(), csr, &parts)
    }

    /// The ID of a peering user's request. The CSR's subject and key are unique to
    /// the peering user.
    pub(crate) fn of_peering_user(csr: &Csr, lifetime: Duration) -> Self {
        let domain = b"liqo-auth peering user request v1";
        Self::of(domain, csr, &[&seconds(lifetime)])
    }

    /// The ID of a home cluster's request. It depends on this version of the object
    /// that records the home cluster's claim.
    #[cfg(feature = "legacy")]
    pub(crate) fn of_claim(csr: &Csr, claim: &Metadata, lifetime: Duration) -> Self {
        let (uid, version) = (digest(&claim.uid), digest(&claim.resource_version));
        let parts = [&uid[..], &version, &seconds(lifetime)];
        Self::of(b"liqo-auth legacy signing request v1", csr, &parts)
    }

    /// The ID of a signature. Each hashed part has a fixed length.
    pub(super) fn of_signature(payload: &Payload<'_>) -> Self {
        let mut hash = Sha256::new_with_prefix(b"liqo-auth signature v1\0");
        hash.update([payload.purpose().tag()]);
        hash.update(Sha256::digest(payload.scheme().identifier()));
        hash.update(Sha256::digest(payload.key().spki_der()));
        hash.update(Sha256::digest(payload.bytes()));
        Self(hash.finalize().into())
    }

    /// The ID of a request with these parts. Each part must have a fixed length.
    fn of(domain: &[u8], csr: &Csr, parts: &[&[u8]]) -> Self {
        let mut hash = Sha256::new_with_prefix(domain);
        hash.update([0]);
        hash.update(csr.digest());
        parts.iter().for_each(|part| hash.update(part));
        Self(hash.finalize().into())
    }

    /// The 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text).into()
}

fn seconds(lifetime: Duration) -> [u8; 8] {
    lifetime.as_secs().to_be_bytes()
}

impl FromStr for RequestId {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        read_hex(text)
            .map(Self)
            .ok_or(ValueError("the ID does not have 64 hexadecimal digits"))
    }
}

as_text!(RequestId);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::{Entropy, KeyPair, Purpose, SigningKey, Subject};

    #[test]
    fn a_request_for_another_lifetime_has_another_id() {
        let key = KeyPair::from_entropy(&Entropy::from_bytes([1; 32]));
        let subject = Subject::control_plane(&"cl-consumer".parse().unwrap());
        let csr = Csr::make(&subject, &key).unwrap().at_once().unwrap();
        let nonce = Nonce::random(&Entropy::from_bytes([2; 32]));
        let ids = |seconds| {
            let lifetime = Duration::from_secs(seconds);
            [
                RequestId::new(&csr, &nonce, "tenant", lifetime, None),
                RequestId::of_slice(&csr, "tenant", "slice", lifetime, None),
                RequestId::of_peering_user(&csr, lifetime),
                #[cfg(feature = "legacy")]
                RequestId::of_claim(&csr, &Metadata::default(), lifetime),
            ]
        };
        assert_eq!(ids(3600), ids(3600));
        for (one, other) in ids(3600).into_iter().zip(ids(3601)) {
            assert_ne!(one, other);
        }
    }

    #[test]
    fn the_name_is_the_same_at_each_look_and_another_for_each_payload() {
        let [one, other] =
            [1, 2].map(|byte| KeyPair::from_entropy(&Entropy::from_bytes([byte; 32])));
        let (one, other) = (one.public_key(), other.public_key());
        let payloads = [
            Payload::of(Purpose::Certificate, b"message", one),
            Payload::of(Purpose::Certificate, b"message", other),
            Payload::of(Purpose::Certificate, b"another", one),
            Payload::of(Purpose::Commitment, b"message", one),
            Payload::of(Purpose::KeySuccession, b"message", one),
            Payload::of(Purpose::CertificationRequest, b"message", one),
        ];
        let names: Vec<_> = payloads.iter().map(Payload::id).collect();
        for (at, name) in names.iter().enumerate() {
            assert_eq!(payloads[at].id(), *name);
            assert!(!names[..at].contains(name));
            assert_eq!(name.to_string().len(), 64);
        }
    }
}
