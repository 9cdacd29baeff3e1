//! Cluster IDs.

use core::str::FromStr;
use std::sync::Arc;

use crate::model::as_text;

/// The ID of a cluster: a DNS label, `[a-z0-9]([-a-z0-9]*[a-z0-9])?`, of at
/// most 63 characters.
///
/// The form is strict, because a cluster ID becomes the name of a Kubernetes user,
/// the name of a group (for resource slices), a label value and a part of object
/// names.
/// Source: Liqo `liqov1beta1.ClusterID`; RFC 1123 section 2.1.
///
/// # Examples
/// ```
/// use liqo_auth::model::ClusterId;
///
/// let consumer: ClusterId = "cl-consumer".parse()?;
/// assert_eq!(consumer.as_str(), "cl-consumer");
/// assert!("system:admin".parse::<ClusterId>().is_err());
/// # Ok::<(), liqo_auth::model::NameError>(())
/// ```
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, derive_more::AsRef, derive_more::Display,
)]
#[as_ref(str)]
pub struct ClusterId(Arc<str>);

/// Why a text is not a [`ClusterId`] or [`NamespaceName`](crate::model::NamespaceName).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// The text is empty.
    #[error("the name is empty")]
    Empty,
    /// The text is longer than a label value can be.
    #[error("the name has {found} bytes, expected at most {limit}")]
    TooLong {
        /// The length found, in bytes.
        found: usize,
        /// The longest length allowed.
        limit: usize,
    },
    /// A byte is not allowed at its position.
    #[error("byte {at} of the name is not a lower-case letter, a digit or an inner hyphen")]
    Character {
        /// The position of the byte, counted from 0.
        at: usize,
    },
}

impl ClusterId {
    /// The longest cluster ID: the length of a label value.
    pub const MAX_LEN: usize = 63;

    /// The ID as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ClusterId {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        if text.is_empty() {
            return Err(NameError::Empty);
        }
        let (found, limit) = (text.len(), Self::MAX_LEN);
        if found > limit {
            return Err(NameError::TooLong { found, limit });
        }
        let last = found - 1;
        let is_allowed = |(at, byte)| match byte {
            b'a'..=b'z' | b'0'..=b'9' => true,
            b'-' => at != 0 && at != last,
            _ => false,
        };
        let mut bytes = text.bytes().enumerate();
        match bytes.position(|at_and_byte| !is_allowed(at_and_byte)) {
            Some(at) => Err(NameError::Character { at }),
            None => Ok(Self(text.into())),
        }
    }
}

as_text!(ClusterId);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dns_label_is_a_cluster_id() {
        for text in ["a", "0", "cl-consumer", &"a".repeat(63)] {
            assert_eq!(text.parse::<ClusterId>().unwrap().as_str(), text);
        }
    }

    #[test]
    fn anything_else_is_refused_with_its_place() {
        use NameError::*;
        for (text, error) in [
            ("", Empty),
            ("CL", Character { at: 0 }),
            ("cl_consumer", Character { at: 2 }),
            ("-cl", Character { at: 0 }),
            ("cl-", Character { at: 2 }),
            ("cl\nname: x", Character { at: 2 }),
            ("cl\0", Character { at: 2 }),
            ("ćl", Character { at: 0 }),
        ] {
            assert_eq!(text.parse::<ClusterId>(), Err(error), "{text:?}");
        }
        assert_eq!(
            "a".repeat(64).parse::<ClusterId>(),
            Err(TooLong {
                found: 64,
                limit: 63
            })
        );
    }

    #[test]
    fn a_message_says_what_was_found() {
        for (text, expected) in [
            (String::new(), "the name is empty"),
            ("a".repeat(64), "the name has 64 bytes, expected at most 63"),
            (
                "cl-".to_owned(),
                "byte 2 of the name is not a lower-case letter, a digit or an inner hyphen",
            ),
        ] {
            let error = text.parse::<ClusterId>().unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
    }
}
