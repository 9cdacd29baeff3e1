//! Kubeconfigs.

pub(super) mod form;

use core::fmt::Write as _;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::Deserialize;

use super::{Bytes, SecretBytes, SecretText, Wiped, names, reading::scalar::Scalar};

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
    /// A program that returns the certificate and the key.
    Exec(ExecCredential),
    /// A bearer token, such as that of a service account.
    Token(SecretText),
    /// The kubeconfig has no credential. Its reader authenticates in another way,
    /// such as with the AWS access key in the same Secret.
    Elsewhere,
}

/// An exec plugin: a program that a client runs for its credential. The plugin
/// never asks for input on a terminal.
///
/// Source: Kubernetes `clientcmdapiv1.ExecConfig`.
#[derive(Clone, Default, PartialEq, Eq, Deserialize, derive_more::Debug)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExecCredential {
    /// The version of the protocol, `client.authentication.k8s.io/v1`.
    pub api_version: String,
    /// The program.
    pub command: String,
    /// The arguments of the program.
    #[serde(default)]
    pub args: Vec<String>,
    /// The additional environment variables: names and values. `Debug` does not
    /// show the values.
    #[serde(default, deserialize_with = "form::variables")]
    #[debug("{:?}", env.iter().map(|(name, _)| name).collect::<Vec<_>>())]
    pub env: Vec<(String, String)>,
}

impl Kubeconfig {
    /// The text, byte for byte as Liqo writes it: YAML in block style, with sorted
    /// keys.
    ///
    /// A value is quoted as in JSON if a reader could read it as anything other than
    /// text.
    pub fn to_yaml(&self) -> SecretBytes {
        // The capacity suffices for the whole text: a growing buffer would leave copies
        // of secrets in memory that are not wiped.
        let mut text = Lines(Wiped::new(String::with_capacity(self.capacity())));
        text.line("apiVersion: v1");
        text.line("clusters:");
        text.line("- cluster:");
        if !self.certificate_authority.is_empty() {
            let authority = self.certificate_authority.as_slice();
            text.data("    certificate-authority-data", authority);
        }
        if let Some(proxy) = &self.proxy_url {
            text.field("    proxy-url", proxy);
        }
        text.field("    server", &self.server);
        text.field("  name", &self.cluster);
        text.line("contexts:");
        text.line("- context:");
        text.field("    cluster", &self.cluster);
        if let Some(namespace) = self.namespace.as_deref().filter(|name| !name.is_empty()) {
            text.field("    namespace", namespace);
        }
        text.field("    user", &self.user);
        let has_token = matches!(self.credential, UserCredential::Token(_));
        let context = match has_token {
            true => [&self.user, "@", &self.cluster].concat(),
            false => names::KUBECONFIG_CONTEXT.to_owned(),
        };
        text.field("  name", &context);
        text.field("current-context", &context);
        text.line("kind: Config");
        if has_token {
            text.line("preferences: {}");
        }
        text.line("users:");
        text.field("- name", &self.user);
        text.line(match &self.credential {
            UserCredential::Elsewhere => "  user: {}",
            _ => "  user:",
        });
        match &self.credential {
            UserCredential::KeyData { certificate, key } => {
                text.certificate(certificate);
                text.data("    client-key-data", key.expose());
            }
            UserCredential::KeyFile { certificate, key } => {
                text.certificate(certificate);
                text.field("    client-key", key);
            }
            UserCredential::Exec(exec) => text.exec(exec),
            UserCredential::Token(token) => text.field("    token", token.expose()),
            UserCredential::Elsewhere => {}
        }
        SecretBytes::from(core::mem::take(&mut *text.0).into_bytes())
    }

    fn capacity(&self) -> usize {
        let secret = match &self.credential {
            UserCredential::KeyData { certificate, key } => certificate.len() + key.expose().len(),
            UserCredential::Token(token) => 3 * token.expose().len(),
            UserCredential::Exec(exec) => exec.capacity(),
            UserCredential::KeyFile { certificate, key } => certificate.len() + 3 * key.len(),
            UserCredential::Elsewhere => 0,
        };
        let names = [&self.cluster, &self.server, &self.user].map(String::len);
        let optional =
            [&self.proxy_url, &self.namespace].map(|text| text.as_ref().map_or(0, String::len));
        // A quoted byte takes at most six bytes, and each name occurs at most four
        // times.
        1024 + 2 * (self.certificate_authority.len() + secret)
            + 24 * (names.iter().sum::<usize>() + optional.iter().sum::<usize>())
    }
}

impl ExecCredential {
    /// Half of the maximum length of the exec plugin's lines, since the caller doubles
    /// it. A quoted byte takes at most six bytes, and the rest of a line takes at most
    /// twenty.
    fn capacity(&self) -> usize {
        let variables = self.env.iter().flat_map(|(name, value)| [name, value]);
        let own = [&self.api_version, &self.command];
        let texts = own.into_iter().chain(&self.args).chain(variables);
        texts.map(|text| 3 * text.len() + 10).sum()
    }
}

/// The lines of a kubeconfig.
struct Lines(Wiped<String>);

impl Lines {
    fn line(&mut self, line: &str) {
        self.0.extend([line, "\n"]);
    }

    fn field(&mut self, name: &str, value: &str) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.0, "{name}: {}", Scalar(value));
    }

    /// A field with bytes in base64. PEM in base64 begins with `LS0t`. No number and no
    /// keyword of YAML begins so, and such a text does not need quotes.
    fn data(&mut self, name: &str, bytes: &[u8]) {
        let text = Wiped::new(STANDARD.encode(bytes));
        match bytes.starts_with(b"-----") {
            true => self.0.extend([name, ": ", &text, "\n"]),
            false => self.field(name, &text),
        }
    }

    fn certificate(&mut self, certificate: &Bytes) {
        if !certificate.is_empty() {
            self.data("    client-certificate-data", certificate.as_slice());
        }
    }

    fn exec(&mut self, exec: &ExecCredential) {
        self.line("    exec:");
        self.field("      apiVersion", &exec.api_version);
        self.list("      args:", exec.args.is_empty());
        for argument in &exec.args {
            // Writing to a String cannot fail.
            let _ = writeln!(self.0, "      - {}", Scalar(argument));
        }
        self.field("      command", &exec.command);
        self.list("      env:", exec.env.is_empty());
        for (name, value) in &exec.env {
            self.field("      - name", name);
            self.field("        value", value);
        }
        self.line("      interactiveMode: Never");
        self.line("      provideClusterInfo: false");
    }

    /// Begins a list. An empty list is `null`.
    fn list(&mut self, name: &str, is_empty: bool) {
        self.line(&[name, if is_empty { " null" } else { "" }].concat());
    }
}

#[cfg(test)]
mod tests;
