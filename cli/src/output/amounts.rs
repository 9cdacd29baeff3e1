//! Amounts of resources in one line.

use std::collections::BTreeMap;

use liqo_auth::model::Quantity;

use super::escaped;

/// The amounts as in `cpu=4, memory=8Gi`.
pub(crate) fn amounts(resources: &BTreeMap<String, Quantity>) -> String {
    let amounts = resources.iter();
    let amounts: Vec<String> = amounts
        .map(|(resource, amount)| format!("{}={}", escaped(resource), escaped(amount.as_str())))
        .collect();
    amounts.join(", ")
}
