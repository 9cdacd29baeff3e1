//! Nonces with a content that their provider can authenticate.

use sha2::{Digest, Sha256};

use super::{Entropy, Nonce, PublicKey, RecordKey, entropy::update_parts, nonce::LENGTH};
use crate::model::{ClusterId, Timestamp};

/// The 64 bytes of a nonce that this library made.
///
/// For an unmodified consumer, these bytes are random. With the [`RecordKey`], the
/// provider can authenticate its own nonce, the expiry and the IDs of both clusters.
/// It does not need stored state for this.
///
/// | bytes | content |
/// |---|---|
/// | 0–3 | a fixed value; one in 2^32 random nonces begins with this value |
/// | 4–7 | expiry in seconds since the Unix epoch, big-endian, up to the year 2106 |
/// | 8–23 | random |
/// | 24–35 | SHA-256 over a domain tag and both IDs, the first 12 bytes |
/// | 36–47 | SHA-256 over a domain tag and the provider's key, the first 12 bytes |
/// | 48–63 | HMAC-SHA-256 over a domain tag, both IDs and bytes 0–47, the first 16 bytes |
///
/// # Examples
/// ```
/// use liqo_auth::crypto::{Entropy, RecordKey, StructuredNonce};
/// # let (provider, consumer) = ("cl-provider".parse()?, "cl-consumer".parse()?);
/// # let expires = "2026-11-21T00:00:00Z".parse()?;
/// # let entropy = Entropy::from_bytes([7; 32]);
/// let key = RecordKey::new([1; 32])?;
/// let nonce = StructuredNonce::issue(&provider, &consumer, None, expires, &key, &entropy);
///
/// let structured = nonce.structured().expect("this library made it");
/// assert!(structured.is_for(&provider, &consumer));
/// assert_eq!(structured.expires(), expires);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct StructuredNonce {
    expires: u32,
    names: [u8; 12],
    commitment: [u8; 12],
    sealed: [u8; SEALED],
    mac: [u8; 16],
}

impl StructuredNonce {
    /// A new nonce of this provider for this consumer.
    ///
    /// The expiry has 32 bits. A time after 2106-02-07T06:28:15Z becomes that time,
    /// and a time before 1970 becomes the epoch.
    pub fn issue(
        provider: &ClusterId,
        consumer: &ClusterId,
        provider_key: Option<&PublicKey>,
        expires: Timestamp,
        key: &RecordKey,
        entropy: &Entropy,
    ) -> Nonce {
        let expires = u32::try_from(expires.unix().max(0)).unwrap_or(u32::MAX);
        let names = names_digest(provider, consumer);
        let commitment = commitment_digest(provider_key);
        let context = [provider.as_str().as_bytes(), consumer.as_str().as_bytes()];
        Nonce::build(|counter| {
            let counter = counter.to_be_bytes();
            let random: [u8; 16] =
                entropy.derive("structured nonce", &[context[0], context[1], &counter]);
            let mut bytes = [0; LENGTH];
            let parts = [
                &MAGIC[..],
                &expires.to_be_bytes(),
                &random,
                &names,
                &commitment,
            ];
            copy(&mut bytes, parts.into_iter().flatten().copied());
            let (sealed, seal) = bytes.split_at_mut(SEALED);
            copy(seal, key.mac(MAC_DOMAIN, &[context[0], context[1], sealed]));
            bytes
        })
    }

    /// The expiry of the nonce.
    pub fn expires(&self) -> Timestamp {
        Timestamp::EPOCH + core::time::Duration::from_secs(self.expires.into())
    }

    /// Whether the nonce names these two clusters. This proves nothing, since anyone
    /// can make such a nonce. But a nonce that names other clusters is not meant for
    /// these.
    pub fn is_for(&self, provider: &ClusterId, consumer: &ClusterId) -> bool {
        self.names == names_digest(provider, consumer)
    }

    /// Whether the nonce commits its provider to a key.
    pub(crate) fn commits(&self) -> bool {
        self.commitment != commitment_digest(None)
    }

    /// Whether both nonces commit their provider to the same key. `false` if a
    /// nonce has no commitment.
    pub(super) fn commits_as(&self, other: &Self) -> bool {
        self.commits() && self.commitment == other.commitment
    }

    /// Whether the nonce commits its provider to this key.
    pub(crate) fn commits_to(&self, provider_key: &PublicKey) -> bool {
        self.commitment == commitment_digest(Some(provider_key))
    }

    /// Whether this key, or a predecessor of it, made the nonce for these two
    /// clusters. The caller has to check [`expires`](Self::expires).
    pub(crate) fn authenticate(
        &self,
        key: &RecordKey,
        provider: &ClusterId,
        consumer: &ClusterId,
    ) -> bool {
        let parts = [
            provider.as_str().as_bytes(),
            consumer.as_str().as_bytes(),
            &self.sealed,
        ];
        key.verify(MAC_DOMAIN, &parts, &self.mac) && self.is_for(provider, consumer)
    }

    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let (sealed, mac) = bytes.split_first_chunk::<SEALED>()?;
        let (magic, rest) = sealed.split_first_chunk()?;
        let (expires, rest) = rest.split_first_chunk()?;
        let (_random, rest) = rest.split_first_chunk::<16>()?;
        let (names, commitment) = rest.split_first_chunk()?;
        (*magic == MAGIC).then_some(Self {
            expires: u32::from_be_bytes(*expires),
            names: *names,
            commitment: commitment.try_into().ok()?,
            sealed: *sealed,
            mac: mac.try_into().ok()?,
        })
    }
}

/// The first four bytes: a fixed random value.
const MAGIC: [u8; 4] = [0x6c, 0xa7, 0x51, 0x9e];
/// The MAC covers the bytes before it.
const SEALED: usize = 48;
const NAMES_DOMAIN: &str = "liqo-auth nonce names v1";
const COMMITMENT_DOMAIN: &str = "liqo-auth nonce provider key v1";
const MAC_DOMAIN: &str = "liqo-auth nonce v1";

fn names_digest(provider: &ClusterId, consumer: &ClusterId) -> [u8; 12] {
    digest(
        NAMES_DOMAIN,
        &[provider.as_str().as_bytes(), consumer.as_str().as_bytes()],
    )
}

/// Without a key, the digest covers one part fewer, so it differs from the digest of
/// any key.
fn commitment_digest(key: Option<&PublicKey>) -> [u8; 12] {
    match key {
        Some(key) => digest(COMMITMENT_DOMAIN, &[key.spki_der()]),
        None => digest(COMMITMENT_DOMAIN, &[]),
    }
}

fn digest(domain: &str, parts: &[&[u8]]) -> [u8; 12] {
    let mut hash = Sha256::new();
    update_parts(&mut hash, domain, parts);
    let mut out = [0; 12];
    copy(&mut out, hash.finalize());
    out
}

fn copy(out: &mut [u8], bytes: impl IntoIterator<Item = u8>) {
    for (out, byte) in out.iter_mut().zip(bytes) {
        *out = byte;
    }
}

#[cfg(test)]
mod tests;
