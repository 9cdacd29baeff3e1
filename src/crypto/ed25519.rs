//! The checks of Ed25519 keys and signatures.

use curve25519_dalek::{EdwardsPoint, Scalar, traits::IsIdentity};
pub(super) use ed25519_dalek::{Signature, SigningKey, VerifyingKey};
use ed25519_dalek::{Verifier, pkcs8::DecodePrivateKey};

#[cfg(not(feature = "aws-lc-rs"))]
use super::BoxError;
use super::{KeyError, SignatureError};

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
///
/// `verify` compares the bytes of R with a canonical encoding. So R has small order
/// only if these bytes are one of eight canonical encodings.
pub(super) fn verify_by_any_key(
    key: &VerifyingKey,
    message: &[u8],
    signature: &Signature,
) -> Result<(), SignatureError> {
    let is_weak = SMALL_ORDER.contains(signature.r_bytes()) || key.is_weak();
    if is_weak || key.verify(message, signature).is_err() {
        return Err(SignatureError::Mismatch);
    }
    Ok(())
}

/// The private key in a PKCS#8 document.
pub(super) fn read_pkcs8(der: &[u8]) -> Option<SigningKey> {
    SigningKey::from_pkcs8_der(der).ok()
}

/// The point (0, 1).
const IDENTITY: [u8; 32] = small_order(1, 0, 0);

/// The points of small order in their canonical encodings.
const SMALL_ORDER: [[u8; 32]; 8] = [
    IDENTITY,
    // (0, -1).
    small_order(0xec, 0xff, 0x7f),
    // Order 4: y is 0.
    small_order(0, 0, 0),
    small_order(0, 0, 0x80),
    // Order 8.
    ORDER_8,
    negated(ORDER_8),
    ORDER_8_OF_OTHER_Y,
    negated(ORDER_8_OF_OTHER_Y),
];

const ORDER_8: [u8; 32] = [
    0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10, 0x67, 0x0f,
    0x2a, 0x20, 0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac, 0x03, 0x7a,
];

const ORDER_8_OF_OTHER_Y: [u8; 32] = [
    0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98, 0xf0,
    0xd5, 0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53, 0xfc, 0x05,
];

const fn small_order(first: u8, middle: u8, last: u8) -> [u8; 32] {
    let mut bytes = [middle; 32];
    bytes[0] = first;
    bytes[31] = last;
    bytes
}

/// The encoding with the other sign of x.
const fn negated(mut bytes: [u8; 32]) -> [u8; 32] {
    bytes[31] |= 0x80;
    bytes
}

/// RFC 8032 section 5.1.3: y is less than p = 2^255 - 19, and the sign bit is zero
/// if x is zero. x is zero for y = 1 and y = -1.
fn is_canonical(bytes: &[u8; 32]) -> bool {
    let [low, middle @ .., high] = bytes;
    let y_high = high & 0x7f;
    let ones = y_high == 0x7f && middle.iter().all(|byte| *byte == 0xff);
    let zeros = y_high == 0 && middle.iter().all(|byte| *byte == 0);
    let y_is_reduced = !(ones && *low >= 0xed);
    let x_is_zero = (ones && *low == 0xec) || (zeros && *low == 1);
    y_is_reduced && !(x_is_zero && *high & 0x80 != 0)
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
