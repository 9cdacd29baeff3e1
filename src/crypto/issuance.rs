//! Whether one certificate was issued by another.

use super::{
    Algorithm, Certificate, SignatureScheme,
    der::{OBJECT_IDENTIFIER, Reader, SEQUENCE, single},
    public_key::{EC_OID, ED25519_OID, RSA_OID, ecdsa_curve},
};

/// How certain it is that an authority issued a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Issuance {
    /// It did not: names, key identifiers or the signature do not fit.
    No,
    /// Names and key identifiers fit; this build has no algorithm for the
    /// signature.
    NamesOnly,
    /// The signature fits.
    Verified,
}

impl Issuance {
    pub(super) fn of(certificate: &Certificate, authority: &Certificate) -> Self {
        let ((_, issuer), (subject, _)) = (certificate.names(), authority.names());
        let ((_, wanted), (own, _)) = (certificate.key_identifiers(), authority.key_identifiers());
        if issuer != subject || matches!((wanted, own), (Some(a), Some(b)) if a != b) {
            return Self::No;
        }
        let Some((signed, algorithm, signature)) = certificate.signed() else {
            return Self::No;
        };
        // RFC 5280 section 4.1.1.2: the algorithm is named inside as well.
        if inner_algorithm(signed) != Some(algorithm) {
            return Self::No;
        }
        verify(authority.spki_der(), algorithm, signed, signature).unwrap_or(Self::No)
    }
}

fn inner_algorithm(signed: &[u8]) -> Option<&[u8]> {
    let mut fields = Reader::new(single(signed, SEQUENCE).ok()?);
    // Version and serial number of a version 3 certificate come first.
    let first = fields.next().ok()?;
    if first.tag == super::der::CONTEXT_0 {
        fields.next().ok()?;
    }
    fields.expect(SEQUENCE).ok()
}

/// `None` if the key or the algorithm cannot be read.
fn verify(spki: &[u8], algorithm: &[u8], signed: &[u8], signature: &[u8]) -> Option<Issuance> {
    let mut information = Reader::new(single(spki, SEQUENCE).ok()?);
    let mut identifier = Reader::new(information.expect(SEQUENCE).ok()?);
    let kind = identifier.expect(OBJECT_IDENTIFIER).ok()?;
    let key = information.bit_string().ok()?;
    let verdict = match kind {
        ED25519_OID => {
            let identifier = single(SignatureScheme::Ed25519.identifier(), SEQUENCE).ok()?;
            if algorithm != identifier {
                return None;
            }
            let key = ed25519_dalek::VerifyingKey::from_bytes(key.try_into().ok()?).ok()?;
            let signature = ed25519_dalek::Signature::from_slice(signature).ok()?;
            Some(key.verify_strict(signed, &signature).is_ok())
        }
        RSA_OID => rsa(key, algorithm, signed, signature),
        EC_OID => {
            let curve = identifier.expect(OBJECT_IDENTIFIER).ok()?;
            let (curve, _) = ecdsa_curve(curve)?;
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

/// `None` if there is no algorithm for it.
#[cfg(feature = "rsa")]
fn rsa(key: &[u8], algorithm: &[u8], signed: &[u8], signature: &[u8]) -> Option<bool> {
    use aws_lc_rs::signature::{
        RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512,
        UnparsedPublicKey,
    };

    // sha256WithRSAEncryption and its two neighbours (RFC 4055 section 5).
    let mut identifier = Reader::new(algorithm);
    let [prefix @ .., hash] = identifier.expect(OBJECT_IDENTIFIER).ok()? else {
        return None;
    };
    let (verification, true) = (
        match hash {
            11 => &RSA_PKCS1_2048_8192_SHA256,
            12 => &RSA_PKCS1_2048_8192_SHA384,
            13 => &RSA_PKCS1_2048_8192_SHA512,
            _ => return None,
        },
        RSA_OID.strip_suffix(&[1]) == Some(prefix),
    ) else {
        return None;
    };
    Some(
        UnparsedPublicKey::new(verification, key)
            .verify(signed, signature)
            .is_ok(),
    )
}

#[cfg(not(feature = "rsa"))]
const fn rsa(_key: &[u8], _algorithm: &[u8], _signed: &[u8], _signature: &[u8]) -> Option<bool> {
    None
}

/// `None` if there is no algorithm for it.
#[cfg(feature = "ecdsa")]
fn ecdsa(
    curve: Algorithm,
    key: &[u8],
    algorithm: &[u8],
    signed: &[u8],
    signature: &[u8],
) -> Option<bool> {
    use SignatureScheme::{EcdsaSha256, EcdsaSha384, EcdsaSha512};

    let scheme = [EcdsaSha256, EcdsaSha384, EcdsaSha512]
        .into_iter()
        .find(|scheme| single(scheme.identifier(), SEQUENCE) == Ok(algorithm))?;
    let Some(key) = super::aws_lc::VerificationKey::ecdsa(curve, key) else {
        return Some(false);
    };
    Some(key.verify(scheme, signed, signature).is_ok())
}

#[cfg(not(feature = "ecdsa"))]
const fn ecdsa(
    _curve: Algorithm,
    _key: &[u8],
    _algorithm: &[u8],
    _signed: &[u8],
    _signature: &[u8],
) -> Option<bool> {
    None
}
