//! Kubeconfigs.

pub(super) mod form;

use core::fmt;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::Deserialize;
use zeroize::Zeroizing;

use super::{Bytes, SecretBytes, SecretText, names, reading::scalar::Scalar};

/// A kubeconfig of the form that Liqo writes: one cluster, one user and one
/// context, which is the current one.
///
/// Source: Kubernetes `clientcmdapiv1.Config`, Liqo
/// `kubeconfig.GenerateKubeconfig`. With a [token](UserCredential::Token), the form
/// is that of kubeadm's `kubeconfig.CreateWithToken`, which Liqo 0.2 called for the
/// service accounts of home clusters.
///
/// # Examples
/// ```
/// use liqo_auth::model::{Kubeconfig, UserCredential};
///
/// let kubeconfig = Kubeconfig {
///     cluster: "cl-provider".into(),
///     server: "https://172.19.0.3:6443".into(),
///     certificate_authority: b"CA".as_slice().into(),
///     proxy_url: None,
///     user: "controlplane-cl-provider".into(),
///     credential: UserCredential::KeyFile {
///         certificate: b"certificate".as_slice().into(),
///         key: "/etc/liqo/key.pem".into(),
///     },
///     namespace: Some("liqo-tenant-cl-consumer".into()),
/// };
/// let text = kubeconfig.to_yaml();
/// assert!(text.expose().starts_with(b"apiVersion: v1\nclusters:\n- cluster:\n"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kubeconfig {
    /// The name of the cluster: the provider's ID.
    pub cluster: String,
    /// The URL of the API server.
    pub server: String,
    /// The CA certificates in PEM; empty if the API server's certificate is publicly
    /// trusted.
    pub certificate_authority: Bytes,
    /// The URL of the proxy to the API server.
    pub proxy_url: Option<String>,
    /// The name of the user: that of the Identity.
    pub user: String,
    /// The credential of the user.
    pub credential: UserCredential,
    /// The namespace of the context.
    pub namespace: Option<String>,
}

/// The credential of the user of a kubeconfig.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum UserCredential {
    /// A certificate with its key, both in the kubeconfig.
    KeyData {
        /// The certificate chain in PEM; left out if it is empty.
        certificate: Bytes,
        /// The private key in PEM.
        key: SecretBytes,
    },
    /// A certificate, with its key in a file.
    KeyFile {
        /// The certificate chain in PEM.
        certificate: Bytes,
        /// The path of the private key.
        key: String,
    },
    /// A program that hands out certificate and key.
    Exec(ExecCredential),
    /// A bearer token, as that of a service account.
    Token(SecretText),
    /// Nothing that a kubeconfig could hold: the reader has another way, such as
    /// the AWS keys beside the kubeconfig.
    Elsewhere,
}

/// An exec plugin: a program that a client runs for its credential. The plugin
/// never asks for input on a terminal.
///
/// Source: Kubernetes `clientcmdapiv1.ExecConfig`.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExecCredential {
    /// The version of the protocol, `client.authentication.k8s.io/v1`.
    pub api_version: String,
    /// The program.
    pub command: String,
    /// Its arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// What is set in its environment besides: names and values. `Debug` does not
    /// show the values.
    #[serde(default, deserialize_with = "form::variables")]
    pub env: Vec<(String, String)>,
}

impl Kubeconfig {
    /// The text, byte for byte as Liqo writes it: YAML in block style, with sorted
    /// keys.
    ///
    /// A value that a reader could read as anything but text is quoted as in JSON.
    pub fn to_yaml(&self) -> SecretBytes {
        // The capacity suffices: a growing buffer would leave copies in memory that
        // are not wiped.
        let mut text = Zeroizing::new(String::with_capacity(self.capacity()));
        let mut line = |parts: &[&str]| {
            parts.iter().for_each(|part| text.push_str(part));
            text.push('\n');
        };
        line(&["apiVersion: v1"]);
        line(&["clusters:"]);
        line(&["- cluster:"]);
        if !self.certificate_authority.is_empty() {
            let data = STANDARD.encode(self.certificate_authority.as_slice());
            line(&[
                "    certificate-authority-data: ",
                &Scalar(&data).to_string(),
            ]);
        }
        if let Some(proxy) = &self.proxy_url {
            line(&["    proxy-url: ", &Scalar(proxy).to_string()]);
        }
        line(&["    server: ", &Scalar(&self.server).to_string()]);
        line(&["  name: ", &Scalar(&self.cluster).to_string()]);
        line(&["contexts:"]);
        line(&["- context:"]);
        line(&["    cluster: ", &Scalar(&self.cluster).to_string()]);
        if let Some(namespace) = self.namespace.as_deref().filter(|name| !name.is_empty()) {
            line(&["    namespace: ", &Scalar(namespace).to_string()]);
        }
        line(&["    user: ", &Scalar(&self.user).to_string()]);
        let context = match &self.credential {
            UserCredential::Token(_) => {
                Scalar(&[&self.user, "@", &self.cluster].concat()).to_string()
            }
            _ => names::KUBECONFIG_CONTEXT.to_owned(),
        };
        line(&["  name: ", &context]);
        line(&["current-context: ", &context]);
        line(&["kind: Config"]);
        if matches!(self.credential, UserCredential::Token(_)) {
            line(&["preferences: {}"]);
        }
        line(&["users:"]);
        line(&["- name: ", &Scalar(&self.user).to_string()]);
        line(&[match &self.credential {
            UserCredential::Elsewhere => "  user: {}",
            _ => "  user:",
        }]);
        match &self.credential {
            UserCredential::KeyData { certificate, key } => {
                write_certificate(&mut line, certificate);
                let data = Zeroizing::new(STANDARD.encode(key.expose()));
                if Scalar(&data).is_plain() {
                    line(&["    client-key-data: ", &data]);
                } else {
                    // Base64 needs no escapes.
                    line(&["    client-key-data: \"", &data, "\""]);
                }
            }
            UserCredential::KeyFile { certificate, key } => {
                write_certificate(&mut line, certificate);
                line(&["    client-key: ", &Scalar(key).to_string()]);
            }
            UserCredential::Exec(exec) => write_exec(&mut line, exec),
            UserCredential::Token(token) => {
                let token = Zeroizing::new(Scalar(token.expose()).to_string());
                line(&["    token: ", &token]);
            }
            UserCredential::Elsewhere => {}
        }
        SecretBytes::from(core::mem::take(&mut *text).into_bytes())
    }

    fn capacity(&self) -> usize {
        let secret = match &self.credential {
            UserCredential::KeyData { certificate, key } => certificate.len() + key.expose().len(),
            UserCredential::Token(token) => 3 * token.expose().len(),
            UserCredential::KeyFile { .. }
            | UserCredential::Exec(_)
            | UserCredential::Elsewhere => 0,
        };
        let names = [&self.cluster, &self.server, &self.user].map(String::len);
        let optional =
            [&self.proxy_url, &self.namespace].map(|text| text.as_ref().map_or(0, String::len));
        // Every byte is six at most when it is quoted, and no name comes more
        // than four times.
        1024 + 2 * (self.certificate_authority.len() + secret)
            + 24 * (names.iter().sum::<usize>() + optional.iter().sum::<usize>())
    }
}

impl fmt::Debug for ExecCredential {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.env.iter().map(|(name, _)| name).collect();
        formatter
            .debug_struct("ExecCredential")
            .field("api_version", &self.api_version)
            .field("command", &self.command)
            .field("args", &self.args)
            .field("env", &names)
            .finish()
    }
}

fn write_certificate(line: &mut impl FnMut(&[&str]), certificate: &Bytes) {
    if !certificate.is_empty() {
        let data = STANDARD.encode(certificate.as_slice());
        line(&["    client-certificate-data: ", &Scalar(&data).to_string()]);
    }
}

fn write_exec(line: &mut impl FnMut(&[&str]), exec: &ExecCredential) {
    line(&["    exec:"]);
    line(&["      apiVersion: ", &Scalar(&exec.api_version).to_string()]);
    line(&[
        "      args:",
        if exec.args.is_empty() { " null" } else { "" },
    ]);
    for argument in &exec.args {
        line(&["      - ", &Scalar(argument).to_string()]);
    }
    line(&["      command: ", &Scalar(&exec.command).to_string()]);
    line(&["      env:", if exec.env.is_empty() { " null" } else { "" }]);
    for (name, value) in &exec.env {
        line(&["      - name: ", &Scalar(name).to_string()]);
        line(&["        value: ", &Scalar(value).to_string()]);
    }
    line(&["      interactiveMode: Never"]);
    line(&["      provideClusterInfo: false"]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_hands_out_the_key() {
        let kubeconfig = Kubeconfig {
            cluster: "123".into(),
            server: "https://[2001:db8::1]:6443".into(),
            certificate_authority: Bytes::default(),
            proxy_url: Some("socks5://proxy:1080".into()),
            user: "on".into(),
            credential: UserCredential::Exec(ExecCredential {
                api_version: "client.authentication.k8s.io/v1".into(),
                command: "liqo-auth".into(),
                args: vec!["exec credential".into(), "--key".into()],
                env: vec![("A".into(), "b: c\n".into())],
            }),
            namespace: None,
        };
        let expected = r#"apiVersion: v1
clusters:
- cluster:
    proxy-url: socks5://proxy:1080
    server: https://[2001:db8::1]:6443
  name: "123"
contexts:
- context:
    cluster: "123"
    user: "on"
  name: default-context
current-context: default-context
kind: Config
users:
- name: "on"
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      args:
      - "exec credential"
      - "--key"
      command: liqo-auth
      env:
      - name: A
        value: "b: c\n"
      interactiveMode: Never
      provideClusterInfo: false
"#;
        let text = kubeconfig.to_yaml();
        assert_eq!(core::str::from_utf8(text.expose()).unwrap(), expected);
    }

    #[test]
    fn the_key_is_not_shown() {
        let credential = UserCredential::KeyData {
            certificate: Bytes::default(),
            key: b"hunter2".as_slice().into(),
        };
        assert!(!format!("{credential:?}").contains("hunter2"));
    }
}
