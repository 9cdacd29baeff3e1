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
/// if these bytes are one of eight texts.
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
/// `is_torsion_free`.
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

    use ed25519_dalek::SigningKey;
    use proptest::prelude::*;
    use sha2::{Digest, Sha512};

    use super::*;

    /// A signature with the private scalar `a` and the nonce `r`, and with a torsion
    /// point added to R.
    fn sign(a: Scalar, r: Scalar, torsion: EdwardsPoint, message: &[u8]) -> Signature {
        let key = (ED25519_BASEPOINT_POINT * a).compress();
        let nonce = (ED25519_BASEPOINT_POINT * r + torsion).compress();
        let hash = Sha512::new()
            .chain_update(nonce.as_bytes())
            .chain_update(key.as_bytes())
            .chain_update(message)
            .finalize();
        let k = Scalar::from_bytes_mod_order_wide(&hash.into());
        Signature::from_components(nonce.to_bytes(), (r + k * a).to_bytes())
    }

    proptest! {
        #[test]
        fn what_is_verified_is_what_verify_strict_takes(
            seeds: ([u8; 32], [u8; 32]),
            zero in prop::bool::weighted(0.2),
            torsion in 0_usize..8,
            flipped in prop::option::weighted(0.3, 0_usize..512),
            message: Vec<u8>,
        ) {
            let a = Scalar::from_bytes_mod_order(seeds.0);
            let r = if zero { Scalar::ZERO } else { Scalar::from_bytes_mod_order(seeds.1) };
            prop_assume!(a != Scalar::ZERO);
            let key = (ED25519_BASEPOINT_POINT * a).compress().to_bytes();
            let key = verifying_key(&key).unwrap();
            let mut bytes = sign(a, r, EIGHT_TORSION[torsion], &message).to_bytes();
            if let Some(bit) = flipped {
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
            let signature = Signature::from_bytes(&bytes);
            let strict = key.verify_strict(&message, &signature).is_ok();
            prop_assert_eq!(verify(&key, &message, &signature).is_ok(), strict);
            prop_assert_eq!(strict, !zero && torsion == 0 && flipped.is_none());
        }

        #[test]
        fn any_key_is_verified_as_verify_strict_does(
            seeds: ([u8; 32], [u8; 32]),
            zeros in (prop::bool::weighted(0.2), prop::bool::weighted(0.3)),
            torsions in (0_usize..8, 0_usize..8),
            flipped in prop::option::weighted(0.2, 0_usize..512),
            message in 0_u8..8,
        ) {
            let scalar = |seed, zero| match zero {
                true => Scalar::ZERO,
                false => Scalar::from_bytes_mod_order(seed),
            };
            let (a, r) = (scalar(seeds.0, zeros.0), scalar(seeds.1, zeros.1));
            let key = ED25519_BASEPOINT_POINT * a + EIGHT_TORSION[torsions.0];
            let key = VerifyingKey::from_bytes(&key.compress().to_bytes()).unwrap();
            let nonce = ED25519_BASEPOINT_POINT * r + EIGHT_TORSION[torsions.1];
            let nonce = nonce.compress().to_bytes();
            let hash = Sha512::new()
                .chain_update(nonce)
                .chain_update(key.as_bytes())
                .chain_update([message])
                .finalize();
            let k = Scalar::from_bytes_mod_order_wide(&hash.into());
            let mut bytes = Signature::from_components(nonce, (r + k * a).to_bytes()).to_bytes();
            if let Some(bit) = flipped {
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
            let signature = Signature::from_bytes(&bytes);
            let strict = key.verify_strict(&[message], &signature).is_ok();
            let ours = verify_by_any_key(&key, &[message], &signature).is_ok();
            prop_assert_eq!(ours, strict);
        }

        #[test]
        fn own_signatures_are_verified(seed: [u8; 32], message: Vec<u8>) {
            let key = SigningKey::from_bytes(&seed);
            let signature = ed25519_dalek::Signer::sign(&key, &message);
            prop_assert_eq!(verify(&key.verifying_key(), &message, &signature), Ok(()));
        }
    }

    #[test]
    fn a_nonce_of_small_order_is_refused_in_every_encoding() {
        let a = Scalar::from(7_u8);
        let key = (ED25519_BASEPOINT_POINT * a).compress().to_bytes();
        let key = verifying_key(&key).unwrap();
        // Without the comparison with the identity, `verify` would accept this one.
        let zero = sign(a, Scalar::ZERO, EIGHT_TORSION[0], b"message");
        assert!(Verifier::verify(&key, b"message", &zero).is_ok());
        for torsion in EIGHT_TORSION {
            let signature = sign(a, Scalar::ZERO, torsion, b"message");
            assert_eq!(
                verify(&key, b"message", &signature),
                Err(SignatureError::Mismatch)
            );
        }
    }

    #[test]
    fn the_encodings_of_small_order_are_those_of_the_library() {
        let mut expected = EIGHT_TORSION.map(|point| point.compress().to_bytes());
        let mut found = SMALL_ORDER;
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, expected);
    }

    /// A key of small order verifies a signature over every eighth message, and a
    /// nonce of small order is chosen so that it fits. `verify` accepts both.
    #[test]
    fn keys_and_nonces_of_small_order_are_refused_with_any_key() {
        let mut accepted = 0;
        for (torsion, message) in EIGHT_TORSION
            .iter()
            .flat_map(|point| (0_u8..32).map(move |message| (point, message)))
        {
            let key = VerifyingKey::from_bytes(&torsion.compress().to_bytes()).unwrap();
            let zero = Scalar::ZERO.to_bytes();
            for nonce in SMALL_ORDER {
                let signature = Signature::from_components(nonce, zero);
                accepted += u32::from(Verifier::verify(&key, &[message], &signature).is_ok());
                let ours = verify_by_any_key(&key, &[message], &signature);
                assert_eq!(ours, Err(SignatureError::Mismatch));
            }
        }
        assert!(accepted > 0);
    }

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
                let refusal = verifying_key(&bytes).err();
                let is_refused = refusal == Some(KeyError::Ed25519NonCanonical);
                assert_eq!(is_refused, !itself, "{bytes:x?}");
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
