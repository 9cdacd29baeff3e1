//! How a kubeconfig reaches a private key.

use core::fmt;

use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::model::{Bytes, ExecCredential, SecretBytes, UserCredential};

/// How the kubeconfig of an identity names the private key.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientKey {
    /// The key itself, for `client-key-data`.
    Pem(PrivateKeyPem),
    /// A path, for `client-key`, as the reader of the kubeconfig sees it.
    File(String),
    /// A program that gives credentials, for `exec`.
    Exec(ExecPlugin),
    /// The key cannot leave where it is: no kubeconfig can be written.
    NotExportable,
}

/// A credential plugin of client-go (`exec` in a kubeconfig).
#[derive(Clone, PartialEq, Eq)]
pub struct ExecPlugin {
    /// The API version that the program speaks, such as
    /// `client.authentication.k8s.io/v1`.
    pub api_version: String,
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Environment variables by name. `Debug` does not show their values.
    pub env: Vec<(String, String)>,
}

/// A private key in PKCS#8 PEM. It is wiped on drop, and `Debug` does not show
/// it.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct PrivateKeyPem(String);

impl ClientKey {
    /// The user of a kubeconfig who has this key and this certificate; `None`
    /// for a key that cannot leave where it is.
    pub(crate) fn into_user(self, certificate: Bytes) -> Option<UserCredential> {
        Some(match self {
            Self::Pem(key) => UserCredential::KeyData {
                certificate,
                key: SecretBytes::from(key.as_str().as_bytes()),
            },
            Self::File(key) => UserCredential::KeyFile { certificate, key },
            Self::Exec(plugin) => UserCredential::Exec(ExecCredential {
                api_version: plugin.api_version,
                command: plugin.command,
                args: plugin.args,
                env: plugin.env,
            }),
            Self::NotExportable => return None,
        })
    }
}

impl PrivateKeyPem {
    /// A private key that the caller has in PEM. It is not read.
    pub const fn new(pem: String) -> Self {
        Self(pem)
    }

    /// The secret text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for PrivateKeyPem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("PrivateKeyPem(…)")
    }
}

impl fmt::Debug for ExecPlugin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.env.iter().map(|(name, _)| name).collect();
        formatter
            .debug_struct("ExecPlugin")
            .field("api_version", &self.api_version)
            .field("command", &self.command)
            .field("args", &self.args)
            .field("env", &names)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_do_not_reach_debug() {
        let pem = ClientKey::Pem(PrivateKeyPem::new("secret".to_owned()));
        let exec = ClientKey::Exec(ExecPlugin {
            api_version: "v1".to_owned(),
            command: "aws".to_owned(),
            args: Vec::new(),
            env: vec![("TOKEN".to_owned(), "secret".to_owned())],
        });
        assert!(!format!("{pem:?} {exec:?}").contains("secret"));
    }
}
