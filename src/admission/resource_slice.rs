//! The admission rules for resource slices.

use std::collections::BTreeMap;

use super::{AdmissionRule, Denial, hold, may_be_cluster_id};
use crate::model::{Metadata, Quantity, ResourceSlice, TextMap, names};

/// Admits the creation of a resource slice. `others` are all other resource slices
/// of the cluster. A replica may have the name of another resource slice, since
/// another cluster chose it.
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

/// Admits a change of a resource slice by a user in these groups. The identities of
/// control planes are in the group `liqo.io`. They may change neither the label
/// with the cluster ID nor the cordon annotation.
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
    (old, new): (&TextMap, &TextMap),
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

/// The rules of the CRD.
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
    let quantities =
        |amounts: &BTreeMap<String, Quantity>| amounts.values().all(Quantity::is_well_formed);
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

/// A field that is present must not be empty.
fn is_cluster_id(text: &str) -> bool {
    !text.is_empty() && may_be_cluster_id(text)
}
