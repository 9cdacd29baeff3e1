//! Private keys in memory, the default implementation of a signing key.

use rand_core::TryCryptoRng;
use zeroize::Zeroizing;

use super::{
    Algorithm, Answer, BoxError, ClientKey, DerError, Entropy, KeyError, Payload, PemError,
    PublicKey, Signature, SignatureScheme, SigningKey,
    der::{DottedOid, INTEGER, OBJECT_IDENTIFIER, Reader, SEQUENCE, single},
    ed25519, pem_block,
    public_key::{EC_OID, ED25519_OID, RSA_OID, ecdsa_curve},
    signing_key::Signer,
    verification_key::feature_of,
};
use crate::{model::SecretText, policy::Policy};

/// A private key in memory with its public half.
///
/// The private key is wiped on drop, and `Debug` shows only the public half.
///
/// # Examples
/// ```
/// use liqo_auth::{crypto::{Entropy, KeyPair, SigningKey}, policy::Policy};
///
/// let key = KeyPair::from_entropy(&Entropy::from_bytes([7; 32]));
/// let pem = key.to_pkcs8_pem();
/// assert_eq!(pem.expose().len(), 119); // as Go writes it
/// let again = KeyPair::from_pkcs8_pem(pem.expose().as_bytes(), &Policy::strict())?;
/// assert_eq!(again.public_key(), key.public_key());
/// # Ok::<(), liqo_auth::crypto::KeyPairError>(())
/// ```
#[derive(derive_more::Debug)]
#[debug("KeyPair {{ public: {public:?}, .. }}")]
pub struct KeyPair {
    private: Box<dyn Signer>,
    public: PublicKey,
    pem: SecretText,
}

/// Why a [`KeyPair`] could not be read or made. The error never shows a part of a
/// private key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, derive_more::From)]
#[non_exhaustive]
pub enum KeyPairError {
    /// The text is longer than any private key.
    #[error("the private key has {found} bytes, expected at most {limit}")]
    TooLong {
        /// The length found, in bytes.
        found: usize,
        /// The longest length allowed.
        limit: usize,
    },
    /// The PEM is not one block `PRIVATE KEY` in a form that the policy accepts.
    #[error("the private key cannot be read: {0}")]
    #[from(PemError)]
    Pem(PemError),
    /// The DER is not that of a PKCS#8 key (RFC 5208, RFC 5958).
    #[error("the private key is not PKCS#8: {0}")]
    #[from(DerError)]
    Der(DerError),
    /// The algorithm is not Ed25519, RSA or ECDSA.
    #[error("the private key has the algorithm {oid}, expected Ed25519, RSA or ECDSA")]
    Algorithm {
        /// The algorithm's object identifier, dotted.
        oid: String,
    },
    /// The private key is not valid for its algorithm, or does not match the public
    /// key in the same PKCS#8.
    #[error("the private key is not a valid {algorithm} key")]
    Invalid {
        /// Ed25519, RSA or ECDSA.
        algorithm: &'static str,
    },
    /// The public half breaks a rule.
    #[error("the key is refused: {0}")]
    Public(KeyError),
    /// The library does not generate RSA keys of this size, only of 2048, 3072 or
    /// 4096 bits.
    #[error("cannot generate an {algorithm} key; an RSA key has 2048, 3072 or 4096 bits")]
    Size {
        /// The algorithm asked for.
        algorithm: Algorithm,
    },
    /// The random number generator failed, or only repeats itself.
    #[error("the random number generator failed")]
    Random,
}

impl KeyPair {
    /// Makes a key.
    ///
    /// Ed25519 keys come from `rng`. A key whose public half ends in a zero byte is
    /// discarded, since Liqo up to 1.0.1 refuses such keys. AWS-LC makes RSA and
    /// ECDSA keys with its own random number generator and does not use `rng`.
    ///
    /// # Errors
    /// [`KeyPairError::Random`], [`KeyPairError::Size`], or a
    /// [`KeyError::FeatureNotEnabled`] in [`KeyPairError::Public`].
    pub fn generate<R: TryCryptoRng + ?Sized>(
        algorithm: Algorithm,
        rng: &mut R,
    ) -> Result<Self, KeyPairError> {
        if algorithm != Algorithm::Ed25519 {
            return generate_by_aws_lc(algorithm);
        }
        for _ in 0..=u8::MAX {
            let mut seed = Zeroizing::new([0; 32]);
            rng.try_fill_bytes(seed.as_mut())
                .map_err(|_| KeyPairError::Random)?;
            if let Some(pair) = Self::of_seed(&seed) {
                return Ok(pair);
            }
        }
        Err(KeyPairError::Random)
    }

    /// The Ed25519 key that is derived from this entropy, by the same rules as in
    /// [`generate`](Self::generate).
    pub fn from_entropy(entropy: &Entropy) -> Self {
        Self::derive(entropy, 0)
    }

    /// The key of this counter or, if that key is discarded, of a later one.
    fn derive(entropy: &Entropy, counter: u32) -> Self {
        let seed = Zeroizing::new(entropy.derive("Ed25519 private key", &[&counter.to_be_bytes()]));
        Self::of_seed(&seed).unwrap_or_else(|| Self::derive(entropy, counter + 1))
    }

    /// Reads a key in PKCS#8 PEM: Ed25519 in version 1 or 2, RSA of 2048 to
    /// 4096 bits, ECDSA on P-256, P-384 or P-521.
    ///
    /// # Errors
    /// [`KeyPairError`] says what is wrong.
    pub fn from_pkcs8_pem(pem: &[u8], policy: &Policy) -> Result<Self, KeyPairError> {
        let (found, limit) = (pem.len(), LONGEST);
        if found > limit {
            return Err(KeyPairError::TooLong { found, limit });
        }
        let der = pem_block::read_secret(pem, LABEL, policy.forms)?;
        let mut information = Reader::new(single(&der, SEQUENCE)?);
        information.expect(INTEGER)?;
        let mut identifier = Reader::new(information.expect(SEQUENCE)?);
        let oid = identifier.expect(OBJECT_IDENTIFIER)?;
        match oid {
            ED25519_OID => {
                let key = ed25519::read_pkcs8(&der).ok_or(KeyPairError::Invalid {
                    algorithm: "Ed25519",
                })?;
                Self::of_ed25519(&key, &der)
            }
            RSA_OID => read_rsa(&der),
            EC_OID => {
                let curve = identifier.expect(OBJECT_IDENTIFIER)?;
                let algorithm = ecdsa_curve(curve).ok_or_else(|| {
                    KeyPairError::Public(KeyError::EcdsaCurve {
                        oid: DottedOid(curve).to_string(),
                    })
                })?;
                read_ecdsa(algorithm, curve, &der)
            }
            _ => Err(KeyPairError::Algorithm {
                oid: DottedOid(oid).to_string(),
            }),
        }
    }

    /// The private key in PKCS#8 PEM. A key that was read keeps its DER encoding.
    pub fn to_pkcs8_pem(&self) -> SecretText {
        self.pem.clone()
    }

    /// `None` if the public half ends in a zero byte.
    fn of_seed(seed: &[u8; 32]) -> Option<Self> {
        let key = ed25519::SigningKey::from_bytes(seed);
        if key.verifying_key().as_bytes().last() == Some(&0) {
            return None;
        }
        let der = Zeroizing::new([ED25519_PKCS8_PREFIX, seed].concat());
        Self::of_ed25519(&key, &der).ok()
    }

    fn of_ed25519(key: &ed25519::SigningKey, der: &[u8]) -> Result<Self, KeyPairError> {
        // A public key that was computed from a private key has prime order.
        let public = PublicKey::of_ed25519(key.verifying_key());
        #[cfg(not(feature = "aws-lc-rs"))]
        let private = key.clone();
        #[cfg(feature = "aws-lc-rs")]
        let private = aws_lc_rs::signature::Ed25519KeyPair::from_seed_and_public_key(
            Zeroizing::new(key.to_bytes()).as_ref(),
            key.verifying_key().as_bytes(),
        )
        .map_err(|_| KeyPairError::Invalid {
            algorithm: "Ed25519",
        })?;
        Self::of(private, public, der)
    }

    fn of(
        private: impl Signer + 'static,
        public: PublicKey,
        der: &[u8],
    ) -> Result<Self, KeyPairError> {
        Ok(Self {
            private: Box::new(private),
            public,
            pem: pem_block::write_secret(LABEL, der)?,
        })
    }
}

impl SigningKey for KeyPair {
    fn public_key(&self) -> &PublicKey {
        &self.public
    }

    fn sign(&self, payload: &Payload<'_>) -> Result<Answer<Signature>, BoxError> {
        let (scheme, message) = (payload.scheme(), payload.bytes());
        match self.private.sign(scheme, message)? {
            Some(signature) => Ok(Answer::Ready(Signature(signature))),
            None => {
                let algorithm = self.public.algorithm();
                Err(super::SignatureError::Scheme { algorithm, scheme }.into())
            }
        }
    }

    fn client_key(&self) -> ClientKey {
        ClientKey::Pem(self.to_pkcs8_pem())
    }

    /// The signatures are made in this process, with a key that was checked when it
    /// was read, so they do not need verification. AWS-LC itself verifies its RSA
    /// signatures.
    fn verifies_its_signatures(&self) -> bool {
        true
    }
}

#[cfg(not(feature = "aws-lc-rs"))]
impl Signer for ed25519::SigningKey {
    fn sign(&self, scheme: SignatureScheme, message: &[u8]) -> Result<Option<Vec<u8>>, BoxError> {
        let is_own = scheme == SignatureScheme::Ed25519;
        is_own.then(|| ed25519::sign(self, message)).transpose()
    }
}

#[cfg(feature = "aws-lc-rs")]
impl Signer for aws_lc_rs::signature::Ed25519KeyPair {
    fn sign(&self, scheme: SignatureScheme, message: &[u8]) -> Result<Option<Vec<u8>>, BoxError> {
        if scheme != SignatureScheme::Ed25519 {
            return Ok(None);
        }
        Ok(Some(self.try_sign(message)?.as_ref().to_vec()))
    }
}

/// An Ed25519 key in PKCS#8 up to its 32 bytes: RFC 8410 section 7, version 1 without
/// the public key, as Go writes it.
const ED25519_PKCS8_PREFIX: &[u8] = &[
    0x30, 46, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 34, 4, 32,
];
const LABEL: &str = "PRIVATE KEY";
/// An RSA key of 4096 bits has 3,272 bytes of PEM.
const LONGEST: usize = 8 * 1024;

fn generate_by_aws_lc(algorithm: Algorithm) -> Result<KeyPair, KeyPairError> {
    if matches!(algorithm, Algorithm::Rsa { bits } if !matches!(bits, 2048 | 3072 | 4096)) {
        return Err(KeyPairError::Size { algorithm });
    }
    match algorithm {
        #[cfg(feature = "rsa")]
        Algorithm::Rsa { bits } => read_rsa(&super::aws_lc_signing::generate_rsa(bits)?),
        #[cfg(feature = "ecdsa")]
        Algorithm::EcdsaP256 | Algorithm::EcdsaP384 | Algorithm::EcdsaP521 => {
            let der = super::aws_lc_signing::generate_ecdsa(algorithm)?;
            let curve = super::public_key::ecdsa_curve_oid(algorithm);
            read_ecdsa(algorithm, curve, &der)
        }
        _ => Err(not_enabled(algorithm)),
    }
}

#[cfg(feature = "rsa")]
fn read_rsa(der: &[u8]) -> Result<KeyPair, KeyPairError> {
    use aws_lc_rs::signature::KeyPair as _;

    // AWS-LC checks the private numbers against the modulus, so the modulus is
    // composite.
    let invalid = KeyPairError::Invalid { algorithm: "RSA" };
    let key = aws_lc_rs::rsa::KeyPair::from_pkcs8(der).map_err(|_| invalid)?;
    let spki = super::public_key::rsa_spki(key.public_key().as_ref());
    let public =
        PublicKey::from_known_spki_der(&spki, &Policy::strict()).map_err(KeyPairError::Public)?;
    KeyPair::of(key, public, der)
}

#[cfg(not(feature = "rsa"))]
fn read_rsa(_der: &[u8]) -> Result<KeyPair, KeyPairError> {
    Err(not_enabled(Algorithm::Rsa { bits: 2048 }))
}

#[cfg(feature = "ecdsa")]
fn read_ecdsa(algorithm: Algorithm, curve: &[u8], der: &[u8]) -> Result<KeyPair, KeyPairError> {
    use aws_lc_rs::signature::KeyPair as _;

    let key = super::aws_lc_signing::read_ecdsa(algorithm, der)
        .ok_or(KeyPairError::Invalid { algorithm: "ECDSA" })?;
    let public = PublicKey::of_ecdsa(algorithm, curve, key.public_key().as_ref())
        .map_err(KeyPairError::Public)?;
    KeyPair::of(key, public, der)
}

#[cfg(not(feature = "ecdsa"))]
fn read_ecdsa(algorithm: Algorithm, _curve: &[u8], _der: &[u8]) -> Result<KeyPair, KeyPairError> {
    Err(not_enabled(algorithm))
}

fn not_enabled(algorithm: Algorithm) -> KeyPairError {
    let (feature, _) = feature_of(algorithm);
    KeyPairError::Public(KeyError::FeatureNotEnabled { algorithm, feature })
}

#[cfg(test)]
mod tests;
