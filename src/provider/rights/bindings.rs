//! Grants the peer its rights, and writes the Tenant's status.

use crate::{
    audit::{Decision, Event},
    error::Error,
    machine::{Notice, missing::missing},
    model::{
        AuthParams, ClusterId, ClusterRole, ClusterRoleBinding, Metadata, Object, OwnerReference,
        RbacSubject, Resource, RoleBinding, RoleRef, Tenant, TenantStatus, names,
    },
    provider::{
        credentials::{Credential, HolderContext},
        handshake::set_finalizer_and_commitment,
        observed::Observed,
        records::Plan,
    },
    verify::VerifiedTenant,
};

/// The objects that a peer gets with its credential: the bindings, the Secret in
/// which Liqo keeps the certificate, and the Tenant's status.
pub(crate) struct Granted<'a> {
    pub(crate) tenant: &'a Tenant,
    pub(crate) verified: &'a VerifiedTenant,
    pub(crate) context: &'a HolderContext<'a>,
    pub(crate) credential: &'a Credential,
}

impl Granted<'_> {
    /// Creates the bindings, then writes the status.
    ///
    /// # Errors
    /// [`LocalFault::Conflict`] if a binding of that name grants other rights.
    pub(crate) fn grant(&self, plan: &mut Plan<'_>) -> Result<(), Error> {
        let missing = missing_bindings(self.context.look.observed, self.tenant)?;
        if !missing.is_empty() {
            let granted = Event::new(self.context.look.peer(), Decision::RightsGranted);
            let key = self.verified.public_key.fingerprint();
            plan.tell(granted.about(self.tenant.id()).by_key(key));
        }
        for binding in missing {
            plan.create(binding);
        }
        if self.context.look.observed.is_known() {
            self.context.store_certificate(self.credential, plan);
        }
        plan.edit(self.tenant, |tenant| {
            self.keep_finalizer_and_commitment(tenant);
            self.fill(&mut tenant.status);
        });
        Ok(())
    }

    /// Whether all these objects are complete.
    pub(crate) fn is_complete(&self) -> Result<bool, Error> {
        let mut told = self.tenant.status.clone();
        self.fill(&mut told);
        let is_stored = !self.context.look.observed.is_known()
            || self.context.is_certificate_stored(self.credential);
        Ok(is_stored
            && told == self.tenant.status
            && missing_bindings(self.context.look.observed, self.tenant)?.is_empty())
    }

    /// The `authParams` of the Tenant's status.
    pub(crate) fn auth_params(&self) -> AuthParams {
        let address = self.context.look.address(self.verified.proxy_url.as_ref());
        self.credential.added_to(address)
    }

    /// Restores the finalizer and the commitment annotation on the Tenant.
    pub(crate) fn restore_finalizer_and_commitment(&self, plan: &mut Plan<'_>) {
        plan.edit(self.tenant, |tenant| {
            self.keep_finalizer_and_commitment(tenant);
        });
    }

    fn keep_finalizer_and_commitment(&self, tenant: &mut Tenant) {
        if let Some(record) = self.context.look.observed.record() {
            set_finalizer_and_commitment(tenant, record.commitment());
        }
    }

    fn fill(&self, status: &mut TenantStatus) {
        let address = self.context.look.address(self.verified.proxy_url.as_ref());
        let present = status.auth_params.as_ref();
        status.auth_params = Some(self.credential.in_place_of(present, address));
        status.tenant_namespace = self.context.look.observed.namespace_name();
    }
}

/// The missing bindings among those that Liqo makes for a peer that is not drained.
///
/// # Errors
/// [`LocalFault::Conflict`] if a binding of that name grants other rights, or the error of a
/// binding or ClusterRole that cannot be read.
pub(crate) fn missing_bindings(
    observed: &Observed<'_>,
    tenant: &Tenant,
) -> Result<Vec<Object>, Error> {
    let mut bindings = Vec::new();
    for role in &observed.control_plane_roles {
        let wanted = role_binding(observed, role, tenant);
        let present = observed.role_bindings.iter().copied();
        bindings.extend(missing(wanted, present)?.map(Object::from));
    }
    bindings.extend(missing_cluster_wide(observed)?);
    Ok(bindings)
}

fn role_binding(observed: &Observed<'_>, role: &ClusterRole, tenant: &Tenant) -> RoleBinding {
    let (peer, namespace) = (&observed.peer, observed.namespace_name());
    // Kubernetes does not allow an owner in another namespace.
    let owned = tenant.metadata.namespace == namespace && !tenant.metadata.uid.is_empty();
    RoleBinding {
        metadata: Metadata {
            owner_references: owned
                .then(|| OwnerReference::controller(tenant))
                .into_iter()
                .collect(),
            ..metadata(names::role_binding(&role.metadata.name), namespace, peer)
        },
        role_ref: RoleRef::cluster_role(&role.metadata.name),
        subjects: vec![RbacSubject::user(peer.as_str())],
    }
}

/// The missing cluster-wide bindings for the group of the peer's slices.
pub(super) fn missing_cluster_wide(observed: &Observed<'_>) -> Result<Vec<Object>, Error> {
    observed.check_rights()?;
    let mut bindings = Vec::new();
    for role in &observed.cluster_wide_roles {
        let name = names::cluster_role_binding(&role.metadata.name, &observed.peer);
        let wanted = ClusterRoleBinding {
            metadata: metadata(name, String::new(), &observed.peer),
            role_ref: RoleRef::cluster_role(&role.metadata.name),
            subjects: vec![RbacSubject::group(observed.peer.as_str())],
        };
        let present = observed.cluster_role_bindings.iter().copied();
        bindings.extend(missing(wanted, present)?.map(Object::from));
    }
    Ok(bindings)
}

fn metadata(name: String, namespace: String, peer: &ClusterId) -> Metadata {
    let labels = [
        (names::MANAGED_BY_LABEL, names::MANAGED_BY_LIQO),
        (names::REMOTE_CLUSTER_ID_LABEL, peer.as_str()),
    ];
    Metadata::labelled(name, namespace, labels)
}

/// The notices about missing ClusterRoles. One that cannot be read may be there.
pub(crate) fn notices(observed: &Observed<'_>) -> Vec<Notice> {
    if observed.unreadable_rights.is_some() {
        return Vec::new();
    }
    [
        (names::CONTROL_PLANE_ROLE, &observed.control_plane_roles),
        (names::CLUSTER_WIDE_ROLE, &observed.cluster_wide_roles),
    ]
    .into_iter()
    .filter(|(_, roles)| roles.is_empty())
    .map(|(label_value, _)| Notice::NoClusterRole { label_value })
    .collect()
}
