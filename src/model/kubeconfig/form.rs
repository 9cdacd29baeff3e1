//! Reading kubeconfigs.

use serde::{Deserialize, de::DeserializeOwned};

use crate::model::{
    Bytes, DocumentError, ExecCredential, Kubeconfig, ObjectError, SecretBytes, SecretText,
    ServiceAccountKubeconfig, UserCredential, read_document, reading::absent::or_null,
};

/// Why a text is no kubeconfig of the one form that Liqo writes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KubeconfigError {
    /// The text is not one document with the fields of a kubeconfig.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// The text is another document, or of another version.
    #[error("found another document, expected kind Config of apiVersion v1")]
    NotConfig,
    /// There is not exactly one cluster, user or context.
    #[error("found {found} {what}, expected one")]
    Count {
        /// `clusters`, `users` or `contexts`.
        what: &'static str,
        /// How many were found.
        found: usize,
    },
    /// The context names another cluster or user, or is not current.
    #[error("found a context that is not current or names another cluster or user")]
    Context,
    /// The user has no credential, or more than one.
    #[error("found no credential or several, expected key data, a key file or a program")]
    Credential,
}

impl Kubeconfig {
    /// The longest text that is read, in bytes.
    pub const LONGEST: usize = crate::model::reading::document::LONGEST;

    /// Reads a kubeconfig of the one form that Liqo writes: JSON always, YAML
    /// with the feature `yaml`. Any field that [`Kubeconfig::to_yaml`] does
    /// not write is refused, since it could change whom a client trusts.
    ///
    /// # Errors
    /// [`KubeconfigError`] if the text has another form.
    pub fn parse(text: &str) -> Result<Self, KubeconfigError> {
        let (cluster, context, user) = read_config::<User>(text)?;
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

impl ServiceAccountKubeconfig {
    /// Reads a kubeconfig of that form: JSON always, YAML with the feature
    /// `yaml`. Any field that [`to_yaml`](Self::to_yaml) does not write is
    /// refused.
    ///
    /// # Errors
    /// [`KubeconfigError`] if the text has another form.
    pub fn parse(text: &str) -> Result<Self, KubeconfigError> {
        let (cluster, context, user) = read_config::<TokenUser>(text)?;
        refuse("clusters[0].cluster.proxy-url", cluster.cluster.proxy_url)?;
        refuse("contexts[0].context.namespace", context.namespace)?;
        if user.user.token.is_empty() {
            return Err(KubeconfigError::Credential);
        }
        Ok(Self {
            cluster: cluster.name,
            server: cluster.cluster.server,
            certificate_authority: cluster.cluster.certificate_authority_data,
            user: user.name,
            token: user.user.token,
        })
    }
}

/// Reads the one cluster, context and user of a kubeconfig.
fn read_config<U: DeserializeOwned>(
    text: &str,
) -> Result<(NamedCluster, Context, NamedUser<U>), KubeconfigError> {
    let config: Config<U> = read_document(text.as_bytes())?;
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
    Ok((cluster, context, user))
}

/// Refuses a field that only other kubeconfigs have.
fn refuse(path: &str, field: Option<String>) -> Result<(), DocumentError> {
    match field {
        None => Ok(()),
        Some(_) => Err(DocumentError::Field(ObjectError::Field {
            path: path.to_owned(),
            reason: "found a field that is not known, expected none".to_owned(),
        })),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Config<U> {
    api_version: String,
    kind: String,
    clusters: Vec<NamedCluster>,
    contexts: Vec<NamedContext>,
    #[serde(rename = "current-context")]
    current_context: String,
    users: Vec<NamedUser<U>>,
    /// Older writers leave it empty.
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
struct NamedUser<U> {
    name: String,
    user: U,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
struct User {
    client_certificate_data: Bytes,
    client_key_data: Option<SecretBytes>,
    client_key: Option<String>,
    exec: Option<Exec>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenUser {
    token: SecretText,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Exec {
    api_version: String,
    command: String,
    #[serde(default, deserialize_with = "or_null")]
    args: Vec<String>,
    #[serde(default, deserialize_with = "or_null")]
    env: Vec<Variable>,
    #[serde(rename = "interactiveMode")]
    _interactive_mode: Never,
    #[serde(default, rename = "provideClusterInfo")]
    _provide_cluster_info: bool,
}

#[derive(Deserialize)]
enum Never {
    Never,
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
        match (user.client_key_data, user.client_key, user.exec) {
            (Some(key), None, None) => Ok(Self::KeyData { certificate, key }),
            (None, Some(key), None) => Ok(Self::KeyFile { certificate, key }),
            (None, None, Some(exec)) if certificate.is_empty() => Ok(Self::Exec(ExecCredential {
                api_version: exec.api_version,
                command: exec.command,
                args: exec.args,
                env: exec
                    .env
                    .into_iter()
                    .map(|variable| (variable.name, variable.value))
                    .collect(),
            })),
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
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn config() -> Value {
        json!({
            "apiVersion": "v1", "kind": "Config", "preferences": {}, "current-context": "c",
            "clusters": [{ "name": "a", "cluster": { "server": "https://a" } }],
            "contexts": [{ "name": "c", "context": { "cluster": "a", "user": "u" } }],
            "users": [{ "name": "u", "user": { "client-key": "/key.pem" } }],
        })
    }

    fn parse(config: &Value) -> Result<Kubeconfig, KubeconfigError> {
        Kubeconfig::parse(&config.to_string())
    }

    #[test]
    fn the_one_form_is_read() {
        let kubeconfig = parse(&config()).unwrap();
        assert_eq!(kubeconfig.server, "https://a");
        assert_eq!(
            kubeconfig.credential,
            UserCredential::KeyFile {
                certificate: Bytes::default(),
                key: "/key.pem".into()
            }
        );
    }

    #[test]
    fn a_field_that_could_change_the_trust_is_refused() {
        for (pointer, field, path) in [
            (
                "/clusters/0/cluster",
                "insecure-skip-tls-verify",
                "clusters[0].cluster.insecure-skip-tls-verify",
            ),
            (
                "/clusters/0/cluster",
                "tls-server-name",
                "clusters[0].cluster.tls-server-name",
            ),
            ("/users/0/user", "token", "users[0].user.token"),
            ("/users/0/user", "as", "users[0].user.as"),
            ("", "extensions", "extensions"),
        ] {
            let mut config = config();
            config.pointer_mut(pointer).unwrap()[field] = "hunter2".into();
            let error = parse(&config).unwrap_err();
            let KubeconfigError::Document(DocumentError::Field(ObjectError::Field {
                path: found,
                reason,
            })) = error
            else {
                panic!("{error:?}");
            };
            assert_eq!(found, path);
            assert!(
                reason.starts_with("found a field that is not known, expected "),
                "{reason}"
            );
            assert!(!reason.contains("hunter2"), "{reason}");
        }
    }

    #[test]
    fn names_and_numbers_have_to_fit() {
        for (pointer, value, error) in [
            ("/kind", json!("Secret"), KubeconfigError::NotConfig),
            (
                "/users",
                json!([]),
                KubeconfigError::Count {
                    what: "users",
                    found: 0,
                },
            ),
            ("/current-context", json!("d"), KubeconfigError::Context),
            (
                "/contexts/0/context/user",
                json!("v"),
                KubeconfigError::Context,
            ),
            ("/users/0/user", json!({}), KubeconfigError::Credential),
            (
                "/users/0/user",
                json!({ "client-key": "a", "client-key-data": "YQ==" }),
                KubeconfigError::Credential,
            ),
            (
                "/clusters/0/cluster",
                json!({}),
                DocumentError::Field(ObjectError::Field {
                    path: "clusters[0].cluster".into(),
                    reason: "missing field `server`".into(),
                })
                .into(),
            ),
        ] {
            let mut config = config();
            *config.pointer_mut(pointer).unwrap() = value;
            assert_eq!(parse(&config), Err(error));
        }
        let twice = format!("{0}{0}", config());
        assert_eq!(
            Kubeconfig::parse(&twice),
            Err(DocumentError::Documents { found: 2 }.into())
        );
    }
}
