//! Recognises a text that is not a manifest: keys, certificates, kubeconfigs, nonces,
//! and texts in another encoding.

use liqo_auth::{
    crypto::Nonce,
    model::manifest,
    policy::{Limits, Policy},
};

/// What a text is, if it is no manifest of the exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recognised {
    /// Nothing but white space.
    Empty,
    /// UTF-16, as PowerShell 5 writes it.
    Utf16,
    /// A line that is indented with a tab.
    Tab {
        /// The number of the line, from 1 on.
        line: usize,
    },
    /// A private key.
    PrivateKey,
    /// A private key and its certificate.
    PrivateKeyWithCertificate,
    /// A certificate.
    Certificate,
    /// A certificate signing request.
    SigningRequest,
    /// A public key.
    PublicKey,
    /// A kubeconfig.
    Kubeconfig,
    /// A nonce.
    Nonce,
}

impl Recognised {
    /// What the text is, or none if it may be a manifest.
    pub fn of(text: &[u8]) -> Option<Self> {
        if is_utf16(text) {
            return Some(Self::Utf16);
        }
        let trimmed = text.trim_ascii();
        if trimmed.is_empty() {
            return Some(Self::Empty);
        }
        if let Some(pem) = of_pem(text) {
            return Some(pem);
        }
        if Nonce::parse(trimmed, &Policy::compatible()).is_ok() {
            return Some(Self::Nonce);
        }
        if is_kubeconfig(text) {
            return Some(Self::Kubeconfig);
        }
        // A tab inside a value is legal.
        if manifest::read(text, &Limits::default()).is_ok() {
            return None;
        }
        let is_tabbed = |line: &[u8]| {
            let mut indent = line.iter().take_while(|byte| byte.is_ascii_whitespace());
            indent.any(|byte| *byte == b'\t')
        };
        let line = text.split(|byte| *byte == b'\n').position(is_tabbed)?;
        Some(Self::Tab { line: line + 1 })
    }

    /// What it is, and what to do with it.
    pub fn sentence(self) -> String {
        match self {
            Self::Empty => "It is empty.".to_owned(),
            Self::Utf16 => "It is in UTF-16, as PowerShell's `>` writes it. Write it in UTF-8, for example with `| Out-File -Encoding utf8 FILE`.".to_owned(),
            Self::Tab { line } => format!(
                "Line {line} is indented with a tab, which YAML does not allow. Indent with spaces."
            ),
            Self::PrivateKey => "It is a private key, which no other cluster needs. Keep it secret.".to_owned(),
            Self::PrivateKeyWithCertificate => "It is a certificate with its private key, which no other cluster needs. Keep it secret.".to_owned(),
            Self::Certificate => "It is a certificate. A peer sends its certificate inside an Identity.".to_owned(),
            Self::SigningRequest => "It is a certificate signing request. A peer sends its request inside a Tenant.".to_owned(),
            Self::PublicKey => "It is a public key. A peer sends its key inside a Tenant.".to_owned(),
            Self::Kubeconfig => "It is a kubeconfig. Use it with kubectl, or name its cluster with --kubeconfig.".to_owned(),
            Self::Nonce => "It is a nonce. The consumer signs it with: generate tenant --remote-cluster-id PROVIDER --nonce - < FILE".to_owned(),
        }
    }
}

/// The sentence for a text, if it is recognised, after a space.
pub fn hint(text: &[u8]) -> String {
    let recognised = Recognised::of(text).map(Recognised::sentence);
    recognised.map_or_else(String::new, |sentence| format!(" {sentence}"))
}

fn is_utf16(text: &[u8]) -> bool {
    let has_mark = text.starts_with(&[0xff, 0xfe]) || text.starts_with(&[0xfe, 0xff]);
    // Without a mark, every other byte of ASCII text is zero.
    let zeros = |offset: usize| {
        let mut bytes = text.iter().skip(offset).step_by(2).take(8);
        text.len() >= 4 && bytes.all(|byte| *byte == 0)
    };
    has_mark || zeros(0) || zeros(1)
}

fn of_pem(text: &[u8]) -> Option<Recognised> {
    let blocks = pem::parse_many(text).ok()?;
    let has = |end: &str| blocks.iter().any(|block| block.tag().ends_with(end));
    Some(match (has("PRIVATE KEY"), has("CERTIFICATE")) {
        (true, true) => Recognised::PrivateKeyWithCertificate,
        (true, false) => Recognised::PrivateKey,
        (false, true) => Recognised::Certificate,
        (false, false) if has("CERTIFICATE REQUEST") => Recognised::SigningRequest,
        (false, false) if has("PUBLIC KEY") => Recognised::PublicKey,
        (false, false) => return None,
    })
}

fn is_kubeconfig(text: &[u8]) -> bool {
    let objects = manifest::read(text, &Limits::default()).unwrap_or_default();
    let mut unreadable = objects.iter().filter_map(|object| object.as_unreadable());
    unreadable.any(|object| object.kind == "Config" && object.api_version == "v1")
}

#[cfg(test)]
mod tests {
    use base64::{Engine, engine::general_purpose::STANDARD};

    use super::*;

    #[test]
    fn texts_that_are_no_manifests_are_recognised() {
        let utf16: Vec<u8> = "kind: Tenant\n"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        let bytes: Vec<u8> = (0..64).collect();
        let nonce = format!("{}\r\n", STANDARD.encode(bytes));
        for (text, recognised) in [
            (b" \n".as_slice(), Recognised::Empty),
            (&utf16, Recognised::Utf16),
            (
                &[&[0xff, 0xfe], utf16.as_slice()].concat(),
                Recognised::Utf16,
            ),
            (
                b"kind: Tenant\nspec:\n\tcsr: x\n",
                Recognised::Tab { line: 3 },
            ),
            (
                b"apiVersion: v1\nkind: Config\nclusters: []\n",
                Recognised::Kubeconfig,
            ),
            (nonce.as_bytes(), Recognised::Nonce),
        ] {
            assert_eq!(Recognised::of(text), Some(recognised));
        }
        assert_eq!(Recognised::of(b"kind: Tenant\napiVersion: x\n"), None);
        assert_eq!(Recognised::of(b"nonsense"), None);
    }
}
