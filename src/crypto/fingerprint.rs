//! Fingerprints of keys and certificates.

use core::str::FromStr;

use sha2::{Digest, Sha256};

use crate::model::{Hex, ValueError, as_text, read_hex};

/// The SHA-256 of a key's SubjectPublicKeyInfo, or of a certificate, in DER.
///
/// The text form is `SHA256:` and 64 hexadecimal digits. Digits in either case are
/// read; lower case is written.
///
/// # Examples
/// ```
/// use liqo_auth::crypto::Fingerprint;
///
/// let text = "SHA256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
/// let fingerprint: Fingerprint = text.parse()?;
/// assert_eq!(fingerprint.to_string(), text);
/// # Ok::<(), liqo_auth::model::ValueError>(())
/// ```
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, derive_more::Debug, derive_more::Display,
)]
#[display("{PREFIX}{}", Hex(_0))]
#[debug("{self}")]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// The 32 bytes of the hash.
    pub(crate) const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    pub(crate) const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub(crate) fn of(der: &[u8]) -> Self {
        Self(Sha256::digest(der).into())
    }
}

impl FromStr for Fingerprint {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let digits = text.strip_prefix(PREFIX).ok_or(FORM)?;
        read_hex(digits).map(Self).ok_or(FORM)
    }
}

as_text!(Fingerprint);

const FORM: ValueError =
    ValueError("the fingerprint does not have 64 hexadecimal digits after \"SHA256:\"");
const PREFIX: &str = "SHA256:";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trips_in_either_case() {
        let fingerprint = Fingerprint::of(b"liqo");
        let text = fingerprint.to_string();
        assert_eq!(text.parse(), Ok(fingerprint));
        let upper = format!(
            "SHA256:{}",
            text.trim_start_matches("SHA256:").to_uppercase()
        );
        assert_eq!(upper.parse(), Ok(fingerprint));
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "MD5:00",
            "SHA256:",
            &format!("SHA256:{}", "0".repeat(63)),
            &format!("SHA256:{}", "g".repeat(64)),
            &format!("SHA256:{}", "ć".repeat(32)),
        ] {
            assert_eq!(text.parse::<Fingerprint>(), Err(FORM), "{text}");
        }
    }
}
