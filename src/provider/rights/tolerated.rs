//! A tolerated peer has access without a handshake. Its Tenant asks for this access,
//! and this side's administrator allows it
//! ([`tolerate_no_handshake`](crate::provider::ConsumerSettings::tolerate_no_handshake)).
//!
//! The requests of the peer's slices need not contain the Tenant's key. The Tenant
//! itself does not get a certificate. Source: Liqo `TenantReconciler.Reconcile`.

use super::bindings::missing_cluster_wide;
use crate::{
    audit::{Decision, Event},
    error::Error,
    model::{AuthzPolicy, ClusterId, Namespace, Resource, Tenant},
    provider::{
        configuration::Configuration,
        handshake::set_finalizer_and_commitment,
        look::Look,
        record::{OtherName, Record},
        records::Plan,
    },
    verify,
};

impl Configuration {
    /// Whether a peer needs the handshake. The handshake is not required if this
    /// side's administrator and the Tenant both waive it (rule 6).
    pub(crate) fn handshake_required(&self, peer: &ClusterId, tenant: &Tenant) -> bool {
        let settings = self.settings.peers.get(peer);
        !(settings.is_some_and(|settings| settings.tolerate_no_handshake)
            && tenant.spec.authz_policy == Some(AuthzPolicy::TolerateNoHandshake))
    }
}

/// Whether the names of a tolerated Tenant are correct and free; false if the
/// look-up of names has not answered yet.
pub(crate) fn tolerates(look: &Look<'_>, tenant: &Tenant) -> Result<bool, Error> {
    verify::tenant_names(tenant, look.claimed(tenant), look.policy())?;
    verify::proxy_url(tenant)?;
    Ok(look.observed.is_known() || look.name_is_free(tenant)?)
}

/// Makes the tenant namespace, binds the cluster-wide rights, and writes the
/// Tenant's status.
///
/// # Errors
/// [`LocalFault::Conflict`](crate::error::LocalFault::Conflict) if a binding of that
/// name grants other rights; [`PolicyRefusal`](crate::error::PolicyRefusal) if the
/// tenant namespace is missing, and the default name would be too long.
pub(crate) fn tolerate(look: &Look<'_>, tenant: &Tenant, plan: &mut Plan<'_>) -> Result<(), Error> {
    let observed = look.observed;
    plan.records.peer.change_or_make(
        || Record::new(None, look.now),
        |record| {
            record.offered = None;
            record.other_name = OtherName::of(tenant, look.peer());
        },
    );
    if observed.namespace.is_none() {
        verify::default_namespace(look.peer())?;
        plan.create(Namespace::for_tenant(look.peer()));
    }
    let missing = missing_cluster_wide(observed)?;
    if !missing.is_empty() {
        let granted = Event::new(look.peer(), Decision::RightsGranted);
        plan.tell(granted.about(tenant.id()));
    }
    for binding in missing {
        plan.create(binding);
    }
    plan.edit(tenant, |tenant| {
        set_finalizer_and_commitment(tenant, None);
        tenant.status.tenant_namespace = observed.namespace_name();
    });
    Ok(())
}
