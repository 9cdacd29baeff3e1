//! RSASSA-PKCS1-v1_5 (RFC 8017 section 8.2.2). The encoded message is built and
//! compared; nothing in it is parsed.

use crypto_bigint::{
    BoxedUint, Odd,
    modular::{BoxedMontyForm, BoxedMontyParams},
};
use sha2::{Digest, Sha256, Sha384, Sha512};

use crate::crypto::{
    SignatureScheme,
    der::{NULL, OBJECT_IDENTIFIER, OCTET_STRING, SEQUENCE, element, two_numbers},
    signature::{RsaHash, Verifier},
};

/// An RSA key of 2048 to 8192 bits.
pub(super) struct Key {
    modulus: BoxedMontyParams,
    /// The length of the modulus, in bytes.
    length: usize,
    exponent: u64,
}

impl Key {
    /// Reads an `RSAPublicKey` (RFC 8017 appendix A.1.1).
    pub(super) fn parse(key: &[u8]) -> Option<Self> {
        let [modulus, exponent] = two_numbers(key).ok()?;
        let bits = 8 * modulus.len() - usize::try_from(modulus.first()?.leading_zeros()).ok()?;
        if !(SHORTEST..=LONGEST).contains(&bits) || exponent.len() > 5 {
            return None;
        }
        let exponent = exponent
            .iter()
            .fold(0, |sum: u64, byte| sum << 8 | u64::from(*byte));
        if exponent < 3 || exponent & 1 == 0 || exponent >> LONGEST_EXPONENT != 0 {
            return None;
        }
        let length = modulus.len();
        let odd = Option::<Odd<BoxedUint>>::from(Odd::new(number(modulus)?))?;
        Some(Self {
            modulus: BoxedMontyParams::new_vartime(odd),
            length,
            exponent,
        })
    }

    fn verifies_with(&self, hash: RsaHash, message: &[u8], signature: &[u8]) -> bool {
        self.message_representative(signature)
            .is_some_and(|found| found == self.encoded(hash, message))
    }

    /// RSAVP1 (RFC 8017 section 5.2.2), as the bytes after the leading zeros.
    fn message_representative(&self, signature: &[u8]) -> Option<Vec<u8>> {
        if signature.len() != self.length {
            return None;
        }
        let signature = number(signature)?;
        if signature >= *self.modulus.modulus().as_ref() {
            return None;
        }
        let base = BoxedMontyForm::new(signature, &self.modulus);
        let mut power = base.clone();
        for bit in (0..self.exponent.ilog2()).rev() {
            power = power.square();
            if self.exponent >> bit & 1 == 1 {
                power = power.mul(&base);
            }
        }
        let bytes = power.retrieve().to_be_bytes();
        Some(bytes.into_iter().skip_while(|byte| *byte == 0).collect())
    }

    /// EMSA-PKCS1-v1_5 (RFC 8017 section 9.2), without the leading zero.
    fn encoded(&self, hash: RsaHash, message: &[u8]) -> Vec<u8> {
        let (identifier, digest): (_, Vec<u8>) = match hash {
            RsaHash::Sha256 => (1, Sha256::digest(message).to_vec()),
            RsaHash::Sha384 => (2, Sha384::digest(message).to_vec()),
            RsaHash::Sha512 => (3, Sha512::digest(message).to_vec()),
        };
        // The DigestInfo: the hash's identifier with NULL, then the digest.
        let hash = element(OBJECT_IDENTIFIER, &[SHA_2, &[identifier]]);
        let algorithm = element(SEQUENCE, &[&hash, NULL]);
        let digest = element(OCTET_STRING, &[&digest]);
        let info = element(SEQUENCE, &[&algorithm, &digest]);
        // The key has 256 bytes at least, so the padding is never too short.
        let padding = self.length.saturating_sub(3 + info.len());
        [&[1], &*vec![0xff; padding], &[0], &info].concat()
    }
}

impl Verifier for Key {
    fn verifies(&self, _: SignatureScheme, message: &[u8], signature: &[u8]) -> bool {
        self.verifies_with(RsaHash::Sha256, message, signature)
    }
}

/// Verifies the signature of a certificate by an `RSAPublicKey`.
#[cfg(any(not(feature = "rsa"), test))]
pub(crate) fn verify_rsa(key: &[u8], hash: RsaHash, message: &[u8], signature: &[u8]) -> bool {
    Key::parse(key).is_some_and(|key| key.verifies_with(hash, message, signature))
}

fn number(bytes: &[u8]) -> Option<BoxedUint> {
    let bits = u32::try_from(8 * bytes.len()).ok()?;
    BoxedUint::from_be_slice(bytes, bits).ok()
}

/// The identifiers of SHA-256, SHA-384 and SHA-512, without their last arc (RFC 8017
/// appendix B.1).
const SHA_2: &[u8] = &[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2];
/// The shortest and the longest modulus, and the longest exponent that AWS-LC
/// accepts, in bits.
const SHORTEST: usize = 2048;
const LONGEST: usize = 8192;
const LONGEST_EXPONENT: u32 = 33;
