//! Withdraws the rights of a peer that is drained or whose Tenant is deleted. This
//! works even if the objects that the peer can write are unreadable (rule 10).

use crate::{
    audit::{Decision, Event},
    model::names,
    provider::{look::Look, observed::Observed, records::Plan},
};

/// Whether the Tenant is being deleted, or is gone while rights remain.
pub(crate) fn is_ending(observed: &Observed<'_>) -> bool {
    match observed.tenant_metadata() {
        Some(tenant) => tenant.deletion_timestamp.is_some(),
        None => observed.has_rights(),
    }
}

/// Deletes the bindings that were made for the peer.
pub(crate) fn withdraw(look: &Look<'_>, plan: &mut Plan<'_>) {
    let observed = look.observed;
    if !observed.has_rights() {
        return;
    }
    plan.tell(Event::new(look.peer(), Decision::RightsWithdrawn));
    let in_namespace = observed.role_bindings.iter();
    for binding in in_namespace.filter(|binding| observed.is_given(&binding.metadata)) {
        plan.withdraw(*binding);
    }
    let cluster_wide = observed.cluster_role_bindings.iter();
    for binding in cluster_wide.filter(|binding| observed.is_given(&binding.metadata)) {
        plan.withdraw(*binding);
    }
}

/// Removes the finalizer from the Tenant, after the deletion of the bindings.
/// Kubernetes deletes the bindings that the Tenant owns, but not the cluster-wide
/// ones.
pub(crate) fn let_tenant_go(look: &Look<'_>, plan: &mut Plan<'_>) {
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
            let finalizers = &mut tenant.metadata.finalizers;
            finalizers.retain(|finalizer| !ours(finalizer));
        }),
        (None, Some(tenant)) => plan.release_unreadable(tenant, names::TENANT_FINALIZER),
        (None, None) => {}
    }
    let ended = Event::new(look.peer(), Decision::Ended).about(id.clone());
    plan.tell_upon(id, ended);
}
