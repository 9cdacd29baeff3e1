//! Signatures without arithmetic, for fuzzers and model checks. Never use them for
//! anything else: anyone who can run this code can forge them.
//!
//! Only `model-check/` and `fuzz/campaign` build this file. The cfg alone does not build: a
//! variable is needed as well, the controllers and the tool refuse the cfg, and the published
//! package does not have this file.
//!
//! A fuzzer and a model check look for faults of the protocol. Curve arithmetic
//! would take most of their time. Under `--cfg liqo_auth_cheap_signatures`, this
//! file replaces `src/crypto/ed25519.rs`, and SHA-256 replaces the curve:
//!
//! - A public key is a hash of the private key.
//! - A signature is a hash of the public key and the message, written twice.
//!
//! Within such a run, these properties still hold. The rest of the library relies
//! on them:
//!
//! - **Only the holder of a key makes its signatures.** [`sign`] takes a
//!   [`SigningKey`], and no [`SigningKey`] can be made from a public key. A fuzzer
//!   has only bytes, and a model only the library's interface. Neither of them
//!   computes a hash.
//! - **A fuzzer cannot learn a signature.** Fuzzers record the operands of
//!   comparisons and put them into their inputs. Therefore, [`verify`] compares
//!   hashes of the two signatures, and never the signatures.
//! - A signature belongs to one key and one message, and has one encoding.
//! - Every result depends only on the arguments. Thus, seeds and traces can be
//!   replayed in another process.
//!
//! Here, any 32 bytes except zeros are a public key. Other tests, with the real
//! arithmetic, check which encodings of keys are refused.

use ed25519_dalek::pkcs8::DecodePrivateKey;
use sha2::{Digest, Sha256};
use zeroize::{Zeroize, ZeroizeOnDrop};

use super::{BoxError, KeyError, SignatureError};

const _: &str = env!(
    "LIQO_AUTH_CHEAP_SIGNATURES",
    "liqo_auth_cheap_signatures makes signatures that everybody can forge; only model-check/ and fuzz/ may be built with it"
);
#[cfg(not(debug_assertions))]
compile_error!(
    "liqo_auth_cheap_signatures makes signatures that everybody can forge; it needs debug assertions"
);
#[cfg(feature = "aws-lc-rs")]
compile_error!("liqo_auth_cheap_signatures replaces the signatures that aws-lc-rs would make");

/// A private key.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub(super) struct SigningKey([u8; 32]);

/// A public key.
#[derive(Clone)]
pub(super) struct VerifyingKey([u8; 32]);

/// A signature: one hash, written twice.
pub(super) struct Signature([u8; 64]);

pub(super) fn verifying_key(bytes: &[u8; 32]) -> Result<VerifyingKey, KeyError> {
    VerifyingKey::from_bytes(bytes).map_err(|_| KeyError::Ed25519SmallOrder)
}

pub(super) fn verify(
    key: &VerifyingKey,
    message: &[u8],
    signature: &Signature,
) -> Result<(), SignatureError> {
    let image = |signature: &[u8; 64]| hash("comparison", &[signature]);
    if image(&signature.0) == image(&signature_of(key, message)) {
        Ok(())
    } else {
        Err(SignatureError::Mismatch)
    }
}

pub(super) use verify as verify_by_any_key;

pub(super) fn sign(key: &SigningKey, message: &[u8]) -> Result<Vec<u8>, BoxError> {
    Ok(signature_of(&key.verifying_key(), message).to_vec())
}

/// The private key in a PKCS#8 document.
pub(super) fn read_pkcs8(der: &[u8]) -> Option<SigningKey> {
    let key = ed25519_dalek::SigningKey::from_pkcs8_der(der).ok()?;
    Some(SigningKey(key.to_bytes()))
}

impl SigningKey {
    pub(super) fn from_bytes(seed: &[u8; 32]) -> Self {
        Self(*seed)
    }

    pub(super) fn verifying_key(&self) -> VerifyingKey {
        VerifyingKey(hash("public key", &[&self.0]))
    }
}

impl VerifyingKey {
    pub(super) fn from_bytes(bytes: &[u8; 32]) -> Result<Self, SignatureError> {
        if *bytes == [0; 32] {
            return Err(SignatureError::Mismatch);
        }
        Ok(Self(*bytes))
    }

    pub(super) fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    pub(super) fn to_bytes(&self) -> [u8; 32] {
        self.0
    }
}

impl Signature {
    pub(super) fn from_slice(bytes: &[u8]) -> Result<Self, SignatureError> {
        let bytes = bytes.try_into().map_err(|_| SignatureError::Mismatch)?;
        Ok(Self(bytes))
    }
}

fn signature_of(key: &VerifyingKey, message: &[u8]) -> [u8; 64] {
    let half = hash("signature", &[&key.0, message]);
    let mut signature = [0; 64];
    let (first, second) = signature.split_at_mut(32);
    first.copy_from_slice(&half);
    second.copy_from_slice(&half);
    signature
}

fn hash(purpose: &str, parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(b"liqo-auth cheap signatures: ");
    hash.update(purpose.as_bytes());
    for part in parts {
        hash.update([0]);
        hash.update(part);
    }
    hash.finalize().into()
}
