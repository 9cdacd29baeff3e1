//! The admission rules for resource slices.

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
    let is = |metadata: &Metadata, label: &str| metadata.label(label) == Some(names::TRUE);
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
    let spec = &new.spec;
    for (id, field) in [
        (&spec.consumer_cluster_id, "spec.consumerClusterID"),
        (&spec.provider_cluster_id, "spec.providerClusterID"),
    ] {
        let is_formed = id.as_deref().is_none_or(is_cluster_id);
        hold(is_formed, AdmissionRule::ClusterIdForm, field)?;
    }
    for (amounts, field) in [
        (&spec.resources, "spec.resources"),
        (&new.status.resources, "status.resources"),
    ] {
        let are_formed = amounts.values().all(Quantity::is_well_formed);
        hold(are_formed, AdmissionRule::QuantityForm, field)?;
    }
    Ok(())
}

/// A field that is present must not be empty.
fn is_cluster_id(text: &str) -> bool {
    !text.is_empty() && may_be_cluster_id(text)
}
