//! Ed25519 with the arithmetic of a WebAssembly module's host.
//!
//! WebAssembly has no product of 128 bits, so curve arithmetic takes more than twice as
//! long in a module as in its host. Under `--cfg liqo_auth_ed25519_of_host`, this file
//! replaces `ed25519.rs`. The rules and the verdicts are the same.

use std::sync::OnceLock;

use ed25519_dalek::pkcs8::DecodePrivateKey;
use zeroize::ZeroizeOnDrop;

use super::{
    BoxError, KeyError, SignatureError,
    ed25519_encoding::{IDENTITY, has_small_order, is_canonical},
};

/// The arithmetic of the host. No function keeps its arguments.
#[derive(Clone, Copy)]
pub struct HostArithmetic {
    /// Whether this is a point of the curve, in any encoding.
    pub is_point: fn(&[u8; 32]) -> bool,
    /// Whether the order of this point divides the prime l.
    pub has_prime_order: fn(&[u8; 32]) -> bool,
    /// Whether a key has made this signature of a message: the equation without the
    /// cofactor (RFC 8032 section 5.1.7), with `s` less than l, and R compared as bytes.
    pub verify: fn(&[u8; 32], &[u8], &[u8; 64]) -> bool,
}

static HOST: OnceLock<HostArithmetic> = OnceLock::new();

/// Sets the arithmetic, once for the module. Without it, every key and every signature
/// is refused.
pub fn set_host_arithmetic(arithmetic: HostArithmetic) {
    HOST.get_or_init(|| arithmetic);
}

/// A private key. Nothing in a module makes one but tests.
#[derive(Clone, ZeroizeOnDrop)]
pub(super) struct SigningKey(ed25519_dalek::SigningKey);

/// The encoding of a point.
#[derive(Clone)]
pub(super) struct VerifyingKey([u8; 32]);

pub(super) struct Signature([u8; 64]);

pub(super) fn verifying_key(bytes: &[u8; 32]) -> Result<VerifyingKey, KeyError> {
    if !is_canonical(bytes) {
        return Err(KeyError::Ed25519NonCanonical);
    }
    if has_small_order(bytes) {
        return Err(KeyError::Ed25519SmallOrder);
    }
    // The host decodes a right key once. Only a wrong one is asked about twice, for its error.
    if !HOST.get().is_some_and(|host| (host.has_prime_order)(bytes)) {
        return Err(match VerifyingKey::from_bytes(bytes) {
            Ok(_) => KeyError::Ed25519MixedOrder,
            Err(_) => KeyError::Ed25519NotOnCurve,
        });
    }
    Ok(VerifyingKey(*bytes))
}

/// As in `ed25519.rs`, where the reasons are.
pub(super) fn verify(
    key: &VerifyingKey,
    message: &[u8],
    signature: &Signature,
) -> Result<(), SignatureError> {
    if signature.0.starts_with(&IDENTITY) || !holds(key, message, signature) {
        return Err(SignatureError::Mismatch);
    }
    Ok(())
}

/// As in `ed25519.rs`.
pub(super) fn verify_by_any_key(
    key: &VerifyingKey,
    message: &[u8],
    signature: &Signature,
) -> Result<(), SignatureError> {
    let is_weak = signature.0.first_chunk().is_none_or(has_small_order) || has_small_order(&key.0);
    if is_weak || !holds(key, message, signature) {
        return Err(SignatureError::Mismatch);
    }
    Ok(())
}

fn holds(key: &VerifyingKey, message: &[u8], signature: &Signature) -> bool {
    let host = HOST.get();
    host.is_some_and(|host| (host.verify)(&key.0, message, &signature.0))
}

pub(super) fn sign(key: &SigningKey, message: &[u8]) -> Result<Vec<u8>, BoxError> {
    Ok(ed25519_dalek::Signer::try_sign(&key.0, message)?.to_vec())
}

/// The private key in a PKCS#8 document.
pub(super) fn read_pkcs8(der: &[u8]) -> Option<SigningKey> {
    Some(SigningKey(
        ed25519_dalek::SigningKey::from_pkcs8_der(der).ok()?,
    ))
}

impl SigningKey {
    pub(super) fn from_bytes(seed: &[u8; 32]) -> Self {
        Self(ed25519_dalek::SigningKey::from_bytes(seed))
    }

    pub(super) fn verifying_key(&self) -> VerifyingKey {
        VerifyingKey(self.0.verifying_key().to_bytes())
    }
}

impl VerifyingKey {
    pub(super) fn from_bytes(bytes: &[u8; 32]) -> Result<Self, SignatureError> {
        let host = HOST.get();
        match host.is_some_and(|host| (host.is_point)(bytes)) {
            true => Ok(Self(*bytes)),
            false => Err(SignatureError::Mismatch),
        }
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
