//! What counts of a view, for the provider.

use super::{
    Provider,
    record::{Proof, Record},
};
use crate::{
    error::Error,
    model::{
        ClusterId, ClusterRole, ClusterRoleBinding, Namespace, ObjectRef, RoleBinding, Secret,
        Tenant, names,
    },
    verify::VerifiedTenant,
    view::View,
};

/// One peer's objects by the parts that they play.
#[derive(Clone)]
pub(super) struct Seen<'o> {
    pub(super) peer: ClusterId,
    pub(super) namespace: Option<&'o Namespace>,
    pub(super) nonce: Option<&'o Secret>,
    pub(super) tenant: Option<&'o Tenant>,
    pub(super) certificate: Option<&'o Secret>,
    pub(super) record: Option<(&'o Secret, Record)>,
    pub(super) role_bindings: Vec<&'o RoleBinding>,
    pub(super) cluster_role_bindings: Vec<&'o ClusterRoleBinding>,
    pub(super) control_plane_roles: Vec<&'o ClusterRole>,
    pub(super) cluster_wide_roles: Vec<&'o ClusterRole>,
}

impl<'o> Seen<'o> {
    pub(super) fn select(provider: &Provider, view: &View<'o>) -> Result<Self, Error> {
        let peer = view.peer();
        let namespace = view.tenant_namespace()?;
        let namespace_name = match namespace {
            Some(namespace) => namespace.metadata.name.clone(),
            None => names::tenant_namespace(peer),
        };
        let id = provider.record_id(peer);
        let record = view
            .find::<Secret>(&id.namespace, &id.name)?
            .map(|secret| {
                let record =
                    Record::open(secret, &provider.0.record_key, provider.cluster_id(), peer)?;
                Ok((secret, record))
            })
            .transpose()?;
        Ok(Self {
            peer: peer.clone(),
            namespace,
            nonce: view.find(&namespace_name, names::NONCE_SECRET)?,
            tenant: view.find_anywhere(peer.as_str())?,
            certificate: view.find(&namespace_name, names::ISSUED_CERTIFICATE_SECRET)?,
            record,
            role_bindings: view
                .every::<RoleBinding>()?
                .filter(|binding| binding.metadata.namespace == namespace_name)
                .collect(),
            cluster_role_bindings: view.every::<ClusterRoleBinding>()?.collect(),
            control_plane_roles: roles(view, names::CONTROL_PLANE_ROLE)?,
            cluster_wide_roles: roles(view, names::CLUSTER_WIDE_ROLE)?,
        })
    }

    /// The tenant namespace's name: its own, or the one that it will have.
    pub(super) fn namespace_name(&self) -> String {
        match self.namespace {
            Some(namespace) => namespace.metadata.name.clone(),
            None => names::tenant_namespace(&self.peer),
        }
    }

    pub(super) fn nonce_id(&self) -> ObjectRef {
        ObjectRef::new(
            crate::model::Kind::Secret,
            self.namespace_name(),
            names::NONCE_SECRET,
        )
    }

    /// The proof on record for exactly this key, request and Tenant.
    pub(super) fn proof(&self, verified: &VerifiedTenant, tenant_uid: &str) -> Option<&Proof> {
        let (_, record) = self.record.as_ref()?;
        record.proof.as_ref().filter(|proof| {
            record.public_key == *verified.public_key()
                && proof.csr == verified.csr().digest()
                && proof.tenant_uid == tenant_uid
        })
    }
}

/// The ClusterRoles with that `app.kubernetes.io/name`, in the order of their
/// names.
fn roles<'o>(view: &View<'o>, label_value: &str) -> Result<Vec<&'o ClusterRole>, Error> {
    let wanted = |role: &&ClusterRole| {
        let label = role.metadata.labels.get(names::APP_NAME_LABEL);
        label.map(String::as_str) == Some(label_value)
    };
    let mut roles: Vec<&ClusterRole> = view.every::<ClusterRole>()?.filter(wanted).collect();
    roles.sort_by(|one, other| one.metadata.name.cmp(&other.metadata.name));
    Ok(roles)
}
