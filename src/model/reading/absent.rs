//! Empty values in Go's encoding: absent, `null` and empty mean the same.

use serde::{Deserialize, Deserializer};

/// Reads `null` as an absent field.
pub(in crate::model) fn or_null<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Whether a field has its default value, so that Go does not write it.
pub(in crate::model) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
