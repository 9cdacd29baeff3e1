//! Taking rights back: when a peer is drained, and when its Tenant goes. Nothing
//! that the peer writes has to be readable for that (rule 10).

use crate::{
    audit::{Decision, Event},
    model::{Metadata, Resource, names},
    provider::{look::Look, observed::Observed, record::Plan},
};

/// Whether the Tenant is on its way out, or gone with rights left behind.
pub(in crate::provider) fn is_ending(observed: &Observed<'_>) -> bool {
    match observed.tenant_metadata() {
        Some(tenant) => tenant.deletion_timestamp.is_some(),
        None => has_rights(observed),
    }
}

/// Deletes the bindings that were made for the peer.
pub(in crate::provider) fn withdraw(look: &Look<'_>, plan: &mut Plan<'_>) {
    let observed = look.observed;
    if !has_rights(observed) {
        return;
    }
    plan.tell(Event::new(look.peer(), Decision::RightsWithdrawn));
    let in_namespace = observed.role_bindings.iter();
    for binding in in_namespace.filter(|binding| is_ours(observed, &binding.metadata)) {
        plan.withdraw(*binding);
    }
    let cluster_wide = observed.cluster_role_bindings.iter();
    for binding in cluster_wide.filter(|binding| is_ours(observed, &binding.metadata)) {
        plan.withdraw(*binding);
    }
}

/// Lets the Tenant go, after the bindings: those in the tenant namespace would
/// go with the Tenant that owns them, the cluster-wide ones would not.
pub(in crate::provider) fn let_tenant_go(look: &Look<'_>, plan: &mut Plan<'_>) {
    let observed = look.observed;
    let Some((id, metadata)) = observed.tenant_id().zip(observed.tenant_metadata()) else {
        return;
    };
    let ours = |finalizer: &String| finalizer == names::TENANT_FINALIZER;
    if !metadata.finalizers.iter().any(ours) {
        return;
    }
    match (observed.tenant, observed.unreadable_tenant) {
        (Some(tenant), _) => plan.edit(tenant, |tenant| {
            tenant
                .metadata
                .finalizers
                .retain(|finalizer| !ours(finalizer));
        }),
        (None, Some(tenant)) => plan.release_unreadable(tenant, names::TENANT_FINALIZER),
        (None, None) => {}
    }
    let ended = Event::new(look.peer(), Decision::Ended).about(id.clone());
    plan.tell_upon(id, ended);
}

fn has_rights(observed: &Observed<'_>) -> bool {
    let in_namespace = observed.role_bindings.iter().map(|it| it.metadata());
    let cluster_wide = observed
        .cluster_role_bindings
        .iter()
        .map(|it| it.metadata());
    in_namespace
        .chain(cluster_wide)
        .any(|metadata| is_ours(observed, metadata))
}

fn is_ours(observed: &Observed<'_>, metadata: &Metadata) -> bool {
    let label = |name: &str| metadata.labels.get(name).map(String::as_str);
    label(names::REMOTE_CLUSTER_ID_LABEL) == Some(observed.peer.as_str())
        && label(names::MANAGED_BY_LABEL) == Some(names::MANAGED_BY_LIQO)
        && metadata.name.starts_with(names::BINDING_PREFIX)
}
