use core::convert::Infallible;

use rand_core::{TryCryptoRng, TryRng};

use super::*;
use crate::crypto::der::{OCTET_STRING, element};
use crate::crypto::{Nonce, Purpose};

/// A random number generator that only counts, which suffices for a test.
struct Counter(u32);

impl TryRng for Counter {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.0 += 1;
        Ok(self.0)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.try_next_u32().map(u64::from)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        for chunk in bytes.chunks_mut(4) {
            self.0 += 1;
            chunk.copy_from_slice(&self.0.to_be_bytes()[..chunk.len()]);
        }
        Ok(())
    }
}

impl TryCryptoRng for Counter {}

fn read(pem: &str) -> Result<KeyPair, KeyPairError> {
    KeyPair::from_pkcs8_pem(pem.as_bytes(), &Policy::strict())
}

/// Signs for every purpose, and verifies.
fn works(pair: &KeyPair) {
    let nonce = Nonce::random(&Entropy::from_bytes([1; 32]));
    let public = pair.public_key();
    for payload in [
        Payload::nonce(&nonce, public),
        Payload::of(Purpose::CertificationRequest, b"request", public),
        Payload::of(Purpose::Certificate, b"certificate", public),
        Payload::of(Purpose::Commitment, b"commitment", public),
    ] {
        let signature = pair.sign(&payload).unwrap().at_once().unwrap();
        let (scheme, message) = (payload.scheme(), payload.bytes());
        public
            .verify(scheme, message, &signature.0, &Policy::strict())
            .unwrap();
    }
    assert!(pair.verifies_its_signatures());
    let again = read(pair.to_pkcs8_pem().expose()).unwrap();
    assert_eq!(again.public_key(), public);
    assert_eq!(again.to_pkcs8_pem(), pair.to_pkcs8_pem());
    assert_eq!(again.client_key(), ClientKey::Pem(pair.to_pkcs8_pem()));
    assert!(!format!("{again:?}").contains("PRIVATE"));
    // The public key passes the rules for the keys of peers.
    let policy = Policy::strict();
    assert_eq!(
        PublicKey::from_spki_der(public.spki_der(), &policy).as_ref(),
        Ok(public)
    );
}

#[test]
fn an_ed25519_key_is_the_generators_and_ends_in_no_zero() {
    let mut rng = Counter(0);
    // One key in 256 ends in a zero byte, and is discarded.
    let redrawn = (0..3000).any(|_| {
        let before = rng.0;
        let pair = KeyPair::generate(Algorithm::Ed25519, &mut rng).unwrap();
        assert_ne!(pair.public_key().spki_der().last(), Some(&0));
        rng.0 - before > 8
    });
    assert!(redrawn);
    works(&KeyPair::generate(Algorithm::Ed25519, &mut Counter(7)).unwrap());
}

#[test]
fn a_derived_ed25519_key_that_ends_in_a_zero_is_passed_over() {
    let entropy = Entropy::from_bytes([0; 32]);
    let candidate = |counter: u8| {
        let seed = entropy.derive("Ed25519 private key", &[&[0, 0, 0, counter]]);
        KeyPair::of_seed(&seed)
    };
    assert!(candidate(0).is_none());
    assert_eq!(
        KeyPair::from_entropy(&entropy).public_key(),
        candidate(1).unwrap().public_key()
    );
}

#[test]
fn a_generator_that_only_repeats_itself_makes_no_key_that_ends_in_a_zero() {
    struct Stuck([u8; 32]);

    impl TryRng for Stuck {
        type Error = Infallible;

        fn try_next_u32(&mut self) -> Result<u32, Infallible> {
            Ok(0)
        }

        fn try_next_u64(&mut self) -> Result<u64, Infallible> {
            Ok(0)
        }

        fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
            bytes.copy_from_slice(&self.0);
            Ok(())
        }
    }

    impl TryCryptoRng for Stuck {}

    let generate = |seed| KeyPair::generate(Algorithm::Ed25519, &mut Stuck(seed));
    assert!(generate([1; 32]).is_ok());
    let seed = Entropy::from_bytes([0; 32]).derive("Ed25519 private key", &[&[0; 4]]);
    assert_eq!(generate(seed).unwrap_err(), KeyPairError::Random);
}

#[test]
fn an_ed25519_key_is_read_in_both_versions() {
    // RFC 8410 section 10.3.
    let v1 = "-----BEGIN PRIVATE KEY-----\n\
        MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n\
        -----END PRIVATE KEY-----\n";
    let v2 = "-----BEGIN PRIVATE KEY-----\n\
        MHICAQEwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n\
        oB8wHQYKKoZIhvcNAQkJFDEPDA1DdXJkbGUgQ2hhaXJzgSEAGb9ECWmEzf6FQbrB\n\
        Z9w7lshQhqowtrbLDFw4rXAxZuE=\n\
        -----END PRIVATE KEY-----\n";
    let key = read(v1).unwrap();
    assert_eq!(v1.len(), 119);
    assert_eq!(key.to_pkcs8_pem().expose(), v1);
    let other = read(v2).unwrap();
    assert_eq!(other.public_key(), key.public_key());
    assert_eq!(other.to_pkcs8_pem().expose(), v2);
}

#[test]
fn a_broken_key_is_refused_without_a_word_of_it() {
    use KeyPairError::*;
    let good = KeyPair::from_entropy(&Entropy::from_bytes([1; 32])).to_pkcs8_pem();
    let good = good.expose();
    let p192 = element(
        OBJECT_IDENTIFIER,
        &[&[0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 1]],
    );
    let information = |oid: &[u8], parameters: &[u8]| {
        let oid = element(OBJECT_IDENTIFIER, &[oid]);
        let identifier = element(SEQUENCE, &[&oid, parameters]);
        let key = element(OCTET_STRING, &[&[4, 1, 1]]);
        pem_block::write(
            LABEL,
            &element(SEQUENCE, &[&[INTEGER, 1, 0], &identifier, &key]),
        )
    };
    for (pem, error) in [
        ("x".repeat(8192), Pem(PemError::NoBlock)),
        (
            "x".repeat(8193),
            TooLong {
                found: 8193,
                limit: 8192,
            },
        ),
        (String::new(), Pem(PemError::NoBlock)),
        (
            good.replace("PRIVATE KEY", "EC PRIVATE KEY"),
            Pem(PemError::Label {
                found: "EC PRIVATE KEY".to_owned(),
                expected: LABEL,
            }),
        ),
        (format!("{good}{good}"), Pem(PemError::SecondBlock)),
        (
            pem_block::write(LABEL, &[0x30, 5, 2]),
            Der(DerError::Truncated),
        ),
        (
            information(&[0x2a, 3], &[]),
            Algorithm {
                oid: "1.2.3".to_owned(),
            },
        ),
        (
            information(ED25519_OID, &[]),
            Invalid {
                algorithm: "Ed25519",
            },
        ),
        (
            information(EC_OID, &p192),
            Public(KeyError::EcdsaCurve {
                oid: "1.2.840.10045.3.1.1".to_owned(),
            }),
        ),
    ] {
        assert_eq!(read(&pem).unwrap_err(), error, "{pem}");
    }
}

#[test]
fn sizes_that_are_not_made() {
    let algorithm = Algorithm::Rsa { bits: 1024 };
    let error = KeyPair::generate(algorithm, &mut Counter(0)).unwrap_err();
    assert_eq!(error, KeyPairError::Size { algorithm });
}

#[cfg(feature = "rsa")]
#[test]
fn rsa_keys_work_in_every_size() {
    for bits in [2048, 3072, 4096] {
        let algorithm = Algorithm::Rsa { bits };
        let pair = KeyPair::generate(algorithm, &mut Counter(0)).unwrap();
        assert_eq!(pair.public_key().algorithm(), algorithm);
        works(&pair);
    }
}

#[cfg(feature = "ecdsa")]
#[test]
fn ecdsa_keys_work_with_every_hash() {
    for algorithm in [
        Algorithm::EcdsaP256,
        Algorithm::EcdsaP384,
        Algorithm::EcdsaP521,
    ] {
        let pair = KeyPair::generate(algorithm, &mut Counter(0)).unwrap();
        assert_eq!(pair.public_key().algorithm(), algorithm);
        works(&pair);
    }
}

#[cfg(not(any(feature = "rsa", feature = "ecdsa")))]
#[test]
fn what_is_not_built_in_says_so() {
    for (algorithm, feature) in [
        (Algorithm::Rsa { bits: 2048 }, "rsa"),
        (Algorithm::EcdsaP384, "ecdsa"),
    ] {
        let error = KeyPair::generate(algorithm, &mut Counter(0)).unwrap_err();
        let expected = KeyError::FeatureNotEnabled { algorithm, feature };
        assert_eq!(error, KeyPairError::Public(expected));
    }
}

/// Signs the nonces of Liqo's vectors again: with PKCS#1 v1.5 and Ed25519, a key
/// and a message have only one signature.
fn signs_as_liqo(algorithm: &str) {
    use base64::{Engine, engine::general_purpose::STANDARD};

    let file: serde_json::Value = serde_json::from_str(include_str!(
        "../../../tests/vectors/liqo-1.2.0/functions.json"
    ))
    .unwrap();
    let vectors = file["vectors"].as_array().unwrap();
    let mut signed = 0;
    for vector in vectors {
        let text = |name: &str| vector[name].as_str().unwrap();
        if text("algorithm") != algorithm {
            continue;
        }
        let pair = read(text("privateKeyPEM")).unwrap();
        let nonce = Nonce::parse(text("nonce").as_bytes(), &Policy::strict()).unwrap();
        let signature = pair
            .sign(&Payload::nonce(&nonce, pair.public_key()))
            .unwrap()
            .at_once()
            .unwrap();
        let encoded = STANDARD.encode(&signature.0);
        assert_eq!(encoded, text("signature"), "{}", text("id"));
        signed += 1;
    }
    assert!(signed > 0);
}

#[test]
fn ed25519_signatures_are_liqos_byte_for_byte() {
    signs_as_liqo("Ed25519");
}

#[cfg(feature = "rsa")]
#[test]
fn rsa_signatures_are_liqos_byte_for_byte() {
    signs_as_liqo("RSA-2048");
}
