//! The settings for the resource slices of consumers: `slices` in a home's settings.

use std::collections::BTreeMap;

use liqo_auth::model::Quantity;
use serde::{Deserialize, Deserializer, Serialize, de::Error};

/// What the resource slices of consumers get.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Slices {
    /// How much of each resource a slice keeps of what Liqo has granted it, when its peering
    /// is taken over from Liqo. If this is left out, as much as Liqo grants by default.
    #[serde(deserialize_with = "amounts", skip_serializing_if = "Option::is_none")]
    pub(crate) adopt_up_to: Option<BTreeMap<String, Quantity>>,
}

impl Slices {
    pub(super) fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

/// Reads amounts that can be granted.
fn amounts<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<BTreeMap<String, Quantity>>, D::Error> {
    let amounts = BTreeMap::<String, Quantity>::deserialize(deserializer)?;
    for (resource, amount) in &amounts {
        amount.as_str().parse::<Quantity>().map_err(|_| {
            D::Error::custom(format_args!(
                "found another text for {resource:?}, expected a quantity such as 2, 500m or 4Gi"
            ))
        })?;
    }
    Ok(Some(amounts))
}

#[cfg(test)]
mod tests {
    use liqo_auth::model::read_document;

    use super::*;

    #[test]
    fn only_amounts_are_read() {
        let read = |text: &str| read_document::<Slices>(text.as_bytes());
        let read_amounts = read("adoptUpTo: {cpu: 2, memory: 4Gi}").unwrap();
        let expected = [("cpu", "2"), ("memory", "4Gi")];
        let expected = expected.map(|(name, amount)| (name.to_owned(), amount.into()));
        assert_eq!(read_amounts.adopt_up_to, Some(expected.into()));
        assert_eq!(read("adoptUpTo: {}").unwrap().adopt_up_to, Some([].into()));
        assert!(read("{}").unwrap().is_usual());
        for wrong in [
            "adoptUpTo: {cpu: much}",
            "adoptUpTo: {cpu: -1}",
            "adoptUpto: {}",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
