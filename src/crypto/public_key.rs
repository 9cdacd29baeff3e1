//! Public keys that have passed the rules for keys.

use core::hash;
use std::sync::{Arc, OnceLock};

use super::{
    Algorithm, DerError, Fingerprint, KeyError, SignatureError, SignatureScheme,
    der::{
        BIT_STRING, DottedOid, NULL, OBJECT_IDENTIFIER, Reader, SEQUENCE, bit_string, element,
        single, two_numbers,
    },
    ed25519::{self, VerifyingKey},
    pem_block,
    rsa_modulus::is_composite,
    verification_key::{VerificationKey, check_enabled},
};
use crate::policy::Policy;

/// A public key that has passed the rules for keys.
///
/// - Ed25519: in its canonical encoding, of neither small nor mixed order.
/// - RSA: a composite modulus of 2048 to 4096 bits, exponent 65537.
/// - ECDSA: a point of P-256, P-384 or P-521.
///
/// Two keys are equal if their SubjectPublicKeyInfos are equal. Cloning is cheap.
///
/// # Examples
/// ```
/// use liqo_auth::{crypto::{KeyError, PublicKey}, policy::Policy};
///
/// let pem = b"-----BEGIN PUBLIC KEY-----\n\
///     MCowBQYDK2VwAyEA8S4FT15ENbUHRP6OnkpYafHmHyGtPjo7aFi/189c2aM=\n\
///     -----END PUBLIC KEY-----\n";
/// let key = PublicKey::from_tenant_field(pem, &Policy::strict())?;
/// assert_eq!(key.to_pem().as_bytes(), pem);
/// assert_eq!(key.to_tenant_field().len(), 32);
///
/// let anyone_can_sign = PublicKey::from_tenant_field(&[0; 32], &Policy::strict());
/// assert_eq!(anyone_can_sign, Err(KeyError::Ed25519SmallOrder));
/// # Ok::<(), KeyError>(())
/// ```
#[derive(Clone, derive_more::Debug)]
#[debug("PublicKey({} {})", self.algorithm(), self.fingerprint())]
pub struct PublicKey(Arc<Inner>);

impl PublicKey {
    /// Reads `spec.publicKey` of a Tenant: the raw 32 bytes of an Ed25519 key
    /// (Liqo up to 1.0.1), or a PKIX key in PEM (since 1.0.2).
    ///
    /// # Errors
    /// [`KeyError`] says which rule the key breaks.
    pub fn from_tenant_field(bytes: &[u8], policy: &Policy) -> Result<Self, KeyError> {
        Self::from_spki_der(&Self::claimed_spki_der(bytes, policy)?, policy)
    }

    /// The SubjectPublicKeyInfo in DER from `spec.publicKey` of a Tenant. The key
    /// is not tested: a caller that only compares keys does not need the costly
    /// tests.
    pub(crate) fn claimed_spki_der(bytes: &[u8], policy: &Policy) -> Result<Vec<u8>, KeyError> {
        check_length(bytes, policy)?;
        if bytes.len() == RAW_ED25519 {
            return Ok([ED25519_PREFIX, bytes].concat());
        }
        if !bytes.windows(5).any(|window| window == b"-----") {
            return Err(KeyError::Length { found: bytes.len() });
        }
        Ok(pem_block::read_one(bytes, LABEL, policy.forms)?)
    }

    /// Reads a SubjectPublicKeyInfo in PEM, label `PUBLIC KEY` (RFC 7468
    /// section 13).
    ///
    /// # Errors
    /// [`KeyError`] says which rule the key breaks.
    pub fn from_pem(bytes: &[u8], policy: &Policy) -> Result<Self, KeyError> {
        check_length(bytes, policy)?;
        Self::from_spki_der(&pem_block::read_one(bytes, LABEL, policy.forms)?, policy)
    }

    /// Reads a SubjectPublicKeyInfo (RFC 5280 section 4.1) in DER.
    ///
    /// Reading an Ed25519 or ECDSA key takes microseconds. For an RSA key, the test
    /// that the modulus is composite takes about 4 ms for 2048 bits and 30 ms for
    /// 4096 bits.
    ///
    /// # Errors
    /// [`KeyError`] says which rule the key breaks.
    pub fn from_spki_der(der: &[u8], policy: &Policy) -> Result<Self, KeyError> {
        Self::read(der, policy, Admission::FirstSeen)
    }

    /// Reads a key that [`from_spki_der`](Self::from_spki_der) has accepted before.
    /// The order of an Ed25519 key and the modulus of an RSA key are not tested
    /// again, since the tests are slow. Call this function only for keys whose
    /// acceptance is in this cluster's own sealed records, for this cluster's own key,
    /// for the public half of a valid private key, and to verify a signature before the
    /// tests.
    pub(crate) fn from_known_spki_der(der: &[u8], policy: &Policy) -> Result<Self, KeyError> {
        Self::read(der, policy, Admission::Known)
    }

    /// As [`from_known_spki_der`](Self::from_known_spki_der), from PEM.
    pub(super) fn from_known_pem(bytes: &[u8], policy: &Policy) -> Result<Self, KeyError> {
        check_length(bytes, policy)?;
        Self::from_known_spki_der(&pem_block::read_one(bytes, LABEL, policy.forms)?, policy)
    }

    /// The SubjectPublicKeyInfo in DER.
    pub fn spki_der(&self) -> &[u8] {
        &self.0.spki_der
    }

    /// The SubjectPublicKeyInfo in PEM: lines of 64 characters, LF, one final
    /// newline, as Go's `pem.EncodeToMemory` writes it.
    pub fn to_pem(&self) -> String {
        pem_block::write(LABEL, self.spki_der())
    }

    /// The value for `spec.publicKey` of a Tenant: the raw key for Ed25519, which
    /// every version of Liqo accepts, and PEM for the other algorithms.
    pub fn to_tenant_field(&self) -> Vec<u8> {
        match &self.0.verifier {
            Verifier::Ed25519 { raw, .. } => raw.to_vec(),
            Verifier::Other(_) => self.to_pem().into_bytes(),
        }
    }

    /// The key's algorithm and size.
    pub fn algorithm(&self) -> Algorithm {
        self.0.algorithm
    }

    /// The SHA-256 of the SubjectPublicKeyInfo.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(self.spki_der())
    }

    /// The scheme with which this key signs a nonce.
    pub fn nonce_scheme(&self) -> SignatureScheme {
        self.algorithm().nonce_scheme()
    }

    /// The scheme with which this key signs a certificate signing request.
    pub(crate) fn csr_scheme(&self) -> SignatureScheme {
        self.algorithm().csr_scheme()
    }

    /// Verifies a signature by this key. Ed25519 is verified strictly; for ECDSA both
    /// `s` and `n - s` are accepted, as in Go.
    ///
    /// # Errors
    /// [`SignatureError`] says what is wrong with the signature.
    pub fn verify(
        &self,
        scheme: SignatureScheme,
        message: &[u8],
        signature: &[u8],
        policy: &Policy,
    ) -> Result<(), SignatureError> {
        let (found, limit) = (signature.len(), policy.limits.signature);
        if found > limit {
            return Err(SignatureError::TooLong { found, limit });
        }
        let algorithm = self.algorithm();
        if !algorithm.makes(scheme) {
            return Err(SignatureError::Scheme { algorithm, scheme });
        }
        match &self.0.verifier {
            Verifier::Ed25519 { raw, point } => {
                let expected = 64;
                let length = SignatureError::Length { found, expected };
                let signature = ed25519::Signature::from_slice(signature).map_err(|_| length)?;
                ed25519::verify(decompressed(raw, point)?, message, &signature)
            }
            Verifier::Other(key) => key.verify(scheme, message, signature),
        }
    }

    /// The public key for a verifying key that is known to have prime order.
    pub(super) fn of_ed25519(key: VerifyingKey) -> Self {
        Self::with_point(key.to_bytes(), key.into())
    }

    fn with_point(raw: [u8; RAW_ED25519], point: OnceLock<VerifyingKey>) -> Self {
        Self(Arc::new(Inner {
            spki_der: [ED25519_PREFIX, &raw].concat(),
            algorithm: Algorithm::Ed25519,
            verifier: Verifier::Ed25519 { raw, point },
        }))
    }

    fn read(der: &[u8], policy: &Policy, admission: Admission) -> Result<Self, KeyError> {
        check_length(der, policy)?;
        // The fast path for an Ed25519 key, which nearly every peer has.
        if let Some(Ok(raw)) = der.strip_prefix(ED25519_PREFIX).map(<&[u8; 32]>::try_from) {
            let point = match admission {
                Admission::FirstSeen => ed25519::verifying_key(raw)?.into(),
                Admission::Known => OnceLock::new(),
            };
            return Ok(Self::with_point(*raw, point));
        }
        let mut information = Reader::new(single(der, SEQUENCE)?);
        let mut identifier = Reader::new(information.expect(SEQUENCE)?);
        let oid = identifier.expect(OBJECT_IDENTIFIER)?;
        let parameters = identifier.rest();
        match oid {
            ED25519_OID => Err(why_not_ed25519(information, parameters)?),
            RSA_OID => Self::read_rsa(information, parameters, admission),
            EC_OID => Self::read_ecdsa(information, parameters),
            _ => Err(KeyError::Algorithm {
                oid: DottedOid(oid).to_string(),
            }),
        }
    }

    fn read_rsa(
        mut information: Reader<'_>,
        parameters: &[u8],
        admission: Admission,
    ) -> Result<Self, KeyError> {
        if parameters != NULL {
            return Err(KeyError::Parameters { algorithm: "RSA" });
        }
        let key = information.bit_string()?;
        information.end()?;
        // RFC 8017 appendix A.1.1.
        let [modulus, exponent] = two_numbers(key)?;
        let found = bits(modulus);
        if !(RSA_SHORTEST..=RSA_LONGEST).contains(&found) {
            return Err(KeyError::RsaModulusBits {
                found,
                shortest: RSA_SHORTEST,
                longest: RSA_LONGEST,
            });
        }
        if exponent != [1, 0, 1] {
            return Err(KeyError::RsaExponent);
        }
        if modulus.last().is_none_or(|byte| byte & 1 == 0) {
            return Err(KeyError::RsaModulusEven);
        }
        let algorithm = Algorithm::Rsa {
            bits: u32::try_from(found).unwrap_or(u32::MAX),
        };
        check_enabled(algorithm)?;
        if admission == Admission::FirstSeen && !is_composite(modulus) {
            return Err(KeyError::RsaModulusPrime);
        }
        let verifier = VerificationKey::parse(algorithm, key).ok_or(KeyError::RsaKey)?;
        Ok(Self::of_other(algorithm, rsa_spki(key), verifier))
    }

    fn read_ecdsa(mut information: Reader<'_>, parameters: &[u8]) -> Result<Self, KeyError> {
        let curve = single(parameters, OBJECT_IDENTIFIER)
            .map_err(|_| KeyError::Parameters { algorithm: "ECDSA" })?;
        let point = information.bit_string()?;
        information.end()?;
        let algorithm = ecdsa_curve(curve).ok_or_else(|| KeyError::EcdsaCurve {
            oid: DottedOid(curve).to_string(),
        })?;
        if !algorithm.is_uncompressed(point) {
            return Err(KeyError::EcdsaPoint { algorithm });
        }
        Self::of_ecdsa(algorithm, curve, point)
    }

    pub(super) fn of_ecdsa(
        algorithm: Algorithm,
        curve: &[u8],
        point: &[u8],
    ) -> Result<Self, KeyError> {
        check_enabled(algorithm)?;
        let key =
            VerificationKey::parse(algorithm, point).ok_or(KeyError::EcdsaPoint { algorithm })?;
        let oid = element(OBJECT_IDENTIFIER, &[EC_OID]);
        let curve = element(OBJECT_IDENTIFIER, &[curve]);
        let identifier = element(SEQUENCE, &[&oid, &curve]);
        let spki_der = element(SEQUENCE, &[&identifier, &bit_string(point)]);
        Ok(Self::of_other(algorithm, spki_der, key))
    }

    fn of_other(algorithm: Algorithm, spki_der: Vec<u8>, key: VerificationKey) -> Self {
        Self(Arc::new(Inner {
            spki_der,
            algorithm,
            verifier: Verifier::Other(key),
        }))
    }
}

impl PartialEq for PublicKey {
    fn eq(&self, other: &Self) -> bool {
        self.spki_der() == other.spki_der()
    }
}

impl Eq for PublicKey {}

impl hash::Hash for PublicKey {
    fn hash<H: hash::Hasher>(&self, state: &mut H) {
        self.spki_der().hash(state);
    }
}

// Invariant: `spki_der` is the canonical encoding of the key in `verifier`.
struct Inner {
    spki_der: Vec<u8>,
    algorithm: Algorithm,
    verifier: Verifier,
}

#[allow(clippy::large_enum_variant, reason = "it is behind an `Arc`")]
enum Verifier {
    /// The point of a known key is decompressed at the first verification, because
    /// most records are opened only to compare the key.
    Ed25519 {
        raw: [u8; RAW_ED25519],
        point: OnceLock<VerifyingKey>,
    },
    Other(VerificationKey),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Admission {
    FirstSeen,
    Known,
}

/// The SubjectPublicKeyInfo of an `RSAPublicKey`.
pub(super) fn rsa_spki(key: &[u8]) -> Vec<u8> {
    let oid = element(OBJECT_IDENTIFIER, &[RSA_OID]);
    let identifier = element(SEQUENCE, &[&oid, NULL]);
    element(SEQUENCE, &[&identifier, &bit_string(key)])
}

/// The algorithm of a curve.
pub(super) fn ecdsa_curve(oid: &[u8]) -> Option<Algorithm> {
    match oid {
        P256_OID => Some(Algorithm::EcdsaP256),
        P384_OID => Some(Algorithm::EcdsaP384),
        P521_OID => Some(Algorithm::EcdsaP521),
        _ => None,
    }
}

/// The object identifier of an ECDSA algorithm's curve.
#[cfg(feature = "ecdsa")]
pub(super) const fn ecdsa_curve_oid(algorithm: Algorithm) -> &'static [u8] {
    match algorithm {
        Algorithm::EcdsaP384 => P384_OID,
        Algorithm::EcdsaP521 => P521_OID,
        _ => P256_OID,
    }
}

/// id-Ed25519, 1.3.101.112 (RFC 8410).
pub(super) const ED25519_OID: &[u8] = &[0x2b, 0x65, 0x70];
/// rsaEncryption, 1.2.840.113549.1.1.1 (RFC 8017).
pub(super) const RSA_OID: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1];
/// id-ecPublicKey, 1.2.840.10045.2.1 (RFC 5480).
pub(super) const EC_OID: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1];
pub(super) const P256_OID: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7];
pub(super) const P384_OID: &[u8] = &[0x2b, 0x81, 0x04, 0, 34];
pub(super) const P521_OID: &[u8] = &[0x2b, 0x81, 0x04, 0, 35];

const LABEL: &str = "PUBLIC KEY";
const RSA_SHORTEST: usize = 2048;
const RSA_LONGEST: usize = 4096;
/// The length of a raw Ed25519 key.
const RAW_ED25519: usize = 32;
/// An Ed25519 SubjectPublicKeyInfo up to the key (RFC 8410 section 4).
const ED25519_PREFIX: &[u8] = &[0x30, 42, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, BIT_STRING, 33, 0];

fn decompressed<'p>(
    raw: &[u8; RAW_ED25519],
    point: &'p OnceLock<VerifyingKey>,
) -> Result<&'p VerifyingKey, SignatureError> {
    if let Some(point) = point.get() {
        return Ok(point);
    }
    let read = VerifyingKey::from_bytes(raw).map_err(|_| SignatureError::Mismatch)?;
    Ok(point.get_or_init(|| read))
}

fn check_length(bytes: &[u8], policy: &Policy) -> Result<(), KeyError> {
    let limit = policy.limits.public_key;
    match bytes.len() {
        0 => Err(KeyError::Empty),
        found if found > limit => Err(KeyError::TooLong { found, limit }),
        _ => Ok(()),
    }
}

fn why_not_ed25519(mut information: Reader<'_>, parameters: &[u8]) -> Result<KeyError, DerError> {
    if !parameters.is_empty() {
        let algorithm = "Ed25519";
        return Ok(KeyError::Parameters { algorithm });
    }
    let key = information.bit_string()?;
    information.end()?;
    Ok(match key.len() {
        RAW_ED25519 => DerError::Content.into(),
        found => KeyError::Ed25519Length { found },
    })
}

fn bits(magnitude: &[u8]) -> usize {
    let unused = magnitude.first().map_or(0, |byte| byte.leading_zeros());
    (8 * magnitude.len()).saturating_sub(usize::try_from(unused).unwrap_or(0))
}

#[cfg(test)]
mod tests;
