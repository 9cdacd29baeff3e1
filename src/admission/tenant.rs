//! The admission rules for Tenants.

use super::{AdmissionRule, Denial, hold, may_be_cluster_id};
use crate::model::{AuthzPolicy, Metadata, Namespace, Tenant, TenantCondition, names};

/// The other objects that the rules for a Tenant read.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    /// The namespace of the new Tenant, if it exists.
    pub namespace: Option<&'a Namespace>,
    /// Every Tenant of the cluster.
    pub tenants: &'a [&'a Tenant],
}

/// The Tenant with the defaults of an API server with Liqo: the label with the
/// cluster ID, `KeysExchange` and `Active`.
pub fn defaulted(tenant: &Tenant) -> Tenant {
    let mut tenant = tenant.clone();
    let cluster_id = tenant.spec.cluster_id.clone();
    tenant
        .metadata
        .labels
        .entry(names::REMOTE_CLUSTER_ID_LABEL.to_owned())
        .or_insert(cluster_id);
    let spec = &mut tenant.spec;
    spec.authz_policy.get_or_insert(AuthzPolicy::KeysExchange);
    spec.tenant_condition.get_or_insert(TenantCondition::Active);
    tenant
}

/// Admits the creation of a Tenant.
///
/// # Errors
/// [`Denial`].
pub fn create(new: &Tenant, surroundings: &Surroundings<'_>) -> Result<(), Denial> {
    consistent(new, surroundings)?;
    let tenants = surroundings.tenants;
    let namespace = &new.metadata.namespace;
    let in_namespace = tenants
        .iter()
        .any(|other| other.metadata.namespace == *namespace);
    hold(
        !in_namespace,
        AdmissionRule::TenantInNamespace,
        "metadata.namespace",
    )?;
    let name = &new.metadata.name;
    let in_cluster = tenants.iter().any(|other| other.metadata.name == *name);
    hold(!in_cluster, AdmissionRule::TenantName, "metadata.name")
}

/// Admits a change of a Tenant.
///
/// Two Tenants may have the same name if they are older than the rule. Both may be
/// changed, because the removal of a finalizer is a change: a denial would prevent
/// their deletion.
///
/// # Errors
/// [`Denial`].
pub fn update(old: &Tenant, new: &Tenant, surroundings: &Surroundings<'_>) -> Result<(), Denial> {
    let before = &old.spec.cluster_id;
    hold(
        before.is_empty() || *before == new.spec.cluster_id,
        AdmissionRule::ClusterIdImmutable,
        "spec.clusterID",
    )?;
    consistent(new, surroundings)?;
    let mut of_that_name = surroundings
        .tenants
        .iter()
        .filter(|other| other.metadata.name == new.metadata.name);
    let another = match (of_that_name.next(), of_that_name.next()) {
        (Some(only), None) => only.metadata.uid != new.metadata.uid,
        _ => false,
    };
    hold(!another, AdmissionRule::TenantName, "metadata.name")
}

/// The rules on a Tenant itself and on its namespace.
fn consistent(new: &Tenant, surroundings: &Surroundings<'_>) -> Result<(), Denial> {
    let cluster_id = new.spec.cluster_id.as_str();
    hold(
        may_be_cluster_id(cluster_id),
        AdmissionRule::ClusterIdForm,
        "spec.clusterID",
    )?;
    let Some(namespace) = surroundings.namespace else {
        return hold(false, AdmissionRule::NamespaceMissing, "metadata.namespace");
    };
    let metadata = &namespace.metadata;
    hold(
        label(metadata, names::TENANT_NAMESPACE_LABEL) == names::TRUE,
        AdmissionRule::TenantNamespace,
        "metadata.namespace",
    )?;
    hold(
        label(&new.metadata, names::REMOTE_CLUSTER_ID_LABEL) == cluster_id,
        AdmissionRule::LabelMatchesSpec,
        "metadata.labels[liqo.io/remote-cluster-id]",
    )?;
    hold(
        label(metadata, names::REMOTE_CLUSTER_ID_LABEL) == cluster_id,
        AdmissionRule::NamespaceOfSameCluster,
        "spec.clusterID",
    )
}

/// The value of a label. As in Liqo, a missing label counts as empty.
fn label<'m>(metadata: &'m Metadata, name: &str) -> &'m str {
    metadata.labels.get(name).map_or("", String::as_str)
}
