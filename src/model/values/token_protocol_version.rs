//! The versions of the token protocol of Liqo 0.2 to 0.10.

use core::str::FromStr;

use crate::model::{ValueError, as_text};

/// A version of the token protocol.
///
/// # Examples
/// ```
/// use liqo_auth::model::ProtocolVersion;
///
/// assert!(ProtocolVersion::V0_2 < ProtocolVersion::V0_4);
/// assert_eq!("0.3".parse(), Ok(ProtocolVersion::V0_3));
/// assert_eq!(ProtocolVersion::V0_4.to_string(), "0.4");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, derive_more::Display)]
#[display("{}", self.as_str())]
pub enum ProtocolVersion {
    /// Liqo 0.2: `POST /identity`. The answer is the kubeconfig of a service
    /// account.
    V0_2,
    /// Liqo 0.3: `POST /identity/certificate`, with the field `clusterID`.
    V0_3,
    /// Liqo 0.4 to 0.10: the same path, with the field `cluster`.
    V0_4,
}

impl ProtocolVersion {
    /// The version as text: `0.2`, `0.3` or `0.4`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V0_2 => "0.2",
            Self::V0_3 => "0.3",
            Self::V0_4 => "0.4",
        }
    }
}

impl FromStr for ProtocolVersion {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        [Self::V0_2, Self::V0_3, Self::V0_4]
            .into_iter()
            .find(|version| version.as_str() == text)
            .ok_or(ValueError("expected one of the versions 0.2, 0.3 and 0.4"))
    }
}

as_text!(ProtocolVersion);
