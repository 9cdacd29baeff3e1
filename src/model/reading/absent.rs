//! Empty values in Go's encoding: absent, `null` and empty mean the same.

use serde::{Deserialize, Deserializer};

/// Declares types of the Kubernetes API, as Go reads and writes them.
///
/// `null` is read as an absent field. An empty field is not written, unless it is
/// marked `always`.
macro_rules! api_types {
    ($($(#[$about:meta])* pub struct $Name:ident { $($fields:tt)* })+) => {$(
        $crate::model::sparse! {
            [deserialize_with = "crate::model::or_null"]
            [
                $(#[$about])*
                #[derive(Default, Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
                #[serde(rename_all = "camelCase", default)]
                pub struct $Name
            ]
            $($fields)*
        }
    )+};
}

/// Declares a type whose empty fields are not written, unless they are marked
/// `always`.
///
/// The first brackets contain serde's attributes for every field. The second brackets
/// contain the type without its fields.
macro_rules! sparse {
    ([$($serde:tt)*] [$($type:tt)*] $($fields:tt)*) => {
        $crate::model::sparse!(@ [$($serde)*] [$($type)*] {} $($fields)*);
    };
    (@ $serde:tt [$($type:tt)*] { $($done:tt)* }) => {
        $($type)* { $($done)* }
    };
    (
        @ [$($serde:tt)*] $type:tt { $($done:tt)* }
        $(#[$about:meta])* always $visibility:vis $field:ident: $Field:ty, $($rest:tt)*
    ) => {
        $crate::model::sparse! {
            @ [$($serde)*] $type
            { $($done)* $(#[$about])* #[serde($($serde)*)] $visibility $field: $Field, }
            $($rest)*
        }
    };
    (
        @ [$($serde:tt)*] $type:tt { $($done:tt)* }
        $(#[$about:meta])* $visibility:vis $field:ident: $Field:ty, $($rest:tt)*
    ) => {
        $crate::model::sparse! {
            @ [$($serde)*] $type
            {
                $($done)*
                $(#[$about])*
                #[serde(skip_serializing_if = "crate::model::is_default", $($serde)*)]
                $visibility $field: $Field,
            }
            $($rest)*
        }
    };
}

pub(crate) use api_types;
pub(crate) use sparse;

/// Reads `null` as an absent field.
pub(crate) fn or_null<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Whether a field is empty, so that Go does not write it.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
