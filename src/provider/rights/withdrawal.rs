//! Withdraws the rights of a peer that is drained or whose Tenant is deleted. This
//! works even if the objects that the peer can write are unreadable (rule 10).

use super::namespace_maps::withdraw_namespace_maps;
use crate::{
    audit::{Decision, Event},
    machine::Awaited,
    model::names,
    provider::{look::Look, observed::Observed, records::Plan},
};

/// Whether the Tenant is being deleted, or is gone while rights remain.
pub(crate) fn is_ending(observed: &Observed<'_>) -> bool {
    match observed.tenant_metadata() {
        Some(tenant) => tenant.deletion_timestamp.is_some(),
        // Until it is clear which Tenant is the peer's, none is gone.
        None => observed.ambiguous_tenant.is_none() && observed.holds_rights(),
    }
}

/// Withdraws all rights of the peer. Those in its tenant namespace come first, so that the
/// peer does not write a NamespaceMap any more. Then come its NamespaceMaps, so that Liqo does not
/// make a binding again, and then the bindings everywhere.
pub(crate) fn withdraw(look: &Look<'_>, plan: &mut Plan<'_>) {
    let observed = look.observed;
    if observed.holds_rights() {
        plan.tell(Event::new(look.peer(), Decision::RightsWithdrawn));
    }
    for binding in observed.unreadable_given() {
        plan.withdraw_present(binding);
    }
    for binding in &observed.role_bindings {
        if observed.binds_peer(&binding.metadata, &binding.subjects) {
            plan.withdraw(*binding);
        }
    }
    withdraw_namespace_maps(look, plan);
    for binding in &observed.role_bindings_elsewhere {
        if observed.binds_peer(&binding.metadata, &binding.subjects) {
            plan.withdraw(*binding);
        }
    }
    for binding in &observed.cluster_role_bindings {
        if observed.binds_peer(&binding.metadata, &binding.subjects) {
            plan.withdraw(*binding);
        }
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
        // Another program's finalizer keeps it.
        return plan.await_for(Awaited::End(id));
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
