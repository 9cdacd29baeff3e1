//! The name of a namespace.

use core::{fmt, str::FromStr};

use crate::model::{ClusterId, ClusterIdError};

/// The name of a namespace: a DNS label, `[a-z0-9]([-a-z0-9]*[a-z0-9])?`, of
/// at most 63 characters. Source: RFC 1123 section 2.1.
///
/// # Examples
/// ```
/// use liqo_auth::model::NamespaceName;
///
/// let namespace: NamespaceName = "liqo-tenant-cl-consumer".parse()?;
/// assert_eq!(namespace.as_str(), "liqo-tenant-cl-consumer");
/// assert!("../etc".parse::<NamespaceName>().is_err());
/// # Ok::<(), liqo_auth::model::NamespaceNameError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NamespaceName(ClusterId);

/// Why a text is no [`NamespaceName`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NamespaceNameError {
    /// The text is empty.
    #[error("the name of a namespace may not be empty")]
    Empty,
    /// The text is longer than a DNS label can be.
    #[error("the name of a namespace has at most {limit} characters, not {found}")]
    TooLong {
        /// The length found, in bytes.
        found: usize,
        /// The longest length allowed.
        limit: usize,
    },
    /// A byte is not allowed where it stands.
    #[error(
        "the name of a namespace has lower-case letters, digits and inner hyphens only; byte {at} is none of these"
    )]
    Character {
        /// Where the byte stands, counted from 0.
        at: usize,
    },
}

impl NamespaceName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl FromStr for NamespaceName {
    type Err = NamespaceNameError;

    fn from_str(text: &str) -> Result<Self, NamespaceNameError> {
        // Both are DNS labels.
        match text.parse() {
            Ok(label) => Ok(Self(label)),
            Err(ClusterIdError::Empty) => Err(NamespaceNameError::Empty),
            Err(ClusterIdError::TooLong { found, limit }) => {
                Err(NamespaceNameError::TooLong { found, limit })
            }
            Err(ClusterIdError::Character { at }) => Err(NamespaceNameError::Character { at }),
        }
    }
}

impl fmt::Display for NamespaceName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl AsRef<str> for NamespaceName {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dns_label_is_a_name_and_nothing_else() {
        assert_eq!(
            "liqo-tenant-x".parse::<NamespaceName>().unwrap().as_str(),
            "liqo-tenant-x"
        );
        for (text, error) in [
            ("", NamespaceNameError::Empty),
            ("a.b", NamespaceNameError::Character { at: 1 }),
            (
                &"a".repeat(64),
                NamespaceNameError::TooLong {
                    found: 64,
                    limit: 63,
                },
            ),
        ] {
            assert_eq!(text.parse::<NamespaceName>(), Err(error));
        }
    }
}
