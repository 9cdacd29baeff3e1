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

/// By which token a change lifts the recorded condition (rule 6): the key of the token in the
/// Secret with the provider's record of the peer. A change that sets a milder condition, and
/// nothing else, lifts it. `None` if the change lifts nothing.
///
/// The caller adds the token to the Tenant, as [`names::LIFT_CONDITION_ANNOTATION`]. It has to
/// know that a person makes the change, not a user of a peer: a Tenant that is applied from a
/// file says which condition the file has, and not that somebody lifts one. Who gets the token
/// can lift the condition.
///
/// # Examples
/// ```
/// use liqo_auth::{admission::tenant, model::{Tenant, TenantCondition, names}};
///
/// let with = |condition| {
///     let mut tenant = Tenant::default();
///     tenant.spec.tenant_condition = Some(condition);
///     tenant
/// };
/// let (cordoned, active) = (with(TenantCondition::Cordoned), with(TenantCondition::Active));
/// assert_eq!(tenant::lifted_by(&cordoned, &active), Some(names::LIFT_CONDITION));
/// assert_eq!(tenant::lifted_by(&active, &cordoned), None);
/// ```
pub fn lifted_by(old: &Tenant, new: &Tenant) -> Option<&'static str> {
    let (before, after) = (condition(old), condition(new));
    let mut alike = old.clone();
    alike.spec.tenant_condition = new.spec.tenant_condition;
    let written = &new.metadata.resource_version;
    alike.metadata.resource_version.clone_from(written);
    if after >= before || alike != *new {
        return None;
    }
    match after {
        TenantCondition::Active => Some(names::LIFT_CONDITION),
        TenantCondition::Cordoned => Some(names::LIFT_CONDITION_TO_CORDONED),
        TenantCondition::Drained => None,
    }
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

/// Without a condition, a Tenant is active.
fn condition(tenant: &Tenant) -> TenantCondition {
    tenant.spec.tenant_condition.unwrap_or_default()
}

/// The value of a label. As in Liqo, a missing label counts as empty.
fn label<'m>(metadata: &'m Metadata, name: &str) -> &'m str {
    metadata.labels.get(name).map_or("", String::as_str)
}
