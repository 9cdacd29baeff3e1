//! A peer that this side's administrator lets in without a handshake.

use super::{bindings, condition};
use crate::{
    audit::{Decision, Event},
    error::Error,
    machine::{Effect, Part, Step},
    model::{AuthzPolicy, ClusterId, Namespace, ProxyUrl, Resource, Tenant, Timestamp},
    provider::{
        Provider, handshake::proof::marked, observed::Observed, record::peer::Record,
        slice::SliceTerms,
    },
    verify,
};

/// The Tenant asks to be taken without a handshake, and the administrator said
/// of this peer that it may be
/// ([`tolerate_no_handshake`](crate::provider::ProviderBuilder::tolerate_no_handshake)).
///
/// The peer's slices need no key of the Tenant's. The Tenant itself has no
/// certificate: who wants one for the peer makes it by another way. Source:
/// Liqo `TenantReconciler.Reconcile`.
#[derive(Clone)]
pub struct Tolerated<'o> {
    provider: Provider,
    observed: Observed<'o>,
    tenant: &'o Tenant,
    proxy_url: Option<ProxyUrl>,
    now: Timestamp,
}

impl<'o> Tolerated<'o> {
    /// Makes the tenant namespace, binds the cluster-wide rights, and says so in
    /// the status; it is empty once all is there.
    ///
    /// # Errors
    /// [`LocalFault::Conflict`](crate::error::LocalFault::Conflict) if a binding
    /// of that name grants something else;
    /// [`PolicyRefusal`](crate::error::PolicyRefusal) if there is no tenant
    /// namespace, and the default one's name would be too long.
    pub fn grant(&self) -> Result<Step, Error> {
        let Self {
            provider,
            observed,
            tenant,
            ..
        } = self;
        let mut step = Step::default();
        if observed.record.is_none() {
            let mut record = Record::new(None, self.now);
            let tightened = condition::tighten(&mut record, &observed.peer, tenant);
            step.events.extend(tightened);
            step.effects.push(provider.write_record(observed, &record));
        } else {
            provider.tighten_condition(observed, tenant, &mut step);
        }
        if observed.namespace.is_none() {
            verify::default_namespace(&observed.peer)?;
            let namespace = Namespace::for_tenant(&observed.peer);
            step.effects.push(Effect::Create(namespace.into()));
        }
        let bindings = bindings::missing_cluster_wide(observed)?;
        if !bindings.is_empty() {
            let granted = Event::new(&observed.peer, Decision::RightsGranted);
            step.events.push(granted.about(tenant.id()));
        }
        step.effects.extend(bindings);
        // One effect for each object: marks first, the status upon the next look.
        let marks = Effect::patch(*tenant, marked(tenant, None), Part::Main);
        step.effects.extend(marks.or_else(|| {
            let mut wanted = (*tenant).clone();
            wanted.status.tenant_namespace = observed.namespace_name();
            Effect::patch(*tenant, wanted, Part::Status)
        }));
        Ok(step)
    }

    /// What this gives to the peer's slices: any key may be theirs.
    pub(in crate::provider) fn slice_terms(&self) -> SliceTerms {
        SliceTerms {
            key: None,
            tenant_uid: self.tenant.metadata.uid.clone(),
            auth_params: self.provider.auth_params(self.proxy_url.as_ref()),
        }
    }
}

impl Provider {
    /// Whether a peer's slices need the handshake: always, unless this side's
    /// administrator and the Tenant both say otherwise (rule 6).
    pub fn handshake_required(&self, peer: &ClusterId, tenant: &Tenant) -> bool {
        !(self.0.tolerated.contains(peer)
            && tenant.spec.authz_policy == Some(AuthzPolicy::TolerateNoHandshake))
    }

    pub(in crate::provider) fn tolerate<'o>(
        &self,
        observed: Observed<'o>,
        tenant: &'o Tenant,
        now: Timestamp,
    ) -> Result<Tolerated<'o>, Error> {
        verify::tenant_names(tenant, &observed.peer, self.policy(&observed.peer))?;
        if !observed.is_known() {
            self.check_principals(&observed.peer, tenant)?;
        }
        Ok(Tolerated {
            provider: self.clone(),
            observed,
            tenant,
            proxy_url: verify::proxy_url(tenant)?,
            now,
        })
    }
}
