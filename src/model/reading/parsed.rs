//! Deserializes values that have a text form.

use core::{fmt, marker::PhantomData, str::FromStr};

use serde::{
    Deserializer,
    de::{self, Visitor},
};

/// Reads a value by its `FromStr`.
pub(crate) fn parsed<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: FromStr<Err: fmt::Display>,
    D: Deserializer<'de>,
{
    deserializer.deserialize_str(Parsed(PhantomData))
}

/// Gives types their JSON form: the text that `Display` writes and `FromStr` reads.
macro_rules! as_text {
    ($($Type:ty),+) => {$(
        impl serde::Serialize for $Type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $Type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::model::parsed(deserializer)
            }
        }
    )+};
}
pub(crate) use as_text;

struct Parsed<T>(PhantomData<T>);

impl<T: FromStr<Err: fmt::Display>> Visitor<'_> for Parsed<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a string")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(|error| {
            E::custom(format_args!(
                "found an invalid text, expected a valid one: {error}"
            ))
        })
    }
}
