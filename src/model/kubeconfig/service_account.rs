//! Kubeconfigs of service accounts.

use zeroize::Zeroizing;

use crate::model::{Bytes, SecretBytes, SecretText, reading::scalar::Scalar};

/// A kubeconfig of a service account, of the one form that Liqo 0.2 gave to
/// home clusters: one cluster, one user with a token, and one context, which
/// is current. Reading and writing execute nothing, and no other field is
/// taken.
///
/// Source: kubeadm `kubeconfig.CreateWithToken`, which Liqo 0.2 called.
///
/// # Examples
/// ```
/// use liqo_auth::model::ServiceAccountKubeconfig;
///
/// let text = r#"{
///     "apiVersion": "v1", "kind": "Config", "preferences": {}, "current-context": "c",
///     "clusters": [{ "name": "service-cluster", "cluster": { "server": "https://10.0.0.1:6443" } }],
///     "contexts": [{ "name": "c", "context": { "cluster": "service-cluster", "user": "remote-x" } }],
///     "users": [{ "name": "remote-x", "user": { "token": "eyJ…" } }]
/// }"#;
/// let kubeconfig = ServiceAccountKubeconfig::parse(text)?;
/// assert_eq!(kubeconfig.server, "https://10.0.0.1:6443");
/// assert!(!format!("{kubeconfig:?}").contains("eyJ"));
/// # Ok::<(), liqo_auth::model::KubeconfigError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceAccountKubeconfig {
    /// The name of the cluster: Liqo wrote `service-cluster`.
    pub cluster: String,
    /// The URL of the API server.
    pub server: String,
    /// The CA certificates in PEM; empty for publicly trusted ones.
    pub certificate_authority: Bytes,
    /// The name of the user: the service account's.
    pub user: String,
    /// The service account's token.
    pub token: SecretText,
}

impl ServiceAccountKubeconfig {
    /// The text as Liqo 0.2 wrote it: YAML in block style.
    pub fn to_yaml(&self) -> SecretBytes {
        use base64::{Engine, engine::general_purpose::STANDARD};
        let authority = STANDARD.encode(self.certificate_authority.as_slice());
        let context = format!("{}@{}", self.user, self.cluster);
        // So large that the text never grows: what it would leave behind on
        // growing is not wiped. Quoting makes six bytes of one at most.
        let names = self.cluster.len() + self.server.len() + self.user.len();
        let capacity = 1024 + authority.len() + 18 * names + 6 * self.token.expose().len();
        let mut text = Zeroizing::new(String::with_capacity(capacity));
        let mut line = |parts: &[&str]| {
            parts.iter().for_each(|part| text.push_str(part));
            text.push('\n');
        };
        line(&["apiVersion: v1"]);
        line(&["clusters:"]);
        line(&["- cluster:"]);
        if !authority.is_empty() {
            let authority = Scalar(&authority).to_string();
            line(&["    certificate-authority-data: ", &authority]);
        }
        line(&["    server: ", &Scalar(&self.server).to_string()]);
        line(&["  name: ", &Scalar(&self.cluster).to_string()]);
        line(&["contexts:"]);
        line(&["- context:"]);
        line(&["    cluster: ", &Scalar(&self.cluster).to_string()]);
        line(&["    user: ", &Scalar(&self.user).to_string()]);
        line(&["  name: ", &Scalar(&context).to_string()]);
        line(&["current-context: ", &Scalar(&context).to_string()]);
        line(&["kind: Config"]);
        line(&["preferences: {}"]);
        line(&["users:"]);
        line(&["- name: ", &Scalar(&self.user).to_string()]);
        line(&["  user:"]);
        let token = Zeroizing::new(Scalar(self.token.expose()).to_string());
        line(&["    token: ", &token]);
        SecretBytes::from(core::mem::take(&mut *text).into_bytes())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::model::{DocumentError, KubeconfigError, ObjectError};

    fn config() -> Value {
        json!({
            "apiVersion": "v1", "kind": "Config", "preferences": {}, "current-context": "c",
            "clusters": [{ "name": "a", "cluster": { "server": "https://a" } }],
            "contexts": [{ "name": "c", "context": { "cluster": "a", "user": "u" } }],
            "users": [{ "name": "u", "user": { "token": "hunter2" } }],
        })
    }

    #[test]
    fn a_program_is_never_taken() {
        for (pointer, field, value) in [
            ("/users/0/user", "exec", json!({ "command": "sh" })),
            ("/users/0/user", "auth-provider", json!({})),
            ("/users/0/user", "tokenFile", json!("/etc/shadow")),
            ("/users/0/user", "client-key", json!("/etc/key")),
            (
                "/clusters/0/cluster",
                "insecure-skip-tls-verify",
                json!(true),
            ),
            ("/clusters/0/cluster", "certificate-authority", json!("/ca")),
            ("/clusters/0/cluster", "proxy-url", json!("http://a")),
        ] {
            let mut config = config();
            config.pointer_mut(pointer).unwrap()[field] = value;
            let error = ServiceAccountKubeconfig::parse(&config.to_string()).unwrap_err();
            assert!(
                matches!(
                    error,
                    KubeconfigError::Document(DocumentError::Field(ObjectError::Field { .. }))
                ),
                "{field}: {error:?}"
            );
            assert!(!error.to_string().contains("hunter2"));
        }
        let mut empty = config();
        empty["users"][0]["user"]["token"] = json!("");
        assert_eq!(
            ServiceAccountKubeconfig::parse(&empty.to_string()),
            Err(KubeconfigError::Credential)
        );
    }

    #[cfg(feature = "yaml")]
    #[test]
    fn what_is_written_is_read() {
        let kubeconfig = ServiceAccountKubeconfig {
            cluster: "service-cluster".into(),
            server: "https://127.0.0.1:6443".into(),
            certificate_authority: b"CA".as_slice().into(),
            user: "remote-x".into(),
            token: "a: b".into(),
        };
        let text = kubeconfig.to_yaml();
        let text = core::str::from_utf8(text.expose()).unwrap();
        assert!(text.contains("current-context: remote-x@service-cluster\n"));
        assert_eq!(ServiceAccountKubeconfig::parse(text), Ok(kubeconfig));
    }
}
