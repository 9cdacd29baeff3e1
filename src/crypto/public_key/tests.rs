use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use super::*;
use crate::crypto::{Entropy, KeyPair, PemError, SigningKey as _, der::OCTET_STRING};

const RAW: [u8; 32] = *b"\xf1\x2e\x05\x4f\x5e\x44\x35\xb5\x07\x44\xfe\x8e\x9e\x4a\x58\x69\xf1\xe6\x1f\x21\xad\x3e\x3a\x3b\x68\x58\xbf\xd7\xcf\x5c\xd9\xa3";

fn read(der: &[u8]) -> Result<PublicKey, KeyError> {
    PublicKey::from_spki_der(der, &Policy::strict())
}

fn spki(oid: &[u8], parameters: &[u8], key: &[u8]) -> Vec<u8> {
    let identifier = element(SEQUENCE, &[&element(OBJECT_IDENTIFIER, &[oid]), parameters]);
    element(SEQUENCE, &[&identifier, &bit_string(key)])
}

#[test]
fn both_tenant_forms_give_the_same_key() {
    let key = PublicKey::from_tenant_field(&RAW, &Policy::strict()).unwrap();
    let pem = key.to_pem();
    assert_eq!(
        PublicKey::from_tenant_field(pem.as_bytes(), &Policy::strict()),
        Ok(key.clone())
    );
    assert_eq!(read(key.spki_der()), Ok(key.clone()));
    assert_eq!(
        PublicKey::from_known_spki_der(key.spki_der(), &Policy::strict()),
        Ok(key.clone())
    );
    assert_eq!(key.to_tenant_field(), RAW);
    assert!(format!("{key:?}").starts_with("PublicKey(Ed25519 SHA256:"));
}

#[test]
fn keys_have_the_same_hash_if_they_are_equal() {
    let hash = |key: &PublicKey| BuildHasherDefault::<DefaultHasher>::default().hash_one(key);
    let key = PublicKey::from_tenant_field(&RAW, &Policy::strict()).unwrap();
    let again = PublicKey::from_known_spki_der(key.spki_der(), &Policy::strict()).unwrap();
    assert_eq!(hash(&again), hash(&key));
    let other = KeyPair::from_entropy(&Entropy::from_bytes([1; 32]));
    assert_ne!(hash(other.public_key()), hash(&key));
}

#[test]
fn every_defect_of_the_tenant_field_has_its_name() {
    let policy = Policy::strict();
    let pem = PublicKey::from_tenant_field(&RAW, &policy)
        .unwrap()
        .to_pem();
    let text = |text: &str| text.as_bytes().to_vec();
    for (bytes, error) in [
        (vec![], KeyError::Empty),
        (vec![1; 31], KeyError::Length { found: 31 }),
        (vec![1; 33], KeyError::Length { found: 33 }),
        (
            vec![1; 4096],
            KeyError::TooLong {
                found: 4096,
                limit: 2048,
            },
        ),
        (
            text(&format!("{pem}{pem}")),
            KeyError::Pem(PemError::SecondBlock),
        ),
        (
            text(pem.trim_end()),
            KeyError::Pem(PemError::NoFinalNewline),
        ),
        (
            text(&pem.replace("PUBLIC KEY", "CERTIFICATE")),
            KeyError::Pem(PemError::Label {
                found: "CERTIFICATE".to_owned(),
                expected: "PUBLIC KEY",
            }),
        ),
    ] {
        assert_eq!(PublicKey::from_tenant_field(&bytes, &policy), Err(error));
    }
    assert!(PublicKey::from_pem(pem.trim_end().as_bytes(), &Policy::compatible()).is_ok());
}

#[test]
fn the_information_has_one_encoding() {
    let good = spki(ED25519_OID, &[], &RAW);
    assert!(read(&good).is_ok());
    let long = [&[0x30, 0x81, 42], &good[2..]].concat();
    let trailing = [&good[..], &[0]].concat();
    let mut unused_bits = good.clone();
    unused_bits[11] = 1;
    for (der, error) in [
        (long, KeyError::Der(DerError::Length)),
        (
            trailing,
            KeyError::Der(DerError::TrailingBytes { count: 1 }),
        ),
        (unused_bits, KeyError::Der(DerError::Content)),
        (good[..43].to_vec(), KeyError::Der(DerError::Truncated)),
        (
            spki(ED25519_OID, NULL, &RAW),
            KeyError::Parameters {
                algorithm: "Ed25519",
            },
        ),
        (
            spki(ED25519_OID, &[], &RAW[1..]),
            KeyError::Ed25519Length { found: 31 },
        ),
        (
            spki(RSA_OID, &[], &RAW),
            KeyError::Parameters { algorithm: "RSA" },
        ),
        (
            spki(EC_OID, NULL, &RAW),
            KeyError::Parameters { algorithm: "ECDSA" },
        ),
        (
            spki(&[0x2a, 0x86, 0x48, 0xce, 0x38, 4, 1], &[], &RAW),
            KeyError::Algorithm {
                oid: "1.2.840.10040.4.1".to_owned(),
            },
        ),
        (
            spki(
                EC_OID,
                &element(OBJECT_IDENTIFIER, &[&[0x2b, 0x81, 4, 0, 10]]),
                &RAW,
            ),
            KeyError::EcdsaCurve {
                oid: "1.3.132.0.10".to_owned(),
            },
        ),
        (
            spki(EC_OID, &element(OBJECT_IDENTIFIER, &[P256_OID]), &[3; 33]),
            KeyError::EcdsaPoint {
                algorithm: Algorithm::EcdsaP256,
            },
        ),
    ] {
        assert_eq!(read(&der), Err(error), "{der:x?}");
    }
    assert_eq!(
        read(&element(OCTET_STRING, &[&RAW])),
        Err(KeyError::Der(DerError::Unexpected {
            found: 4,
            expected: 0x30
        }))
    );
}

#[test]
fn rsa_numbers_are_checked_before_any_arithmetic() {
    let rsa = |leading: u8, modulus: &[u8], exponent: &[u8]| {
        let modulus = element(0x02, &[&[leading], modulus]);
        let key = element(SEQUENCE, &[&modulus, &element(0x02, &[exponent])]);
        read(&spki(RSA_OID, NULL, &key)).unwrap_err()
    };
    let size = |found| KeyError::RsaModulusBits {
        found,
        shortest: 2048,
        longest: 4096,
    };
    assert_eq!(rsa(0, &[0xff; 255], &[1, 0, 1]), size(2040));
    assert_eq!(rsa(0x7f, &[0xff; 255], &[1, 0, 1]), size(2047));
    assert_eq!(rsa(1, &[0xff; 512], &[1, 0, 1]), size(4097));
    assert_eq!(rsa(0, &[0xff; 513], &[1, 0, 1]), size(4104));
    assert_eq!(rsa(0, &[0xff; 256], &[1]), KeyError::RsaExponent);
    assert_eq!(rsa(0, &[0xff; 256], &[3]), KeyError::RsaExponent);
    assert_eq!(rsa(0, &[0xfe; 256], &[1, 0, 1]), KeyError::RsaModulusEven);
}

#[test]
fn nothing_follows_a_key() {
    let modulus = element(0x02, &[&[0], &[0xff; 256]]);
    let numbers = [&modulus[..], &element(0x02, &[&[1, 0, 1]])].concat();
    let key = element(SEQUENCE, &[&numbers]);
    let trailing = |count| KeyError::Der(DerError::TrailingBytes { count });
    let behind = [&key[..], &[0]].concat();
    assert_eq!(read(&spki(RSA_OID, NULL, &behind)), Err(trailing(1)));
    let inside = element(SEQUENCE, &[&numbers, NULL]);
    assert_eq!(read(&spki(RSA_OID, NULL, &inside)), Err(trailing(2)));
    let curve = element(OBJECT_IDENTIFIER, &[P256_OID]);
    for (oid, parameters, key) in [
        (RSA_OID, NULL, &key[..]),
        (EC_OID, &curve[..], &[4; 65][..]),
        (ED25519_OID, &[][..], &RAW[..]),
    ] {
        let algorithm = |more: &[u8]| {
            element(
                SEQUENCE,
                &[&element(OBJECT_IDENTIFIER, &[oid]), parameters, more],
            )
        };
        let more = element(SEQUENCE, &[&algorithm(&[]), &bit_string(key), NULL]);
        assert_eq!(read(&more), Err(trailing(2)));
        let more = element(SEQUENCE, &[&algorithm(NULL), &bit_string(key)]);
        assert!(matches!(read(&more), Err(KeyError::Parameters { .. })));
    }
}

#[test]
fn signatures_are_checked_for_length_and_scheme() {
    let key = PublicKey::from_tenant_field(&RAW, &Policy::strict()).unwrap();
    let verify = |scheme, signature: &[u8]| {
        key.verify(scheme, b"message", signature, &Policy::strict())
            .unwrap_err()
    };
    let scheme = SignatureScheme::Ed25519;
    for found in [0, 63, 65] {
        let error = SignatureError::Length {
            found,
            expected: 64,
        };
        assert_eq!(verify(scheme, &vec![0; found]), error);
    }
    assert_eq!(
        verify(scheme, &[0; 1025]),
        SignatureError::TooLong {
            found: 1025,
            limit: 1024
        }
    );
    // R is the identity, of small order.
    let mut small_order = [0; 64];
    small_order[0] = 1;
    assert_eq!(verify(scheme, &small_order), SignatureError::Mismatch);
    assert_eq!(
        verify(SignatureScheme::EcdsaSha256, &[0; 64]),
        SignatureError::Scheme {
            algorithm: Algorithm::Ed25519,
            scheme: SignatureScheme::EcdsaSha256
        }
    );
}

/// AWS-LC reads the compressed form as well.
#[cfg(feature = "ecdsa")]
#[test]
fn a_valid_point_in_another_form_is_refused() {
    use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};

    let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).unwrap();
    let point: &[u8] = pair.public_key().as_ref();
    let curve = element(OBJECT_IDENTIFIER, &[P256_OID]);
    let read_point = |point: &[u8]| read(&spki(EC_OID, &curve, point));
    assert!(read_point(point).is_ok());
    let is_odd = point[64] & 1;
    let compressed = [&[2 | is_odd][..], &point[1..33]].concat();
    let hybrid = [&[6 | is_odd][..], &point[1..]].concat();
    let algorithm = Algorithm::EcdsaP256;
    for other in [compressed, hybrid] {
        assert_eq!(read_point(&other), Err(KeyError::EcdsaPoint { algorithm }));
    }
}

/// ECDSA signs as many bits of the hash as the order of the curve has, and reads them as
/// a number (FIPS 186-5 section 6.4.1).
#[cfg(feature = "ecdsa")]
#[test]
fn an_ecdsa_key_verifies_signatures_over_each_hash() {
    use aws_lc_rs::{
        digest::{Digest, SHA256, SHA384, SHA512, digest},
        signature::{
            ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P384_SHA384_ASN1_SIGNING,
            ECDSA_P521_SHA512_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _,
        },
    };

    for (algorithm, curve, signing, own) in [
        (
            Algorithm::EcdsaP256,
            P256_OID,
            &ECDSA_P256_SHA256_ASN1_SIGNING,
            &SHA256,
        ),
        (
            Algorithm::EcdsaP384,
            P384_OID,
            &ECDSA_P384_SHA384_ASN1_SIGNING,
            &SHA384,
        ),
        (
            Algorithm::EcdsaP521,
            P521_OID,
            &ECDSA_P521_SHA512_ASN1_SIGNING,
            &SHA512,
        ),
    ] {
        let pair = EcdsaKeyPair::generate(signing).unwrap();
        let key = PublicKey::of_ecdsa(algorithm, curve, pair.public_key().as_ref()).unwrap();
        for (scheme, hash) in [
            (SignatureScheme::EcdsaSha256, &SHA256),
            (SignatureScheme::EcdsaSha384, &SHA384),
            (SignatureScheme::EcdsaSha512, &SHA512),
        ] {
            // AWS-LC signs only a digest that has the length of the curve's own hash.
            let length = own.output_len();
            let mut bits = vec![0; length.saturating_sub(hash.output_len())];
            bits.extend_from_slice(digest(hash, b"message").as_ref());
            bits.truncate(length);
            let bits = Digest::import_less_safe(&bits, own).unwrap();
            let signature = pair.sign_digest(&bits).unwrap();
            let verify = |message: &[u8]| {
                let signature = signature.as_ref();
                key.verify(scheme, message, signature, &Policy::strict())
            };
            assert_eq!(verify(b"message"), Ok(()), "{algorithm} {scheme}");
            assert_eq!(verify(b"Message"), Err(SignatureError::Mismatch));
        }
    }
}
