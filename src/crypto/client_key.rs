//! References from a kubeconfig to a private key.

use crate::model::{Bytes, ExecCredential, SecretBytes, SecretText, UserCredential};

/// The reference from the kubeconfig of an identity to the private key.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientKey {
    /// The key itself in PKCS#8 PEM, for `client-key-data`.
    Pem(SecretText),
    /// A path, for `client-key`, as the reader of the kubeconfig sees it.
    File(String),
    /// A program that gives credentials, for `exec`.
    Exec(ExecCredential),
    /// The key cannot be exported, so no kubeconfig can be written.
    NotExportable,
}

impl ClientKey {
    /// The user credential for a kubeconfig, with this key and this certificate;
    /// `None` if the key is not exportable.
    pub(crate) fn into_user(self, certificate: Bytes) -> Option<UserCredential> {
        Some(match self {
            Self::Pem(key) => UserCredential::KeyData {
                certificate,
                key: SecretBytes::from(key.expose().as_bytes()),
            },
            Self::File(key) => UserCredential::KeyFile { certificate, key },
            Self::Exec(program) => UserCredential::Exec(program),
            Self::NotExportable => return None,
        })
    }
}
