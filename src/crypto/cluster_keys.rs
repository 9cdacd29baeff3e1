//! The Secret in which Liqo keeps a cluster's keys.

use std::collections::BTreeMap;

use super::{KeyError, KeyPair, KeyPairError, PublicKey, SigningKey};
use crate::{
    model::{Metadata, Secret, names},
    policy::Policy,
};

/// Why a Secret does not hold a cluster's keys.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterKeysError {
    /// There is no private key in it.
    #[error("data.privateKey is missing")]
    NoPrivateKey,
    /// The private key cannot be used.
    #[error("data.privateKey: {0}")]
    PrivateKey(KeyPairError),
    /// The public key cannot be used.
    #[error("data.publicKey: {0}")]
    PublicKey(KeyError),
    /// The public key is not the private key's.
    #[error("data.publicKey is not the public key of data.privateKey")]
    Mismatch,
}

impl KeyPair {
    /// Reads the keys from Liqo's Secret `authentication-keys`: `privateKey` in
    /// PKCS#8 and `publicKey` in PKIX, both in PEM. A missing public key is
    /// none to compare.
    ///
    /// Source: Liqo `authentication.GetClusterKeys`.
    ///
    /// # Errors
    /// [`ClusterKeysError`].
    ///
    /// # Examples
    /// ```
    /// use liqo_auth::{crypto::{Entropy, KeyPair, SigningKey}, policy::Policy};
    ///
    /// let key = KeyPair::from_entropy(&Entropy::from_bytes([7; 32]));
    /// let secret = key.to_secret("liqo");
    /// assert_eq!(secret.metadata.name, "authentication-keys");
    /// let read = KeyPair::from_secret(&secret, &Policy::strict())?;
    /// assert_eq!(read.public_key(), key.public_key());
    /// # Ok::<(), liqo_auth::crypto::ClusterKeysError>(())
    /// ```
    pub fn from_secret(secret: &Secret, policy: &Policy) -> Result<Self, ClusterKeysError> {
        let field = |name: &str| secret.data.get(name).map(|value| value.expose());
        let private_key = field(names::PRIVATE_KEY).ok_or(ClusterKeysError::NoPrivateKey)?;
        let key =
            Self::from_pkcs8_pem(private_key, policy).map_err(ClusterKeysError::PrivateKey)?;
        if let Some(public_key) = field(names::PUBLIC_KEY) {
            let public_key =
                PublicKey::from_pem(public_key, policy).map_err(ClusterKeysError::PublicKey)?;
            if public_key != *key.public_key() {
                return Err(ClusterKeysError::Mismatch);
            }
        }
        Ok(key)
    }

    /// The Secret `authentication-keys` with these keys, as Liqo makes it.
    pub fn to_secret(&self, namespace: &str) -> Secret {
        let private_key = self.to_pkcs8_pem().as_str().as_bytes().into();
        let public_key = self.public_key().to_pem().into_bytes().into();
        Secret {
            metadata: Metadata {
                name: names::CLUSTER_KEYS_SECRET.to_owned(),
                namespace: namespace.to_owned(),
                ..Metadata::default()
            },
            data: BTreeMap::from([
                (names::PRIVATE_KEY.to_owned(), private_key),
                (names::PUBLIC_KEY.to_owned(), public_key),
            ]),
            ..Secret::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::Entropy;

    #[test]
    fn keys_that_do_not_belong_together_are_refused() {
        let policy = Policy::strict();
        let [one, other] =
            [1, 2].map(|byte| KeyPair::from_entropy(&Entropy::from_bytes([byte; 32])));
        let mut secret = one.to_secret("liqo");
        secret.data.insert(
            names::PUBLIC_KEY.into(),
            other.public_key().to_pem().into_bytes().into(),
        );
        assert_eq!(
            KeyPair::from_secret(&secret, &policy).err(),
            Some(ClusterKeysError::Mismatch)
        );

        secret.data.remove(names::PUBLIC_KEY);
        assert!(KeyPair::from_secret(&secret, &policy).is_ok());

        secret.data.remove(names::PRIVATE_KEY);
        assert_eq!(
            KeyPair::from_secret(&secret, &policy).err(),
            Some(ClusterKeysError::NoPrivateKey)
        );
    }
}
