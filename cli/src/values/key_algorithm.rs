//! The algorithms of keys by their names, on the command line and in the settings.

use clap::ValueEnum;
use liqo_auth::crypto::Algorithm;
use serde::{Deserialize, Serialize};

/// The algorithm of a key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub(crate) enum KeyAlgorithm {
    #[default]
    #[serde(rename = "ed25519")]
    Ed25519,
    /// Liqo's TLS compatibility mode
    #[value(name = "rsa-2048", alias = "rsa")]
    #[serde(rename = "rsa-2048", alias = "rsa")]
    Rsa2048,
    #[value(name = "rsa-3072")]
    #[serde(rename = "rsa-3072")]
    Rsa3072,
    #[value(name = "rsa-4096")]
    #[serde(rename = "rsa-4096")]
    Rsa4096,
    #[value(name = "ecdsa-p256")]
    #[serde(rename = "ecdsa-p256")]
    EcdsaP256,
    #[value(name = "ecdsa-p384")]
    #[serde(rename = "ecdsa-p384")]
    EcdsaP384,
    #[value(name = "ecdsa-p521")]
    #[serde(rename = "ecdsa-p521")]
    EcdsaP521,
}

impl KeyAlgorithm {
    /// The name of an algorithm on the command line.
    pub(crate) fn name_of(algorithm: Algorithm) -> Option<String> {
        let mut all = Self::value_variants().iter();
        let value = all.find(|it| it.algorithm() == algorithm)?;
        Some(value.to_possible_value()?.get_name().to_owned())
    }

    pub(crate) const fn algorithm(self) -> Algorithm {
        match self {
            Self::Ed25519 => Algorithm::Ed25519,
            Self::Rsa2048 => Algorithm::Rsa { bits: 2048 },
            Self::Rsa3072 => Algorithm::Rsa { bits: 3072 },
            Self::Rsa4096 => Algorithm::Rsa { bits: 4096 },
            Self::EcdsaP256 => Algorithm::EcdsaP256,
            Self::EcdsaP384 => Algorithm::EcdsaP384,
            Self::EcdsaP521 => Algorithm::EcdsaP521,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json, to_value};

    use super::*;

    /// What `--key-algorithm` takes, the settings take.
    #[test]
    fn an_algorithm_has_the_same_names_everywhere() {
        for algorithm in KeyAlgorithm::value_variants() {
            let value = algorithm.to_possible_value().unwrap();
            assert_eq!(to_value(algorithm).unwrap(), json!(value.get_name()));
            for name in value.get_name_and_aliases() {
                let read: KeyAlgorithm = from_value(json!(name)).unwrap();
                assert_eq!(read, *algorithm, "{name}");
            }
        }
        assert!(from_value::<KeyAlgorithm>(json!("Ed25519")).is_err());
    }
}
