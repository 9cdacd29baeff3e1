//! A short name for a key or a certificate.

use core::{fmt, str::FromStr};

use sha2::{Digest, Sha256};

/// The SHA-256 of a key's SubjectPublicKeyInfo, or of a certificate, in DER.
///
/// It is written `SHA256:` and 64 hexadecimal digits, and read in either case.
///
/// # Examples
/// ```
/// use liqo_auth::crypto::Fingerprint;
///
/// let text = "SHA256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
/// let fingerprint: Fingerprint = text.parse()?;
/// assert_eq!(fingerprint.to_string(), text);
/// # Ok::<(), liqo_auth::crypto::FingerprintError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint([u8; 32]);

/// Why a text is no [`Fingerprint`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FingerprintError {
    /// The text does not begin with `SHA256:`.
    #[error("a fingerprint begins with \"SHA256:\"")]
    Prefix,
    /// What follows is not 64 hexadecimal digits.
    #[error("a fingerprint has 64 hexadecimal digits after \"SHA256:\"")]
    Digits,
}

impl Fingerprint {
    /// The 32 bytes of the hash.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    pub(crate) const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub(super) fn of(der: &[u8]) -> Self {
        Self(Sha256::digest(der).into())
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(PREFIX)?;
        self.0
            .iter()
            .try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl FromStr for Fingerprint {
    type Err = FingerprintError;

    fn from_str(text: &str) -> Result<Self, FingerprintError> {
        let digits = text.strip_prefix(PREFIX).ok_or(FingerprintError::Prefix)?;
        if digits.len() != 64 {
            return Err(FingerprintError::Digits);
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
            for digit in pair {
                let value = char::from(*digit)
                    .to_digit(16)
                    .ok_or(FingerprintError::Digits)?;
                *byte = (*byte << 4) | u8::try_from(value).unwrap_or(0);
            }
        }
        Ok(Self(bytes))
    }
}

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
        use FingerprintError::*;
        for (text, error) in [
            ("", Prefix),
            ("MD5:00", Prefix),
            ("SHA256:", Digits),
            (&format!("SHA256:{}", "0".repeat(63)), Digits),
            (&format!("SHA256:{}", "g".repeat(64)), Digits),
            (&format!("SHA256:{}", "ć".repeat(32)), Digits),
        ] {
            assert_eq!(text.parse::<Fingerprint>(), Err(error), "{text}");
        }
    }
}
