//! Why a public key is refused.

use super::{Algorithm, DerError, PemError};

/// Why bytes are not an acceptable public key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, derive_more::From)]
#[non_exhaustive]
pub enum KeyError {
    /// The public key is empty.
    #[error("the public key is empty")]
    Empty,
    /// The public key is longer than the policy allows.
    #[error("the public key has {found} bytes, expected at most {limit}")]
    TooLong {
        /// The length found, in bytes.
        found: usize,
        /// The longest length allowed.
        limit: usize,
    },
    /// The bytes are neither a raw Ed25519 key nor text in PEM.
    #[error("the public key has {found} bytes, expected PEM or 32 raw bytes")]
    Length {
        /// The length found, in bytes.
        found: usize,
    },
    /// The PEM is not one block `PUBLIC KEY` in a form that the policy accepts.
    #[error("the public key cannot be read: {0}")]
    #[from(PemError)]
    Pem(PemError),
    /// The DER is not a canonical SubjectPublicKeyInfo.
    #[error("the public key is not a valid SubjectPublicKeyInfo: {0}")]
    #[from(DerError)]
    Der(DerError),
    /// The algorithm is not Ed25519, RSA or ECDSA.
    #[error("the public key has the algorithm {oid}, expected Ed25519, RSA or ECDSA")]
    Algorithm {
        /// The algorithm's object identifier, dotted.
        oid: String,
    },
    /// The parameters of the algorithm are wrong or missing.
    #[error("the parameters of the public key's algorithm are not those of {algorithm}")]
    Parameters {
        /// Ed25519 (no parameters), RSA (NULL) or ECDSA (a named curve).
        algorithm: &'static str,
    },
    /// The crate was built without this algorithm.
    #[error("this build cannot read {algorithm} keys; it needs the feature `{feature}`")]
    FeatureNotEnabled {
        /// The key's algorithm.
        algorithm: Algorithm,
        /// The feature that adds it.
        feature: &'static str,
    },
    /// An Ed25519 key does not have 32 bytes.
    #[error("the Ed25519 key has {found} bytes, expected 32")]
    Ed25519Length {
        /// The length found, in bytes.
        found: usize,
    },
    /// An Ed25519 key is not the canonical encoding of its point.
    #[error("the Ed25519 key is not in its canonical encoding")]
    Ed25519NonCanonical,
    /// An Ed25519 key is not a point on the curve.
    #[error("the Ed25519 key is not a point on the curve")]
    Ed25519NotOnCurve,
    /// An Ed25519 key has small order: anyone can sign for it.
    #[error("the Ed25519 key has small order")]
    Ed25519SmallOrder,
    /// An Ed25519 key has a small-order component.
    #[error("the Ed25519 key has mixed order")]
    Ed25519MixedOrder,
    /// An RSA modulus is too short or too long.
    #[error("the RSA modulus has {found} bits, expected {shortest} to {longest}")]
    RsaModulusBits {
        /// Its length, in bits.
        found: usize,
        /// The shortest allowed.
        shortest: usize,
        /// The longest allowed.
        longest: usize,
    },
    /// An RSA exponent is not 65537.
    #[error("the RSA exponent is not 65537")]
    RsaExponent,
    /// An RSA modulus is even.
    #[error("the RSA modulus is even")]
    RsaModulusEven,
    /// An RSA modulus is prime: anyone can sign for it.
    #[error("the RSA modulus is prime")]
    RsaModulusPrime,
    /// The code that verifies RSA signatures (AWS-LC, or Rust with the feature
    /// `rustcrypto`) does not accept the key.
    #[error("the RSA key is not valid")]
    RsaKey,
    /// An ECDSA curve is not P-256, P-384 or P-521.
    #[error("the ECDSA curve is {oid}, expected P-256, P-384 or P-521")]
    EcdsaCurve {
        /// The curve's object identifier, dotted.
        oid: String,
    },
    /// An ECDSA key is not an uncompressed point on its curve.
    #[error("the {algorithm} key is not an uncompressed point on its curve")]
    EcdsaPoint {
        /// The key's algorithm.
        algorithm: Algorithm,
    },
}
