//! Caps on the resources of a slice: the largest amount of each resource.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, de::Error as _};

use crate::model::Quantity;

/// The resources that Liqo grants by default. Source: `defaultNodeResources` in the values of
/// Liqo's chart.
pub(super) fn liqos_resources() -> BTreeMap<String, Quantity> {
    let resources = [
        ("cpu", "4"),
        ("memory", "8Gi"),
        ("pods", "110"),
        ("ephemeral-storage", "20Gi"),
    ];
    let resources = resources.into_iter();
    resources
        .map(|(resource, amount)| (resource.to_owned(), amount.into()))
        .collect()
}

/// Reads caps. Each has to be an amount that can be granted.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, Quantity>, D::Error> {
    let amounts = BTreeMap::<String, Amount>::deserialize(deserializer)?;
    let amounts = amounts.into_iter();
    Ok(amounts
        .map(|(resource, Amount(amount))| (resource, amount))
        .collect())
}

/// A quantity that can be granted.
struct Amount(Quantity);

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let quantity = Quantity::deserialize(deserializer)?;
        let granted = quantity.as_str().parse().map(Self);
        granted.map_err(|_| {
            D::Error::custom("found another text, expected a quantity such as 2, 500m or 4Gi")
        })
    }
}
