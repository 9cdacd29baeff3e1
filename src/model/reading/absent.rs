//! What Go leaves out: absent, `null` and empty are one and the same.

use serde::{Deserialize, Deserializer};

/// Reads `null` as if the field were not there.
pub(in crate::model) fn or_null<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Whether a number is the one that Go does not write.
#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
pub(in crate::model) const fn is_zero(number: &i64) -> bool {
    *number == 0
}
