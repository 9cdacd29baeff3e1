//! The name of a namespace.

use core::str::FromStr;

use crate::model::{ClusterId, NameError, as_text};

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
/// # Ok::<(), liqo_auth::model::NameError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, derive_more::Display)]
pub struct NamespaceName(ClusterId);

impl NamespaceName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl FromStr for NamespaceName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        // A namespace name has the same form as a cluster ID: a DNS label.
        text.parse().map(Self)
    }
}

as_text!(NamespaceName);

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
            ("", NameError::Empty),
            ("a.b", NameError::Character { at: 1 }),
            (
                &"a".repeat(64),
                NameError::TooLong {
                    found: 64,
                    limit: 63,
                },
            ),
        ] {
            assert_eq!(text.parse::<NamespaceName>(), Err(error));
        }
    }
}
