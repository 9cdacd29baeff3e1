//! The error for an invalid value.

/// Why a text or a number is not a valid value of its type. The error names the
/// expected form, and does not show the found value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ValueError(pub(crate) &'static str);
