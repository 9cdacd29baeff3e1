//! Resource slices.

use std::collections::BTreeMap;

use super::{AdmissionRule, Denial, hold, may_be_cluster_id};
use crate::model::{Metadata, Quantity, ResourceSlice, names};

/// Admits the creation of a resource slice beside all others of the cluster. The
/// name of a replica may be taken already, since another cluster chose it.
///
/// # Errors
/// [`Denial`].
pub fn create(new: &ResourceSlice, others: &[&ResourceSlice]) -> Result<(), Denial> {
    formed(new)?;
    let is = |metadata: &Metadata, label: &str| {
        metadata.labels.get(label).map(String::as_str) == Some(names::TRUE)
    };
    if is(&new.metadata, names::REPLICATED_LABEL) {
        return Ok(());
    }
    let taken = others.iter().any(|other| {
        is(&other.metadata, names::REPLICATION_LABEL) && other.metadata.name == new.metadata.name
    });
    hold(!taken, AdmissionRule::SliceName, "metadata.name")
}

/// Admits a change of a resource slice by a user in these groups. Identities of
/// control planes, which are in the group `liqo.io`, may not change everything.
///
/// # Errors
/// [`Denial`].
pub fn update(old: &ResourceSlice, new: &ResourceSlice, groups: &[&str]) -> Result<(), Denial> {
    formed(new)?;
    if !groups.contains(&names::CONTROL_PLANE_ORGANIZATION) {
        return Ok(());
    }
    unchanged(
        (&old.metadata.labels, &new.metadata.labels),
        names::REMOTE_CLUSTER_ID_LABEL,
        [
            AdmissionRule::LabelChanged,
            AdmissionRule::LabelDeleted,
            AdmissionRule::LabelAdded,
        ],
        "metadata.labels[liqo.io/remote-cluster-id]",
    )?;
    unchanged(
        (&old.metadata.annotations, &new.metadata.annotations),
        names::CORDON_ANNOTATION,
        [
            AdmissionRule::CordonChanged,
            AdmissionRule::CordonDeleted,
            AdmissionRule::CordonAdded,
        ],
        "metadata.annotations[liqo.io/cordon]",
    )
}

fn unchanged(
    (old, new): (&BTreeMap<String, String>, &BTreeMap<String, String>),
    name: &str,
    [changed, deleted, added]: [AdmissionRule; 3],
    field: &'static str,
) -> Result<(), Denial> {
    match (old.get(name), new.get(name)) {
        (Some(old), Some(new)) => hold(old == new, changed, field),
        (Some(_), None) => hold(false, deleted, field),
        (None, Some(_)) => hold(false, added, field),
        (None, None) => Ok(()),
    }
}

/// The rules of the resource definition.
fn formed(new: &ResourceSlice) -> Result<(), Denial> {
    let is_id = |id: &Option<String>| id.as_deref().is_none_or(is_cluster_id);
    let spec = &new.spec;
    hold(
        is_id(&spec.consumer_cluster_id),
        AdmissionRule::ClusterIdForm,
        "spec.consumerClusterID",
    )?;
    hold(
        is_id(&spec.provider_cluster_id),
        AdmissionRule::ClusterIdForm,
        "spec.providerClusterID",
    )?;
    let quantities = |amounts: &BTreeMap<String, Quantity>| {
        amounts.values().all(|amount| is_quantity(amount.as_str()))
    };
    hold(
        quantities(&spec.resources),
        AdmissionRule::QuantityForm,
        "spec.resources",
    )?;
    hold(
        quantities(&new.status.resources),
        AdmissionRule::QuantityForm,
        "status.resources",
    )
}

/// A field that is present may not be empty.
fn is_cluster_id(text: &str) -> bool {
    !text.is_empty() && may_be_cluster_id(text)
}

/// `(\+|-)?NUMBER(SUFFIX)?`, as the resource definition has it.
fn is_quantity(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let end = unsigned
        .find(|character: char| !character.is_ascii_digit() && character != '.')
        .unwrap_or(unsigned.len());
    let (Some(number), Some(suffix)) = (unsigned.get(..end), unsigned.get(end..)) else {
        return false;
    };
    let exponent = || {
        let digits = suffix.strip_prefix(['e', 'E'])?;
        Some(digits.strip_prefix(['+', '-']).unwrap_or(digits))
    };
    is_number(number) && (SUFFIXES.contains(&suffix) || exponent().is_some_and(is_number))
}

/// `[0-9]+(\.[0-9]*)?` or `\.[0-9]+`.
fn is_number(text: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    match text.split_once('.') {
        None => !text.is_empty() && digits(text),
        Some((whole, part)) => {
            digits(whole) && digits(part) && !(whole.is_empty() && part.is_empty())
        }
    }
}

const SUFFIXES: [&str; 16] = [
    "", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "n", "u", "m", "k", "M", "G", "T", "P", "E",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_as_the_resource_definition_does() {
        for good in [
            "0", "2", "500m", "4Gi", "+1", "-1", "1.", ".5", "1.5k", "1e3", "1E-3", "12e+.5", "1E",
            "100Ki", "1n", "1u", "1P",
        ] {
            assert!(is_quantity(good), "{good}");
        }
        for bad in [
            "", ".", "+", "1..2", "1ki", "1K", "1e", "1e3k", "e3", "1 ", " 1", "1ee3", "--1",
            "1Gi1", "١", "1kk",
        ] {
            assert!(!is_quantity(bad), "{bad}");
        }
    }
}
