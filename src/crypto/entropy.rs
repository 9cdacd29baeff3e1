//! Randomness as an argument.

use hmac::{Hmac, KeyInit, Mac};
use rand_core::TryCryptoRng;
use sha2::Sha256;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// 32 random bytes for one call. The call derives all random values from them, by
/// label and context.
///
/// The same call with the same bytes makes the same objects. The bytes are wiped
/// on drop, and `Debug` does not show them.
///
/// # Examples
/// ```
/// use liqo_auth::crypto::Entropy;
///
/// let entropy = Entropy::from_bytes([7; 32]); // real bytes come from a generator
/// assert_eq!(format!("{entropy:?}"), "Entropy(…)");
/// ```
#[derive(Zeroize, ZeroizeOnDrop, derive_more::Debug)]
#[debug("Entropy(…)")]
pub struct Entropy([u8; 32]);

impl Entropy {
    /// 32 bytes from a random number generator.
    ///
    /// # Errors
    /// The error of the generator.
    pub fn draw<R: TryCryptoRng + ?Sized>(rng: &mut R) -> Result<Self, R::Error> {
        let mut entropy = Self([0; 32]);
        rng.try_fill_bytes(&mut entropy.0)?;
        Ok(entropy)
    }

    /// 32 bytes from the caller. They must be uniformly random and secret, and must
    /// not be used for another call.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// `N` bytes for this label and context.
    ///
    /// HMAC-SHA-256 in counter mode (NIST SP 800-108) over the label and the
    /// context. Each part is preceded by its length, so that different parts never
    /// give the same input.
    pub(crate) fn derive<const N: usize>(&self, label: &str, context: &[&[u8]]) -> [u8; N] {
        let mut out = [0; N];
        for (counter, chunk) in (0_u32..).zip(out.chunks_mut(32)) {
            let mut mac = keyed(&self.0);
            mac.update(&counter.to_be_bytes());
            update_parts(&mut mac, label, context);
            for (byte, derived) in chunk.iter_mut().zip(mac.finalize().into_bytes()) {
                *byte = derived;
            }
        }
        out
    }
}

/// HMAC-SHA-256 under a key of 32 bytes.
pub(crate) fn keyed(key: &[u8; 32]) -> Hmac<Sha256> {
    // HMAC pads a key that is shorter than the block with zeros (RFC 2104). The
    // constructor takes the padded key, so it cannot fail.
    let mut block = hmac::digest::Key::<Hmac<Sha256>>::default();
    for (byte, key) in block.iter_mut().zip(key) {
        *byte = *key;
    }
    let mac = Hmac::new(&block);
    block.zeroize();
    mac
}

/// 64 bits of HMAC-SHA-256 over a label and parts, for tables that store hashes
/// instead of names.
pub(crate) fn keyed_hash(key: &[u8; 32], label: &str, parts: &[&[u8]]) -> u64 {
    let mut mac = keyed(key);
    update_parts(&mut mac, label, parts);
    let hash: [u8; 32] = mac.finalize().into_bytes().into();
    hash.first_chunk()
        .map_or(0, |first: &[u8; 8]| u64::from_be_bytes(*first))
}

/// Updates a hash or a MAC with a label and parts, each preceded by its length.
pub(super) fn update_parts(hash: &mut impl hmac::digest::Update, label: &str, parts: &[&[u8]]) {
    update_part(hash, label.as_bytes());
    parts.iter().for_each(|part| update_part(hash, part));
}

/// Updates a hash with a part, preceded by its length.
pub(crate) fn update_part(hash: &mut impl hmac::digest::Update, part: &[u8]) {
    hash.update(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
    hash.update(part);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn label_and_context_separate() {
        let entropy = Entropy::from_bytes([1; 32]);
        let one: [u8; 64] = entropy.derive("nonce", &[b"a", b"b"]);
        assert_eq!(one, entropy.derive("nonce", &[b"a", b"b"]));
        let others: [[u8; 64]; 5] = [
            entropy.derive("serial", &[b"a", b"b"]),
            entropy.derive("nonce", &[b"ab"]),
            entropy.derive("nonce", &[b"ab", b""]),
            entropy.derive("nonce", &[b"b", b"a"]),
            Entropy::from_bytes([2; 32]).derive("nonce", &[b"a", b"b"]),
        ];
        for other in others {
            assert_ne!(one, other);
        }
        assert_ne!(one[..32], one[32..]);
    }

    #[test]
    fn each_drawing_gives_other_bytes() {
        let mut rng = getrandom::SysRng;
        let [one, other] = [(); 2].map(|()| Entropy::draw(&mut rng).unwrap().0);
        assert_ne!(one, other);
        assert_ne!(one, [0; 32]);
    }

    #[test]
    fn the_key_is_used_as_hmac_uses_it() {
        let mut ours = keyed(&[3; 32]);
        let mut theirs = <Hmac<Sha256> as KeyInit>::new_from_slice(&[3; 32]).unwrap();
        ours.update(b"x");
        theirs.update(b"x");
        assert_eq!(ours.finalize().into_bytes(), theirs.finalize().into_bytes());
    }
}
