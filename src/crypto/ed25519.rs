//! Which Ed25519 keys are taken.

use curve25519_dalek::{EdwardsPoint, Scalar, traits::IsIdentity};
use ed25519_dalek::VerifyingKey;

use super::KeyError;

/// A key in its canonical encoding, on the curve, of the prime order.
///
/// Only of such keys is it true that a signature is bound to one key and one
/// message, whichever way somebody else verifies it.
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

/// RFC 8032 section 5.1.3: y is less than p = 2^255 - 19, and the sign bit is
/// zero if x is, which it is for y = 1 and y = -1.
fn is_canonical(bytes: &[u8; 32]) -> bool {
    let [low, middle @ .., high] = bytes;
    let y_high = high & 0x7f;
    let ones = y_high == 0x7f && middle.iter().all(|byte| *byte == 0xff);
    let zeros = y_high == 0 && middle.iter().all(|byte| *byte == 0);
    let y_is_reduced = !(ones && *low >= 0xed);
    let x_is_zero = (ones && *low == 0xec) || (zeros && *low == 1);
    y_is_reduced && !(x_is_zero && *high & 0x80 != 0)
}

/// Whether the point lies in the subgroup of prime order l, that is, whether
/// `l · A` is the identity.
///
/// `Scalar` reduces modulo l, so that `l` itself is no scalar, but `-1` is the
/// integer `l - 1`; its digits are taken as they are, and `(l - 1) · A + A` is
/// `l · A`. The point is public: the variable-time multiplication may be used,
/// which is somewhat faster than `is_torsion_free`.
fn is_torsion_free(point: &EdwardsPoint) -> bool {
    let product =
        EdwardsPoint::vartime_double_scalar_mul_basepoint(&-Scalar::ONE, point, &Scalar::ZERO);
    (product + point).is_identity()
}

#[cfg(test)]
mod tests {
    use curve25519_dalek::{
        constants::{ED25519_BASEPOINT_POINT, EIGHT_TORSION},
        edwards::CompressedEdwardsY,
    };

    use super::*;

    #[test]
    fn the_order_is_told_as_the_library_tells_it() {
        for multiple in 0_u64..6 {
            let prime_order = ED25519_BASEPOINT_POINT * Scalar::from(multiple);
            for torsion in EIGHT_TORSION {
                let point = prime_order + torsion;
                assert_eq!(is_torsion_free(&point), point.is_torsion_free());
                let expected = if point.is_small_order() {
                    Err(KeyError::Ed25519SmallOrder)
                } else if point.is_torsion_free() {
                    Ok(point.compress().to_bytes())
                } else {
                    Err(KeyError::Ed25519MixedOrder)
                };
                let key = verifying_key(&point.compress().to_bytes());
                assert_eq!(key.map(|key| key.to_bytes()), expected);
            }
        }
        assert!(is_torsion_free(
            &<EdwardsPoint as curve25519_dalek::traits::Identity>::identity()
        ));
    }

    #[test]
    fn canonical_is_what_compresses_to_itself() {
        let mut points = 0;
        let edges = (0..=255).flat_map(|low| {
            [
                (low, 0, 0),
                (low, 0, 0x80),
                (low, 0xff, 0x7f),
                (low, 0xff, 0xff),
            ]
        });
        for (low, middle, high) in edges {
            let mut bytes = [middle; 32];
            bytes[0] = low;
            bytes[31] = high;
            if let Some(point) = CompressedEdwardsY(bytes).decompress() {
                points += 1;
                let itself = point.compress().to_bytes() == bytes;
                assert_eq!(is_canonical(&bytes), itself, "{bytes:x?}");
            }
        }
        assert!(points > 200);
    }

    #[test]
    fn half_of_all_texts_are_no_points() {
        let mut bytes = [0; 32];
        bytes[0] = 2;
        assert_eq!(
            verifying_key(&bytes).unwrap_err(),
            KeyError::Ed25519NotOnCurve
        );
    }
}
