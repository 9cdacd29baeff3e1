//! Amounts of resources.

use core::fmt;

use serde::{Deserialize, Deserializer, Serialize, de};

/// An amount of a resource as it is written, such as `2`, `500m` or `4Gi`.
///
/// Whether it is one is not checked here: [`amount`](Self::amount) does. Source: Kubernetes
/// `resource.Quantity`, which reads a number of JSON as well as a text.
///
/// # Examples
/// ```
/// use liqo_auth::model::Quantity;
///
/// let cpu: Quantity = serde_json::from_str("2")?;
/// assert_eq!(cpu, Quantity::from("2"));
/// assert_eq!(serde_json::to_string(&cpu)?, "\"2\"");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Default, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Quantity(String);

impl Quantity {
    /// As it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Quantity {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl From<String> for Quantity {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextOrNumber;
        impl de::Visitor<'_> for TextOrNumber {
            type Value = Quantity;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a quantity")
            }

            fn visit_str<E>(self, text: &str) -> Result<Quantity, E> {
                Ok(Quantity::from(text))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Quantity, E> {
                Ok(Quantity(number.to_string()))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Quantity, E> {
                Ok(Quantity(number.to_string()))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Quantity, E> {
                Ok(Quantity(number.to_string()))
            }
        }
        deserializer.deserialize_any(TextOrNumber)
    }
}
