//! What counts of a view, for the provider.

use super::{
    Provider,
    record::peer::{IssuedCertificate, Proof, Record},
};
use crate::{
    error::Error,
    machine::{View, replication},
    model::{
        ClusterId, ClusterRole, ClusterRoleBinding, Kind, Namespace, ObjectRef, Renew, RoleBinding,
        Secret, Tenant, Unreadable, names,
    },
    verify::VerifiedTenant,
};

/// One peer's objects by the parts that they play.
#[derive(Clone)]
pub(super) struct Observed<'o> {
    pub(super) peer: ClusterId,
    pub(super) namespace: Option<&'o Namespace>,
    pub(super) nonce: Option<&'o Secret>,
    pub(super) tenant: Option<&'o Tenant>,
    pub(super) certificate: Option<&'o Secret>,
    pub(super) record: Option<(&'o Secret, Record)>,
    /// What keeps anything but a withdrawal from going on: the record is there
    /// and cannot be read.
    pub(super) unreadable: Option<Error>,
    /// A Secret of the handshake that cannot be read, and that the peer can
    /// write. That is refused; it holds off neither the end of the peer's
    /// rights, nor its condition, nor what is to be said of its slices.
    pub(super) spoilt: Option<Error>,
    /// The replicas of the peer's Renew objects in its own tenant namespace.
    pub(super) renews: Vec<&'o Renew>,
    pub(super) unreadable_renews: Vec<&'o Unreadable>,
    pub(super) role_bindings: Vec<&'o RoleBinding>,
    pub(super) cluster_role_bindings: Vec<&'o ClusterRoleBinding>,
    pub(super) control_plane_roles: Vec<&'o ClusterRole>,
    pub(super) cluster_wide_roles: Vec<&'o ClusterRole>,
}

impl<'o> Observed<'o> {
    pub(super) fn select(provider: &Provider, view: &View<'o>) -> Result<Self, Error> {
        let peer = view.peer();
        let namespace = view.tenant_namespace()?;
        let namespace_name = match namespace {
            Some(namespace) => namespace.metadata.name.clone(),
            None => names::tenant_namespace(peer),
        };
        let id = provider.record_id(peer);
        let open = |secret| {
            let record = Record::open(secret, &provider.0.record_key, provider.cluster_id(), peer)?;
            Ok((secret, record))
        };
        let mut spoilt = None;
        let mut secret = |name: &str| {
            let found = view.find::<Secret>(&namespace_name, name);
            found.unwrap_or_else(|error| {
                spoilt.get_or_insert(error);
                None
            })
        };
        let nonce = secret(names::NONCE_SECRET);
        let certificate = secret(names::ISSUED_CERTIFICATE_SECRET);
        let record = view.find::<Secret>(&id.namespace, &id.name);
        let record = record.and_then(|secret| secret.map(open).transpose());
        let (record, unreadable) = match record {
            Ok(record) => (record, None),
            Err(error) => (None, Some(error)),
        };
        Ok(Self {
            peer: peer.clone(),
            namespace,
            nonce,
            tenant: view.find_anywhere(peer.as_str())?,
            certificate,
            record,
            unreadable,
            spoilt,
            renews: view
                .readable::<Renew>()
                .filter(|renew| {
                    renew.metadata.namespace == namespace_name
                        && renew.metadata.deletion_timestamp.is_none()
                        && replication::is_replica_of(&renew.metadata, peer)
                })
                .collect(),
            unreadable_renews: view
                .unreadable(Kind::Renew)
                .filter(|unreadable| unreadable.id.namespace == namespace_name)
                .collect(),
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

    /// That every Secret of the handshake can be read that is there.
    pub(super) fn check_readable(&self) -> Result<(), Error> {
        let error = self.unreadable.as_ref().or(self.spoilt.as_ref());
        error.cloned().map_or(Ok(()), Err)
    }

    /// Whether the peer has been here before.
    pub(super) fn is_known(&self) -> bool {
        self.record.is_some()
    }

    /// The certificate on record.
    pub(super) fn issued(&self) -> Option<&IssuedCertificate> {
        self.record.as_ref()?.1.issued.as_ref()
    }

    pub(super) fn nonce_id(&self) -> ObjectRef {
        ObjectRef::new(Kind::Secret, self.namespace_name(), names::NONCE_SECRET)
    }

    /// The proof on record for exactly this key, request and Tenant.
    pub(super) fn proof(&self, verified: &VerifiedTenant, tenant_uid: &str) -> Option<&Proof> {
        let (_, record) = self.record.as_ref()?;
        record.proof.as_ref().filter(|proof| {
            record.public_key.as_ref() == Some(verified.public_key())
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
