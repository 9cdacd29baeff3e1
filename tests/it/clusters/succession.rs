//! Successions of keys, made and read by their documented form alone.

use std::sync::Arc;

use base64::{Engine, engine::general_purpose::STANDARD};
use ed25519_dalek::{Signer, Verifier, VerifyingKey};
use liqo_auth::crypto::{ClientKey, Nonce, PublicKey, SigningKey};

/// The annotation by which an Ed25519 key names the key that follows it.
pub(crate) fn annotation(
    nonce: &Nonce,
    (provider, consumer): (&str, &str),
    old: &Arc<dyn SigningKey>,
    new: &Arc<dyn SigningKey>,
) -> String {
    let ClientKey::Pem(pem) = old.client_key() else {
        panic!("the key is in memory");
    };
    let base64: String = pem
        .expose()
        .lines()
        .filter(|line| !line.contains('-'))
        .collect();
    let der = STANDARD.decode(base64).unwrap();
    // PKCS#8 of version 1 ends in the seed.
    let key = ed25519_dalek::SigningKey::from_bytes(der.last_chunk().unwrap());
    let (old, new) = (old.public_key(), new.public_key());
    let signature = key.sign(&message(nonce, (provider, consumer), old, new));
    let (key, signature) = (
        STANDARD.encode(old.spki_der()),
        STANDARD.encode(signature.to_bytes()),
    );
    format!("{key}.{signature}")
}

/// Whether the annotation is by the old key, and for exactly this.
pub(crate) fn holds(
    annotation: &str,
    nonce: &Nonce,
    clusters: (&str, &str),
    old: &PublicKey,
    new: &PublicKey,
) -> bool {
    let (key, signature) = annotation.split_once('.').unwrap();
    let signature = STANDARD.decode(signature).unwrap();
    let signature = ed25519_dalek::Signature::from_slice(&signature).unwrap();
    let verifying_key = VerifyingKey::from_bytes(old.spki_der().last_chunk().unwrap()).unwrap();
    STANDARD.decode(key).unwrap() == old.spki_der()
        && verifying_key
            .verify(&message(nonce, clusters, old, new), &signature)
            .is_ok()
}

fn message(
    nonce: &Nonce,
    (provider, consumer): (&str, &str),
    old: &PublicKey,
    new: &PublicKey,
) -> Vec<u8> {
    let mut message = b"liqo-auth key succession v1\0".to_vec();
    for field in [
        provider.as_bytes(),
        consumer.as_bytes(),
        old.spki_der(),
        new.spki_der(),
        nonce.as_str().as_bytes(),
    ] {
        message.extend(u64::try_from(field.len()).unwrap().to_be_bytes());
        message.extend(field);
    }
    message
}
