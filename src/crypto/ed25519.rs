//! The checks of Ed25519 keys and signatures.

use curve25519_dalek::{EdwardsPoint, Scalar, traits::IsIdentity};
pub(super) use ed25519_dalek::{Signature, SigningKey, VerifyingKey};
use ed25519_dalek::{Verifier, pkcs8::DecodePrivateKey};

#[cfg(not(feature = "aws-lc-rs"))]
use super::BoxError;
use super::{
    KeyError, SignatureError,
    ed25519_encoding::{IDENTITY, has_small_order, is_canonical},
};

/// Reads a key that is canonically encoded, on the curve, and of prime order.
///
/// With such a key, a signature is valid for only one key and one message, under
/// the verification rules of every implementation. Other keys do not guarantee
/// this.
pub(super) fn verifying_key(bytes: &[u8; 32]) -> Result<VerifyingKey, KeyError> {
    if !is_canonical(bytes) {
        return Err(KeyError::Ed25519NonCanonical);
    }
    let key = VerifyingKey::from_bytes(bytes).map_err(|_| KeyError::Ed25519NotOnCurve)?;
    let point = key.to_edwards();
    if point.is_small_order() {
        return Err(KeyError::Ed25519SmallOrder);
    }
    if !is_torsion_free(&point) {
        return Err(KeyError::Ed25519MixedOrder);
    }
    Ok(key)
}

/// Verifies as `VerifyingKey::verify_strict` does, but without decoding R. The key
/// must come from [`verifying_key`] or from a private key.
///
/// `verify_strict` accepts a signature if `verify` accepts it and neither A nor R
/// has small order. For these keys, it suffices that R is not the identity:
///
/// - A is a checked key, so it does not have small order.
/// - `verify` computes the point `R' = s · B - k · A`, encodes it, and compares
///   bytes. So R is encoded canonically, and R = R'.
/// - B and A have the prime order l. So R' is in the subgroup of order l, whatever
///   k and s are. In this subgroup only the identity has small order.
pub(super) fn verify(
    key: &VerifyingKey,
    message: &[u8],
    signature: &Signature,
) -> Result<(), SignatureError> {
    if *signature.r_bytes() == IDENTITY {
        return Err(SignatureError::Mismatch);
    }
    key.verify(message, signature)
        .map_err(|_| SignatureError::Mismatch)
}

#[cfg(not(feature = "aws-lc-rs"))]
pub(super) fn sign(key: &SigningKey, message: &[u8]) -> Result<Vec<u8>, BoxError> {
    Ok(ed25519_dalek::Signer::try_sign(key, message)?.to_vec())
}

/// Verifies as `VerifyingKey::verify_strict` does, with any key, but without decoding
/// R.
pub(super) fn verify_by_any_key(
    key: &VerifyingKey,
    message: &[u8],
    signature: &Signature,
) -> Result<(), SignatureError> {
    let is_weak = has_small_order(signature.r_bytes()) || key.is_weak();
    if is_weak || key.verify(message, signature).is_err() {
        return Err(SignatureError::Mismatch);
    }
    Ok(())
}

/// The private key in a PKCS#8 document.
pub(super) fn read_pkcs8(der: &[u8]) -> Option<SigningKey> {
    SigningKey::from_pkcs8_der(der).ok()
}

/// Whether the point is in the subgroup of prime order l, that is, whether `l · A`
/// is the identity.
///
/// `Scalar` reduces modulo l, so it cannot represent `l`. But the scalar `-1` is
/// the integer `l - 1`, and `(l - 1) · A + A` is `l · A`. The point is public, so a
/// variable-time multiplication is allowed. It takes two thirds of the time of
/// `EdwardsPoint::is_torsion_free`.
fn is_torsion_free(point: &EdwardsPoint) -> bool {
    let product =
        EdwardsPoint::vartime_double_scalar_mul_basepoint(&-Scalar::ONE, point, &Scalar::ZERO);
    (product + point).is_identity()
}

#[cfg(test)]
mod tests;
