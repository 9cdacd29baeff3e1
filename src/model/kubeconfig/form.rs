//! Reading kubeconfigs.

use serde::{Deserialize, Deserializer};

use crate::model::{
    Bytes, DocumentError, ExecCredential, Kubeconfig, SecretBytes, SecretText, UserCredential,
    reading::{absent::or_null, document::read_document_within},
};

/// Why a text is not a kubeconfig of the form that Liqo writes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KubeconfigError {
    /// The text is not one document with the fields of a kubeconfig.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// The text is another document, or of another version.
    #[error("found another document, expected kind Config of apiVersion v1")]
    NotConfig,
    /// The number of clusters, of users or of contexts is not one.
    #[error("found {found} {what}, expected one")]
    Count {
        /// `clusters`, `users` or `contexts`.
        what: &'static str,
        /// The number found.
        found: usize,
    },
    /// The context names another cluster or user, or is not the current context.
    #[error("found a context that is not current or names another cluster or user")]
    Context,
    /// The user does not have exactly one credential of a supported kind.
    #[error(
        "found no credential, several credentials or an unsupported one, expected exactly one supported credential"
    )]
    Credential,
}

impl Kubeconfig {
    /// The longest text, in bytes.
    pub const LONGEST: usize = crate::model::reading::document::LONGEST;

    /// Reads a kubeconfig of the form that Liqo writes: JSON always, YAML with the
    /// feature `yaml`. Any field that [`Kubeconfig::to_yaml`] does not write is
    /// refused, since such a field could change the server that a client trusts.
    ///
    /// # Errors
    /// [`KubeconfigError`] if the text has another form.
    pub fn parse(text: &str) -> Result<Self, KubeconfigError> {
        Self::read(text.as_bytes(), Self::LONGEST)
    }

    /// Reads a kubeconfig of at most `limit` bytes as [`parse`](Self::parse) does.
    pub(crate) fn read(text: &[u8], limit: usize) -> Result<Self, KubeconfigError> {
        let config: Config = read_document_within(text, limit)?;
        if config.api_version != "v1" || config.kind != "Config" {
            return Err(KubeconfigError::NotConfig);
        }
        let cluster = one("clusters", config.clusters)?;
        let NamedContext { name, context } = one("contexts", config.contexts)?;
        let user = one("users", config.users)?;
        if name != config.current_context
            || context.cluster != cluster.name
            || context.user != user.name
        {
            return Err(KubeconfigError::Context);
        }
        Ok(Self {
            cluster: cluster.name,
            server: cluster.cluster.server,
            certificate_authority: cluster.cluster.certificate_authority_data,
            proxy_url: cluster.cluster.proxy_url,
            user: user.name,
            credential: user.user.try_into()?,
            namespace: context.namespace,
        })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Config {
    api_version: String,
    kind: String,
    clusters: Vec<NamedCluster>,
    contexts: Vec<NamedContext>,
    #[serde(rename = "current-context")]
    current_context: String,
    users: Vec<NamedUser>,
    /// Older writers add this empty field.
    #[serde(default, rename = "preferences")]
    _preferences: Option<Nothing>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NamedCluster {
    name: String,
    cluster: Cluster,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Cluster {
    server: String,
    #[serde(default)]
    certificate_authority_data: Bytes,
    #[serde(default)]
    proxy_url: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NamedContext {
    name: String,
    context: Context,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Context {
    cluster: String,
    user: String,
    #[serde(default)]
    namespace: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NamedUser {
    name: String,
    user: User,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
struct User {
    client_certificate_data: Bytes,
    client_key_data: Option<SecretBytes>,
    client_key: Option<String>,
    exec: Option<Exec>,
    token: Option<SecretText>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Exec {
    api_version: String,
    command: String,
    #[serde(default, deserialize_with = "or_null")]
    args: Vec<String>,
    #[serde(default, deserialize_with = "variables")]
    env: Vec<(String, String)>,
    #[serde(rename = "interactiveMode")]
    _interactive_mode: Never,
    #[serde(default, rename = "provideClusterInfo")]
    _provide_cluster_info: bool,
}

#[derive(Deserialize)]
enum Never {
    Never,
}

/// Environment variables: a list of names and values, or `null`.
pub(super) fn variables<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<(String, String)>, D::Error> {
    let variables: Vec<Variable> = or_null(deserializer)?;
    Ok(variables
        .into_iter()
        .map(|it| (it.name, it.value))
        .collect())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Variable {
    name: String,
    value: String,
}

impl TryFrom<User> for UserCredential {
    type Error = KubeconfigError;

    fn try_from(user: User) -> Result<Self, KubeconfigError> {
        let certificate = user.client_certificate_data;
        match (user.client_key_data, user.client_key, user.exec, user.token) {
            (Some(key), None, None, None) => Ok(Self::KeyData { certificate, key }),
            (None, Some(key), None, None) => Ok(Self::KeyFile { certificate, key }),
            (None, None, Some(exec), None) if certificate.is_empty() => {
                Ok(Self::Exec(ExecCredential {
                    api_version: exec.api_version,
                    command: exec.command,
                    args: exec.args,
                    env: exec.env,
                }))
            }
            (None, None, None, Some(token))
                if certificate.is_empty() && !token.expose().is_empty() =>
            {
                Ok(Self::Token(token))
            }
            (None, None, None, None) if certificate.is_empty() => Ok(Self::Elsewhere),
            _ => Err(KubeconfigError::Credential),
        }
    }
}

fn one<T>(what: &'static str, mut items: Vec<T>) -> Result<T, KubeconfigError> {
    let found = items.len();
    match (items.pop(), found) {
        (Some(item), 1) => Ok(item),
        _ => Err(KubeconfigError::Count { what, found }),
    }
}

#[cfg(test)]
mod tests;
