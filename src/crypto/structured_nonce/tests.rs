use super::*;
use crate::{crypto::KeyPair, crypto::SigningKey, policy::Policy};

fn ids() -> (ClusterId, ClusterId) {
    (
        "cl-provider".parse().unwrap(),
        "cl-consumer".parse().unwrap(),
    )
}

#[test]
fn a_provider_knows_its_own_nonce_again() {
    let (provider, consumer) = ids();
    let other = "cl-other".parse().unwrap();
    let expires = "2026-11-21T00:00:00Z".parse().unwrap();
    let key = RecordKey::new([1; 32]).unwrap();
    let pair = KeyPair::from_entropy(&Entropy::from_bytes([3; 32]));
    let other_pair = KeyPair::from_entropy(&Entropy::from_bytes([4; 32]));
    let nonce = StructuredNonce::issue(
        &provider,
        &consumer,
        Some(pair.public_key()),
        expires,
        &key,
        &Entropy::from_bytes([2; 32]),
    );
    let nonce = Nonce::parse(nonce.as_bytes(), &Policy::strict()).unwrap();
    let structured = nonce.structured().unwrap();
    assert_eq!(structured.expires(), expires);
    assert!(structured.is_for(&provider, &consumer));
    assert!(!structured.is_for(&consumer, &provider));
    assert!(structured.commits() && structured.commits_to(pair.public_key()));
    assert!(!structured.commits_to(other_pair.public_key()));
    assert!(structured.authenticate(&key, &provider, &consumer));
    assert!(!structured.authenticate(&key, &provider, &other));
    assert!(!structured.authenticate(&key, &consumer, &provider));
    let next = RecordKey::new([9; 32]).unwrap();
    assert!(!structured.authenticate(&next, &provider, &consumer));
    let next = next.with_predecessor([1; 32]).unwrap();
    assert!(structured.authenticate(&next, &provider, &consumer));
}

#[test]
fn every_bit_counts() {
    let (provider, consumer) = ids();
    let key = RecordKey::new([1; 32]).unwrap();
    let expires = "2026-11-21T00:00:00Z".parse().unwrap();
    let entropy = Entropy::from_bytes([2; 32]);
    let nonce = StructuredNonce::issue(&provider, &consumer, None, expires, &key, &entropy);
    assert!(!nonce.structured().unwrap().commits());
    let structured = nonce.structured().unwrap();
    let bytes = [&structured.sealed[..], &structured.mac].concat();
    for bit in 0..512 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let authentic = StructuredNonce::read(&flipped)
            .is_some_and(|nonce| nonce.authenticate(&key, &provider, &consumer));
        assert!(!authentic, "{bit}");
    }
}

#[test]
fn the_expiry_saturates() {
    let (provider, consumer) = ids();
    let key = RecordKey::new([1; 32]).unwrap();
    for (given, kept) in [
        ("2200-01-01T00:00:00Z", "2106-02-07T06:28:15Z"),
        ("1960-01-01T00:00:00Z", "1970-01-01T00:00:00Z"),
    ] {
        let expires = given.parse().unwrap();
        let entropy = Entropy::from_bytes([2; 32]);
        let nonce = StructuredNonce::issue(&provider, &consumer, None, expires, &key, &entropy);
        assert_eq!(nonce.structured().unwrap().expires().to_string(), kept);
    }
}
