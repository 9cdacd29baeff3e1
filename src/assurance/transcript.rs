//! A short code over the agreement of two clusters. Their administrators read it
//! to each other. Different codes show that a file was changed in transit.
//!
//! Each side computes the code from its own objects ([`Provider::transcript`],
//! [`Consumer::transcript`]). The other side may run Liqo:
//! `docs/explanation/comparing-transcripts.md` has a recipe without this library. A
//! renewal does not change the code, since no certificate is part of it.
//!
//! The code is the first 128 bits of the SHA-256 of a text of nine lines:
//!
//! ```text
//! liqo-auth transcript v1
//! provider <SHA-256 of the provider's cluster ID>
//! consumer <SHA-256 of the consumer's cluster ID>
//! nonce <SHA-256 of the nonce's text>
//! consumer-key <SHA-256 of the consumer's SubjectPublicKeyInfo in DER>
//! api-server <SHA-256 of the API server's URL>
//! ca <SHA-256 of the CA bundle in PEM, without NUL bytes>
//! proxy <SHA-256 of the proxy's URL, or of nothing>
//! namespace <SHA-256 of the name of the provider's tenant namespace>
//! ```
//!
//! Each hash is written in 64 lower-case hexadecimal digits. Each line ends in a
//! line feed. If two codes differ, comparing the texts shows which line differs.
//!
//! [`Provider::transcript`]: crate::Provider::transcript
//! [`Consumer::transcript`]: crate::Consumer::transcript

use core::{fmt, str::FromStr};

use sha2::{Digest, Sha256};

use crate::{
    crypto::{Nonce, PublicKey},
    model::{AuthParams, ClusterId, Hex, ValueError},
};

/// The agreement of two clusters, hashed line by line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transcript {
    text: String,
}

/// The content of a transcript.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Agreement<'a> {
    pub(crate) provider: &'a ClusterId,
    pub(crate) consumer: &'a ClusterId,
    /// The nonce that the consumer signed.
    pub(crate) nonce: &'a Nonce,
    /// The key that signed the nonce.
    pub(crate) consumer_key: &'a PublicKey,
    /// The provider's answer. Its API server, CA and proxy are part of the
    /// transcript. Its credentials are not.
    pub(crate) auth_params: &'a AuthParams,
    /// The tenant namespace on the provider.
    pub(crate) namespace: &'a str,
}

/// 128 bits that people can read aloud: eight numbers of five digits, each of
/// 16 bits, with hyphens between.
///
/// # Examples
/// ```
/// use liqo_auth::assurance::transcript::Code;
///
/// let text = "57920-62326-30938-32023-61992-48412-15597-26962";
/// let code: Code = text.replace('-', " ").parse()?;
/// assert_eq!(code.to_string(), text);
/// # Ok::<(), liqo_auth::model::ValueError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, derive_more::Debug)]
#[debug("{self}")]
pub struct Code([u16; GROUPS]);

impl Transcript {
    /// The transcript of an agreement.
    pub(crate) fn of(agreement: &Agreement<'_>) -> Self {
        let address = agreement.auth_params;
        // Liqo pads a CA bundle that it copies from an option with NUL bytes.
        let mut ca = address.ca.to_vec();
        ca.retain(|byte| *byte != 0);
        let proxy_url = address.proxy_url.as_deref().unwrap_or_default();
        let mut text = format!("{HEADING}\n");
        for (name, value) in [
            ("provider", agreement.provider.as_str().as_bytes()),
            ("consumer", agreement.consumer.as_str().as_bytes()),
            ("nonce", agreement.nonce.as_bytes()),
            ("consumer-key", agreement.consumer_key.spki_der()),
            ("api-server", address.api_server.as_bytes()),
            ("ca", &ca),
            ("proxy", proxy_url.as_bytes()),
            ("namespace", agreement.namespace.as_bytes()),
        ] {
            text.push_str(&format!("{name} {}\n", Hex(&Sha256::digest(value))));
        }
        Self { text }
    }

    /// The code that the administrators compare.
    pub fn code(&self) -> Code {
        let hash = Sha256::digest(self.text.as_bytes());
        let mut groups = [0; GROUPS];
        for (group, pair) in groups.iter_mut().zip(hash.as_chunks().0) {
            *group = u16::from_be_bytes(*pair);
        }
        Code(groups)
    }

    /// The nine lines that are hashed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The names of the lines in which two transcripts differ, such as `ca`.
    pub fn differences(&self, other: &Self) -> Vec<&str> {
        self.text
            .lines()
            .zip(other.text.lines())
            .filter(|(mine, others)| mine != others)
            .filter_map(|(mine, _)| mine.split_once(' ').map(|(name, _)| name))
            .collect()
    }
}

impl fmt::Display for Code {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, group) in self.0.iter().enumerate() {
            let hyphen = if index == 0 { "" } else { "-" };
            write!(formatter, "{hyphen}{group:05}")?;
        }
        Ok(())
    }
}

/// Accepts hyphens or white space between the numbers, as a person types them.
impl FromStr for Code {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let separator = |character: char| character == '-' || character.is_ascii_whitespace();
        let numbers = || text.split(separator).filter(|number| !number.is_empty());
        let mut groups = [0; GROUPS];
        if numbers().count() != GROUPS {
            return Err(FORM);
        }
        for (group, number) in groups.iter_mut().zip(numbers()) {
            let digits = number.len() == 5 && number.bytes().all(|byte| byte.is_ascii_digit());
            *group = number.parse().ok().filter(|_| digits).ok_or(FORM)?;
        }
        Ok(Self(groups))
    }
}

const HEADING: &str = "liqo-auth transcript v1";
const GROUPS: usize = 8;
const FORM: ValueError =
    ValueError("the transcript's code is not eight numbers of five digits, from 00000 to 65535");

#[cfg(test)]
mod tests;
