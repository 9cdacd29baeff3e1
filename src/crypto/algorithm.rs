//! The algorithms of keys and signatures.

use serde::Serialize;

/// The algorithm of a key, with its size.
///
/// # Examples
/// ```
/// use liqo_auth::crypto::Algorithm;
///
/// assert_eq!(Algorithm::Ed25519.to_string(), "Ed25519");
/// assert_eq!(Algorithm::Rsa { bits: 2048 }.to_string(), "RSA-2048");
/// assert_eq!(Algorithm::EcdsaP384.to_string(), "ECDSA P-384");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, derive_more::Display)]
#[non_exhaustive]
pub enum Algorithm {
    /// Ed25519 (RFC 8032), Liqo's default.
    Ed25519,
    /// RSA, Liqo's "TLS compatibility mode".
    #[display("RSA-{bits}")]
    Rsa {
        /// The length of the modulus, in bits.
        bits: u32,
    },
    /// ECDSA on NIST P-256.
    #[display("ECDSA P-256")]
    EcdsaP256,
    /// ECDSA on NIST P-384.
    #[display("ECDSA P-384")]
    EcdsaP384,
    /// ECDSA on NIST P-521.
    #[display("ECDSA P-521")]
    EcdsaP521,
}

/// The scheme of a signature: the algorithm and the hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, derive_more::Display)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum SignatureScheme {
    /// Pure Ed25519 (RFC 8032), 64 bytes.
    Ed25519,
    /// RSASSA-PKCS1-v1_5 over SHA-256 (RFC 8017). The signature is as long as the
    /// modulus.
    #[display("RSA PKCS#1 v1.5 with SHA-256")]
    RsaPkcs1Sha256,
    /// ECDSA over SHA-256, as a DER `ECDSA-Sig-Value` (RFC 3279 section 2.2.3).
    #[display("ECDSA with SHA-256")]
    EcdsaSha256,
    /// ECDSA over SHA-384, in the same form.
    #[display("ECDSA with SHA-384")]
    EcdsaSha384,
    /// ECDSA over SHA-512, in the same form.
    #[display("ECDSA with SHA-512")]
    EcdsaSha512,
}

impl Algorithm {
    /// The scheme with which Liqo signs a nonce with such a key: ECDSA uses SHA-256
    /// on every curve (Liqo `SignNonce`).
    pub(crate) const fn nonce_scheme(self) -> SignatureScheme {
        match self {
            Self::Ed25519 => SignatureScheme::Ed25519,
            Self::Rsa { .. } => SignatureScheme::RsaPkcs1Sha256,
            Self::EcdsaP256 | Self::EcdsaP384 | Self::EcdsaP521 => SignatureScheme::EcdsaSha256,
        }
    }

    /// The scheme with which Go's `x509.CreateCertificateRequest` signs with such a
    /// key: ECDSA uses the hash that matches the curve.
    pub(crate) const fn csr_scheme(self) -> SignatureScheme {
        match self {
            Self::Ed25519 => SignatureScheme::Ed25519,
            Self::Rsa { .. } => SignatureScheme::RsaPkcs1Sha256,
            Self::EcdsaP256 => SignatureScheme::EcdsaSha256,
            Self::EcdsaP384 => SignatureScheme::EcdsaSha384,
            Self::EcdsaP521 => SignatureScheme::EcdsaSha512,
        }
    }

    /// Whether such a key makes signatures of this scheme. An ECDSA key makes them
    /// with each hash.
    pub(super) const fn makes(self, scheme: SignatureScheme) -> bool {
        use SignatureScheme::{EcdsaSha256, EcdsaSha384, EcdsaSha512, Ed25519, RsaPkcs1Sha256};
        match self {
            Self::Ed25519 => matches!(scheme, Ed25519),
            Self::Rsa { .. } => matches!(scheme, RsaPkcs1Sha256),
            _ => matches!(scheme, EcdsaSha256 | EcdsaSha384 | EcdsaSha512),
        }
    }

    /// Whether a point of this curve is uncompressed (SEC 1 section 2.3.3), the only
    /// form that Go reads and writes.
    pub(super) fn is_uncompressed(self, point: &[u8]) -> bool {
        let coordinate = match self {
            Self::Ed25519 | Self::Rsa { .. } => return false,
            Self::EcdsaP256 => 32,
            Self::EcdsaP384 => 48,
            Self::EcdsaP521 => 66,
        };
        point.first() == Some(&4) && point.len() == 1 + 2 * coordinate
    }
}

impl SignatureScheme {
    /// The DER of the `AlgorithmIdentifier` in X.509: RSA has NULL parameters
    /// (RFC 4055), the others have none (RFC 8410, RFC 5758).
    pub(super) const fn identifier(self) -> &'static [u8] {
        match self {
            Self::Ed25519 => &[0x30, 5, 6, 3, 0x2b, 0x65, 0x70],
            Self::RsaPkcs1Sha256 => &[
                0x30, 13, 6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 11, 5, 0,
            ],
            Self::EcdsaSha256 => &[0x30, 10, 6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2],
            Self::EcdsaSha384 => &[0x30, 10, 6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 3],
            Self::EcdsaSha512 => &[0x30, 10, 6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 4],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Algorithm::*, *};

    #[test]
    fn a_key_makes_signatures_of_its_algorithm_only() {
        use SignatureScheme::{EcdsaSha256, EcdsaSha384, EcdsaSha512, RsaPkcs1Sha256};

        let ecdsa = &[EcdsaSha256, EcdsaSha384, EcdsaSha512][..];
        let other = [SignatureScheme::Ed25519, RsaPkcs1Sha256];
        for (algorithm, makes) in [
            (Ed25519, &[SignatureScheme::Ed25519][..]),
            (Rsa { bits: 2048 }, &[RsaPkcs1Sha256]),
            (EcdsaP256, ecdsa),
            (EcdsaP384, ecdsa),
            (EcdsaP521, ecdsa),
        ] {
            for scheme in ecdsa.iter().chain(&other) {
                assert_eq!(
                    algorithm.makes(*scheme),
                    makes.contains(scheme),
                    "{algorithm} {scheme}"
                );
            }
        }
    }

    #[test]
    fn an_uncompressed_point_is_a_4_and_two_coordinates() {
        for (algorithm, coordinate) in [(EcdsaP256, 32), (EcdsaP384, 48), (EcdsaP521, 66)] {
            let point = vec![4; 1 + 2 * coordinate];
            assert!(algorithm.is_uncompressed(&point), "{algorithm}");
            for other in [
                vec![],
                vec![4; 2 * coordinate],
                vec![4; 2 + 2 * coordinate],
                // The compressed form, and the hybrid one of X9.62.
                vec![2; 1 + coordinate],
                vec![6; 1 + 2 * coordinate],
            ] {
                assert!(!algorithm.is_uncompressed(&other), "{algorithm} {other:?}");
            }
            for algorithm in [Ed25519, Rsa { bits: 2048 }] {
                assert!(!algorithm.is_uncompressed(&point), "{algorithm}");
            }
        }
    }
}
