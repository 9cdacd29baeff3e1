use super::*;
use crate::crypto::{Entropy, KeyPair, SignatureError, SigningKey};

fn key(seed: u8) -> KeyPair {
    KeyPair::from_entropy(&Entropy::from_bytes([seed; 32]))
}

fn nonce(seed: u8) -> Nonce {
    Nonce::random(&Entropy::from_bytes([seed; 32]))
}

fn holds(old: &KeyPair, new: &KeyPair) {
    let policy = Policy::strict();
    let (provider, consumer) = ("cl02".parse().unwrap(), "cl01".parse().unwrap());
    let (first, second) = (nonce(8), nonce(9));
    let third = key(7);
    let succeeding = Succeeding {
        provider: &provider,
        consumer: &consumer,
        successor: new.public_key().spki_der(),
        nonce: &first,
    };
    let made = succeeding.sign(old).unwrap().at_once().unwrap();
    let read = KeyAndSignature::from_annotation(&made.to_annotation(), &policy).unwrap();
    assert_eq!(read, made);
    assert_eq!(succeeding.verify(&read, old.public_key(), &policy), Ok(()));

    let others = [
        Succeeding {
            provider: &consumer,
            ..succeeding
        },
        Succeeding {
            consumer: &provider,
            ..succeeding
        },
        Succeeding {
            successor: third.public_key().spki_der(),
            ..succeeding
        },
        Succeeding {
            nonce: &second,
            ..succeeding
        },
    ];
    for other in others {
        assert_eq!(
            other.verify(&read, old.public_key(), &policy),
            Err(SuccessionFault::Signature(SignatureError::Mismatch)),
            "{other:?}",
        );
    }
    assert_eq!(
        succeeding.verify(&read, third.public_key(), &policy),
        Err(SuccessionFault::OtherKey)
    );
    let mut forged = succeeding.sign(new).unwrap().at_once().unwrap();
    forged.key = old.public_key().spki_der().to_vec();
    assert!(matches!(
        succeeding.verify(&forged, old.public_key(), &policy),
        Err(SuccessionFault::Signature(_))
    ));
}

#[test]
fn a_succession_holds_for_what_it_is_about() {
    holds(&key(1), &key(2));
}

#[cfg(feature = "ecdsa")]
#[test]
fn keys_of_two_algorithms_may_follow_each_other() {
    use crate::crypto::Algorithm::EcdsaP256;

    let ecdsa = KeyPair::generate(EcdsaP256, &mut getrandom::SysRng).unwrap();
    holds(&key(1), &ecdsa);
    holds(&ecdsa, &key(2));
}

#[test]
fn what_cannot_be_read_is_refused() {
    let policy = Policy::strict();
    let long = format!("AA==.{}", "A".repeat(100_000));
    for text in ["", ".x", "AA==", "A.AA==", "AA==.AA==.", &long] {
        assert_eq!(
            KeyAndSignature::from_annotation(text, &policy),
            None,
            "{text}"
        );
    }
}
