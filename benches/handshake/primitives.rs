//! The operations that every handshake needs (with keys, and hashes), called
//! directly in the crates that implement them.

use std::hint::black_box;

use curve25519_dalek::{EdwardsPoint, Scalar, traits::IsIdentity};
use ed25519_dalek::{Verifier, VerifyingKey};
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

use super::clock::Stage;

pub(crate) const SIGN: &str = "ed25519-sign";
pub(crate) const VERIFY: &str = "ed25519-verify";
pub(crate) const ADMIT: &str = "ed25519-admit";
pub(crate) const READ: &str = "ed25519-read";
pub(crate) const SHA: &str = "sha256";
pub(crate) const HMAC: &str = "hmac-sha256";

pub(crate) fn stages() -> Vec<Stage> {
    // About the length of the signed part of a certificate.
    let message = [7; 256];
    let seed = [1; 32];
    let key = ed25519_dalek::SigningKey::from_bytes(&seed);
    let public = key.verifying_key();
    let encoded = public.to_bytes();
    let signature = ed25519_dalek::Signer::sign(&key, &message);
    vec![
        Stage::new(SIGN, signer(&seed, message)),
        Stage::new(VERIFY, move || {
            black_box(&public)
                .verify(black_box(&message), &signature)
                .unwrap();
        }),
        // The key of a peer: the point is checked to be on the curve and of prime
        // order.
        Stage::new(ADMIT, move || {
            let key = VerifyingKey::from_bytes(black_box(&encoded)).unwrap();
            assert!(is_torsion_free(&key.to_edwards()));
        }),
        // The key of a CA: it is only decoded, since the rules for keys do not apply.
        Stage::new(READ, move || {
            black_box(VerifyingKey::from_bytes(black_box(&encoded)).unwrap());
        }),
        Stage::new(SHA, move || {
            black_box(Sha256::digest(black_box(&message[..128])));
        }),
        Stage::new(HMAC, move || {
            let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(black_box(&seed)).unwrap();
            mac.update(black_box(&message[..128]));
            black_box(mac.finalize());
        }),
    ]
}

#[cfg(not(feature = "aws-lc-rs"))]
fn signer(seed: &[u8; 32], message: [u8; 256]) -> impl FnMut() + use<> {
    let key = ed25519_dalek::SigningKey::from_bytes(seed);
    move || {
        black_box(ed25519_dalek::Signer::sign(&key, black_box(&message)));
    }
}

#[cfg(feature = "aws-lc-rs")]
fn signer(seed: &[u8; 32], message: [u8; 256]) -> impl FnMut() + use<> {
    let key = aws_lc_rs::signature::Ed25519KeyPair::from_seed_unchecked(seed).unwrap();
    move || {
        black_box(key.sign(black_box(&message)));
    }
}

/// The cheapest test in curve25519-dalek: a multiplication by the order, in
/// variable time.
fn is_torsion_free(point: &EdwardsPoint) -> bool {
    let product =
        EdwardsPoint::vartime_double_scalar_mul_basepoint(&-Scalar::ONE, point, &Scalar::ZERO);
    (product + point).is_identity()
}
