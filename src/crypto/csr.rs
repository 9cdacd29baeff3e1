//! Certificate signing requests (RFC 2986). To verify a request, the library builds
//! the expected one and compares.

use std::sync::OnceLock;

use sha2::{Digest, Sha256};

use super::{
    Answer, BoxError, DerError, Fingerprint, Payload, PemError, PublicKey, Purpose, RequestId,
    SignatureError, SigningKey, Subject, csr_diagnosis,
    der::{CONTEXT_0, INTEGER, Reader, SEQUENCE, bit_string, element, single},
    name::Name,
    pem_block, sign_verified,
};
use crate::{
    model::ClusterId,
    policy::{Forms, Policy},
};

/// A request that this library has made or verified. It contains one subject and
/// one key, is signed by that key, and contains nothing else.
///
/// ```text
/// CertificationRequest ::= SEQUENCE {
///     SEQUENCE { version 0, subject, subjectPKInfo, attributes [0] {} },
///     signatureAlgorithm, signature BIT STRING }
/// ```
///
/// # Examples
/// ```
/// use liqo_auth::{
///     crypto::{Csr, Entropy, KeyPair, SigningKey, Subject},
///     policy::Policy,
/// };
///
/// let key = KeyPair::from_entropy(&Entropy::from_bytes([7; 32]));
/// let subject = Subject::control_plane(&"cl-consumer".parse()?);
/// let csr = Csr::make(&subject, &key)?.at_once()?;
/// let verified = Csr::verify(csr.pem(), &subject, key.public_key(), &Policy::strict())?;
/// assert_eq!(verified, csr);
///
/// let other = Subject::control_plane(&"cl01".parse()?);
/// let error = Csr::verify(csr.pem(), &other, key.public_key(), &Policy::strict());
/// assert_eq!(
///     error.unwrap_err().to_string(),
///     "the request's subject is \"O=liqo.io, CN=cl-consumer\", not \"O=liqo.io, CN=cl01\"",
/// );
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[derive(Clone, derive_more::Debug)]
#[debug("Csr({})", Fingerprint::of(der))]
pub struct Csr {
    pem: Vec<u8>,
    der: Vec<u8>,
    /// The digest, computed at its first use. A handshake reads it about twenty
    /// times.
    digest: OnceLock<[u8; 32]>,
}

/// Why a text is not the expected certificate signing request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, derive_more::From)]
#[non_exhaustive]
pub enum CsrError {
    /// The request is empty.
    #[error("the request is empty")]
    Empty,
    /// The request is longer than the policy allows.
    #[error("the request has {found} bytes, expected at most {limit}")]
    TooLong {
        /// The length found, in bytes.
        found: usize,
        /// The longest length allowed.
        limit: usize,
    },
    /// The PEM is not one block `CERTIFICATE REQUEST` in a form that the policy
    /// accepts.
    #[error("the request cannot be read: {0}")]
    #[from(PemError)]
    Pem(PemError),
    /// The DER is not that of a request.
    #[error("the request cannot be read: {0}")]
    #[from(DerError)]
    Der(DerError),
    /// The version is not 0.
    #[error("the request's version is not 0 (v1)")]
    Version,
    /// The subject is another one, or has additional attributes.
    #[error("the request's subject is \"{found}\", not \"{expected}\"")]
    Subject {
        /// The subject that the request must have.
        expected: String,
        /// The subject found, escaped and shortened.
        found: String,
    },
    /// The subject has the right text, in a string type that the policy refuses.
    #[error("the request's subject is encoded as {found}, not as {expected}")]
    StringType {
        /// The expected type.
        expected: &'static str,
        /// The type found.
        found: &'static str,
    },
    /// The subject has the right text, but CN comes before O.
    #[error("the request's subject has CN before O")]
    SubjectOrder,
    /// The request is for another key.
    #[error("the request is for the key {found}, not for {expected}")]
    Key {
        /// The fingerprint of the key that it must be for.
        expected: Fingerprint,
        /// The fingerprint of the key found.
        found: Fingerprint,
    },
    /// The request's key breaks a rule for keys.
    #[error("the request's key is refused: {0}")]
    PublicKey(super::KeyError),
    /// The attributes field is missing. It has to be present, with an empty set.
    #[error("the request has no attributes field, expected an empty set")]
    AttributesMissing,
    /// The request has attributes, such as requested extensions.
    #[error("the request has attributes: {found}")]
    Attributes {
        /// The object identifiers of the first eight, dotted.
        found: String,
    },
    /// The request names another signature algorithm than that of its key.
    #[error("the request's signature algorithm is {found}, not {expected}")]
    SignatureAlgorithm {
        /// The object identifier found, dotted.
        found: String,
        /// The scheme of the key.
        expected: super::SignatureScheme,
    },
    /// The request's self-signature does not verify.
    #[error("the request is not signed by its key: {0}")]
    SelfSignature(SignatureError),
}

impl Csr {
    /// Makes the request for this subject and key, byte for byte as Go's
    /// `x509.CreateCertificateRequest` does. With Ed25519 and RSA, the request is
    /// the same each time; with ECDSA it is not. If a key answers later, every call
    /// asks it for the same signature.
    ///
    /// # Errors
    /// The key's error, or a [`SignatureError`] if the key returned a wrong
    /// signature.
    pub fn make(subject: &Subject, key: &dyn SigningKey) -> Result<Answer<Self>, BoxError> {
        Self::signed(subject, key, None)
    }

    /// The same request, and the key learns for which peer it is made.
    pub(crate) fn make_for(
        peer: &ClusterId,
        subject: &Subject,
        key: &dyn SigningKey,
    ) -> Result<Answer<Self>, BoxError> {
        Self::signed(subject, key, Some(peer))
    }

    fn signed(
        subject: &Subject,
        key: &dyn SigningKey,
        peer: Option<&ClusterId>,
    ) -> Result<Answer<Self>, BoxError> {
        let public_key = key.public_key();
        let information = canonical_information(subject, public_key);
        let payload =
            Payload::of(Purpose::CertificationRequest, &information, public_key).for_peer(peer);
        Ok(sign_verified(key, &payload)?.map(|signature| {
            let signature = bit_string(&signature.0);
            let algorithm = payload.scheme().identifier();
            let der = element(SEQUENCE, &[&information, algorithm, &signature]);
            Self::new(pem_block::write(LABEL, &der).into_bytes(), der)
        }))
    }

    /// The ID of the signature that [`make`](Self::make) asks the key for.
    pub(crate) fn signature_id(subject: &Subject, key: &PublicKey) -> RequestId {
        let information = canonical_information(subject, key);
        Payload::of(Purpose::CertificationRequest, &information, key).id()
    }

    /// Verifies that a text is the request for this subject and key, signed by the
    /// key.
    ///
    /// The library builds the expected request and compares byte for byte. With the
    /// compatible policy, it builds four requests: each string type in each order.
    ///
    /// # Errors
    /// [`CsrError`] names the difference.
    pub fn verify(
        pem: &[u8],
        subject: &Subject,
        key: &PublicKey,
        policy: &Policy,
    ) -> Result<Self, CsrError> {
        let der = read(pem, policy)?;
        let mut request = Reader::new(single(&der, SEQUENCE)?);
        let found = request.next()?.raw;
        if !subject
            .encodings(policy.forms)
            .iter()
            .any(|name| information(name, key) == found)
        {
            return Err(csr_diagnosis::of_information(found, subject, key));
        }
        Self::verify_signature(request, found, key, policy)?;
        Ok(Self::of(pem, der, policy))
    }

    /// The request that was read from a text, in canonical PEM.
    fn of(pem: &[u8], der: Vec<u8>, policy: &Policy) -> Self {
        let pem = match policy.forms {
            Forms::Canonical => pem.to_vec(),
            Forms::Compatible => pem_block::write(LABEL, &der).into_bytes(),
        };
        Self::new(pem, der)
    }

    fn new(pem: Vec<u8>, der: Vec<u8>) -> Self {
        let digest = OnceLock::new();
        Self { pem, der, digest }
    }

    /// Verifies the signature algorithm and the signature, which follow the signed
    /// information.
    fn verify_signature(
        mut request: Reader<'_>,
        information: &[u8],
        key: &PublicKey,
        policy: &Policy,
    ) -> Result<(), CsrError> {
        let scheme = key.csr_scheme();
        let algorithm = request.next()?;
        if algorithm.raw != scheme.identifier() {
            return Err(csr_diagnosis::of_algorithm(algorithm.content, scheme));
        }
        let signature = request.bit_string()?;
        request.end()?;
        key.verify(scheme, information, signature, policy)
            .map_err(CsrError::SelfSignature)
    }

    /// Reads a request without an expected subject and key, and verifies that its own
    /// key signed it. The approver of the request is responsible for both.
    pub(super) fn as_claimed(pem: &[u8], policy: &Policy) -> Result<(Self, PublicKey), CsrError> {
        let der = read(pem, policy)?;
        let (_, spki) = name_and_key(&der)?;
        let key = PublicKey::from_spki_der(spki, policy).map_err(CsrError::PublicKey)?;
        let mut request = Reader::new(single(&der, SEQUENCE)?);
        let information = request.next()?.raw;
        Self::verify_signature(request, information, &key, policy)?;
        Ok((Self::of(pem, der, policy), key))
    }

    /// The key in a request, for messages that do not contain the key separately. The
    /// request itself is not verified. The key is checked by the rules for keys; the
    /// slow tests of these rules are omitted for a known key.
    ///
    /// # Errors
    /// [`CsrError`] if the text is not a request, [`CsrError::PublicKey`] if the
    /// key breaks a rule.
    pub(crate) fn claimed_key(
        pem: &[u8],
        is_known: bool,
        policy: &Policy,
    ) -> Result<PublicKey, CsrError> {
        let der = read(pem, policy)?;
        let (_, spki) = name_and_key(&der)?;
        match is_known {
            true => PublicKey::from_known_spki_der(spki, policy),
            false => PublicKey::from_spki_der(spki, policy),
        }
        .map_err(CsrError::PublicKey)
    }

    /// The request in this text, if its [`digest`](Self::digest) is this one. The
    /// caller passes the digest of a request whose verification is recorded.
    pub(crate) fn recognize(pem: &[u8], digest: &[u8; 32], policy: &Policy) -> Option<Self> {
        let csr = Self::of(pem, read(pem, policy).ok()?, policy);
        (csr.digest() == *digest).then_some(csr)
    }

    /// The request in canonical PEM, for a signer.
    pub fn pem(&self) -> &[u8] {
        &self.pem
    }

    /// The SHA-256 of the request in DER.
    pub fn digest(&self) -> [u8; 32] {
        *self.digest.get_or_init(|| Sha256::digest(&self.der).into())
    }

    /// The `Name` of the request in DER, if the request is for this subject and key.
    /// Everything else was compared when the request was made or verified.
    pub(super) fn name_for(&self, subject: &Subject, key: &PublicKey) -> Option<&[u8]> {
        let (raw, spki) = name_and_key(&self.der).ok()?;
        let name = Name::read(single(raw, SEQUENCE).ok()?).ok()?;
        (subject.matches_name(&name) && spki == key.spki_der()).then_some(raw)
    }

    /// The `Name` of the request in DER. Only its tag is verified.
    pub(super) fn name(&self) -> Option<&[u8]> {
        name_and_key(&self.der).ok().map(|(name, _)| name)
    }
}

impl PartialEq for Csr {
    fn eq(&self, other: &Self) -> bool {
        (&self.pem, &self.der) == (&other.pem, &other.der)
    }
}

impl Eq for Csr {}

const LABEL: &str = "CERTIFICATE REQUEST";

/// The DER of a request in PEM.
fn read(pem: &[u8], policy: &Policy) -> Result<Vec<u8>, CsrError> {
    let limit = policy.limits.csr;
    match pem.len() {
        0 => Err(CsrError::Empty),
        found if found > limit => Err(CsrError::TooLong { found, limit }),
        _ => Ok(pem_block::read_one(pem, LABEL, policy.forms)?),
    }
}

/// The `Name` and the SubjectPublicKeyInfo in a request, which are not verified.
fn name_and_key(der: &[u8]) -> Result<(&[u8], &[u8]), DerError> {
    let mut information = Reader::new(Reader::new(single(der, SEQUENCE)?).expect(SEQUENCE)?);
    information.expect(INTEGER)?;
    let name = information.next()?.raw;
    single(name, SEQUENCE)?;
    Ok((name, information.next()?.raw))
}

/// The CertificationRequestInfo of the canonical request.
fn canonical_information(subject: &Subject, key: &PublicKey) -> Vec<u8> {
    subject
        .encodings(Forms::Canonical)
        .first()
        .map(|name| information(name, key))
        .unwrap_or_default()
}

/// The CertificationRequestInfo (RFC 2986 section 4.1) for this name and key.
fn information(name: &[u8], key: &PublicKey) -> Vec<u8> {
    element(
        SEQUENCE,
        &[&[INTEGER, 1, 0], name, key.spki_der(), &[CONTEXT_0, 0]],
    )
}

#[cfg(test)]
mod tests;
