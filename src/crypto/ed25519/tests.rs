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
fn small_order_is_told_by_the_encoding() {
    for multiple in 0_u64..6 {
        for torsion in EIGHT_TORSION {
            let point = ED25519_BASEPOINT_POINT * Scalar::from(multiple) + torsion;
            let encoding = point.compress().to_bytes();
            assert_eq!(has_small_order(&encoding), multiple == 0, "{encoding:x?}");
        }
    }
}

/// With a key of small order, a signature does not need a private key: over about one
/// message in eight, `verify` accepts a signature with s = 0 and an R of small order.
#[test]
fn keys_and_nonces_of_small_order_are_refused_with_any_key() {
    let mut accepted = 0;
    for (torsion, message) in EIGHT_TORSION
        .iter()
        .flat_map(|point| (0_u8..32).map(move |message| (point, message)))
    {
        let key = VerifyingKey::from_bytes(&torsion.compress().to_bytes()).unwrap();
        let zero = Scalar::ZERO.to_bytes();
        for nonce in EIGHT_TORSION.map(|point| point.compress().to_bytes()) {
            let signature = Signature::from_components(nonce, zero);
            accepted += u32::from(Verifier::verify(&key, &[message], &signature).is_ok());
            let ours = verify_by_any_key(&key, &[message], &signature);
            assert_eq!(ours, Err(SignatureError::Mismatch));
        }
    }
    assert!(accepted > 0);
}

#[test]
fn a_key_or_a_nonce_of_small_order_suffices_for_a_refusal_with_any_key() {
    let (zero, seven) = (Scalar::ZERO, Scalar::from(7_u8));
    let refused = Err(SignatureError::Mismatch);
    for (a, r, verdict) in [
        (seven, seven, Ok(())),
        (zero, seven, refused),
        (seven, zero, refused),
    ] {
        let key = (ED25519_BASEPOINT_POINT * a).compress().to_bytes();
        let key = VerifyingKey::from_bytes(&key).unwrap();
        let signature = sign(a, r, EIGHT_TORSION[0], b"message");
        assert!(Verifier::verify(&key, b"message", &signature).is_ok());
        assert_eq!(verify_by_any_key(&key, b"message", &signature), verdict);
    }
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
    let (mut points, mut small) = (0, 0);
    let edges = (0..=255).flat_map(|low| {
        [
            (low, 0, 0),
            (low, 0, 0x80),
            (low, 0xff, 0x7f),
            (low, 0xff, 0xff),
            // Only the middle or only the last byte is that of an edge.
            (low, 0, 0x7f),
            (low, 0, 0xff),
            (low, 0xff, 0),
            (low, 0xff, 0x80),
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
            let is_small = point.is_small_order();
            assert_eq!(has_small_order(&bytes), is_small, "{bytes:x?}");
            small += u32::from(is_small);
            let refusal = verifying_key(&bytes).err();
            let is_refused = refusal == Some(KeyError::Ed25519NonCanonical);
            assert_eq!(is_refused, !itself, "{bytes:x?}");
        }
    }
    assert!(points > 800);
    // y is 0, 1, -1, p and p + 1, each with both signs.
    assert_eq!(small, 10);
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
