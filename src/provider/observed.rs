//! The objects of a view that the provider uses.

use std::collections::BTreeMap;

use super::{
    configuration::Configuration,
    record::{
        IssuedCertificate, OtherName, Proof, Record, SLICE_NAME_PREFIX, SliceRecord, slice_name,
    },
};
use crate::{
    crypto::PublicKey,
    error::Error,
    machine::{View, replication, sealed::Opened},
    model::{
        ClusterId, ClusterRole, ClusterRoleBinding, Kind, Metadata, Namespace, Object, ObjectRef,
        Renew, Resource, RoleBinding, Secret, Tenant, TenantCondition, Timestamp, Unreadable,
        names,
    },
    verify::VerifiedTenant,
};

/// One peer's objects by their roles, with the records opened.
#[derive(Clone)]
pub(crate) struct Observed<'o> {
    pub(super) peer: ClusterId,
    /// The tenant namespace, if it can be read.
    pub(super) namespace: Option<&'o Namespace>,
    namespace_name: String,
    pub(super) nonce: Option<&'o Secret>,
    pub(super) tenant: Option<&'o Tenant>,
    /// The Tenant, if it cannot be read. The peer can write its Tenant. So an
    /// unreadable Tenant blocks neither the withdrawal of the peer's rights nor its
    /// condition.
    pub(super) unreadable_tenant: Option<&'o Unreadable>,
    /// The error, if several Tenants could be the peer's. The peer can write them. So they
    /// block neither the end of an earlier peering nor the withdrawal of rights.
    pub(super) ambiguous_tenant: Option<Error>,
    /// Whether another object has the place of the Tenant on record.
    pub(super) is_replaced: bool,
    pub(super) certificate: Option<&'o Secret>,
    pub(super) record: Option<(&'o Secret, Opened<Record>)>,
    /// The error, if the peer's record exists and cannot be read. Then only a
    /// withdrawal of rights continues.
    pub(super) unreadable_record: Option<Error>,
    /// The error, if a Secret of the handshake cannot be read. The peer can write
    /// these Secrets. So the handshake is refused, but the error blocks neither the
    /// withdrawal of the peer's rights, nor its condition, nor the status of its
    /// slices.
    pub(super) unreadable_handshake: Option<Error>,
    /// The possible records of the peer's slices, by Secret name.
    pub(super) slice_records: BTreeMap<&'o str, (&'o Secret, Result<Opened<SliceRecord>, Error>)>,
    /// The slice records that exceed the limits. They cannot be read, so they are
    /// deleted and made again.
    pub(super) large_slice_records: Vec<&'o Unreadable>,
    /// The other slice records that cannot be read, by Secret name. They may be of any peer's
    /// slices: their labels may be lost, and the name says which slice it is.
    unreadable_slice_records: BTreeMap<&'o str, &'o Unreadable>,
    /// The replicas of the peer's Renew objects in its own tenant namespace.
    pub(super) renews: Vec<&'o Renew>,
    /// The unreadable Renew objects in the tenant namespace, except those that this
    /// cluster made for the peer as its provider.
    pub(super) unreadable_renews: Vec<&'o Unreadable>,
    /// The RoleBindings in the tenant namespace.
    pub(super) role_bindings: Vec<&'o RoleBinding>,
    pub(super) role_bindings_elsewhere: Vec<&'o RoleBinding>,
    /// The NamespaceMaps in the tenant namespace, readable or not. The peer can write them.
    pub(super) namespace_maps: Vec<&'o Object>,
    pub(super) cluster_role_bindings: Vec<&'o ClusterRoleBinding>,
    pub(super) control_plane_roles: Vec<&'o ClusterRole>,
    pub(super) cluster_wide_roles: Vec<&'o ClusterRole>,
    /// The bindings that cannot be read, whosever they are.
    pub(super) unreadable_bindings: Vec<&'o Object>,
    /// The error, if the tenant namespace, or a ClusterRole or a binding by which the peer gets
    /// its rights, cannot be read. Then nothing is granted, and only a withdrawal of rights
    /// continues.
    pub(super) unreadable_rights: Option<Error>,
}

/// The record of a slice with its Secret, or the error if it cannot be read.
type RecordedSlice<'o> = Result<(&'o Secret, &'o Opened<SliceRecord>), Error>;

impl<'o> Observed<'o> {
    pub(super) fn select(configuration: &Configuration, view: &View<'o>) -> Result<Self, Error> {
        let peer = view.peer();
        let (namespace, namespace_name, unreadable_namespace) = view.tenant_namespace_and_name()?;
        let id = configuration.record_id(peer);
        let mut unreadable_handshake = None;
        let mut secret = |name: &str| {
            let found = view.find::<Secret>(&namespace_name, name);
            found.unwrap_or_else(|error| {
                unreadable_handshake.get_or_insert(error);
                None
            })
        };
        let nonce = secret(names::NONCE_SECRET);
        let certificate = secret(names::ISSUED_CERTIFICATE_SECRET);
        let open =
            |secret: &'o Secret| Ok((secret, Record::open(secret, &configuration.seal(peer))?));
        let record = view.find::<Secret>(&id.namespace, &id.name);
        let (record, unreadable_record) =
            match record.and_then(|secret| secret.map(open).transpose()) {
                Ok(record) => (record, None),
                Err(error) => (None, Some(error)),
            };
        let (role_bindings, role_bindings_elsewhere) = view
            .readable::<RoleBinding>()
            .partition(|binding| binding.metadata.namespace == namespace_name);
        let mut observed = Self {
            peer: peer.clone(),
            namespace,
            namespace_name: namespace_name.clone(),
            nonce,
            tenant: None,
            unreadable_tenant: None,
            ambiguous_tenant: None,
            is_replaced: false,
            certificate,
            record,
            unreadable_record,
            unreadable_handshake,
            slice_records: slice_records(configuration, view),
            large_slice_records: view
                .unreadable(Kind::Secret)
                .filter(|unreadable| {
                    unreadable.is_over_limits()
                        && is_slice_record(configuration, peer, &unreadable.metadata)
                })
                .collect(),
            unreadable_slice_records: view
                .unreadable(Kind::Secret)
                .filter(|unreadable| {
                    unreadable.id.namespace == configuration.namespace()
                        && unreadable.id.name.starts_with(SLICE_NAME_PREFIX)
                        && !unreadable.is_over_limits()
                })
                .map(|unreadable| (unreadable.id.name.as_str(), unreadable))
                .collect(),
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
                .filter(|unreadable| {
                    unreadable.id.namespace == namespace_name
                        && !replication::is_requested_from(&unreadable.metadata, peer)
                })
                .collect(),
            role_bindings,
            role_bindings_elsewhere,
            namespace_maps: view
                .present(Kind::NamespaceMap)
                .filter(|map| map.key().1 == namespace_name)
                .collect(),
            cluster_role_bindings: view.readable().collect(),
            control_plane_roles: roles(view, names::CONTROL_PLANE_ROLE),
            cluster_wide_roles: roles(view, names::CLUSTER_WIDE_ROLE),
            unreadable_bindings: [Kind::RoleBinding, Kind::ClusterRoleBinding]
                .into_iter()
                .flat_map(|kind| view.present(kind))
                .filter(|binding| binding.as_unreadable().is_some())
                .collect(),
            unreadable_rights: unreadable_namespace
                .or_else(|| check_rights(view, &namespace_name).err()),
        };
        observed.find_tenant(view)?;
        Ok(observed)
    }

    /// Finds the peer's Tenant, by the other objects and the record.
    pub(super) fn find_tenant(&mut self, view: &View<'o>) -> Result<(), Error> {
        let found = self.own_tenant(view)?;
        self.tenant = found.tenant;
        self.unreadable_tenant = found.unreadable;
        self.ambiguous_tenant = found.ambiguous;
        self.is_replaced = found.is_replaced;
        Ok(())
    }

    /// The name of the tenant namespace; the default name if it does not exist yet.
    pub(super) fn namespace_name(&self) -> String {
        self.namespace_name.clone()
    }

    /// Checks that the peer's record can be read, if it exists.
    pub(super) fn check_record(&self) -> Result<(), Error> {
        self.unreadable_record.clone().map_or(Ok(()), Err)
    }

    /// Checks that the tenant namespace, the ClusterRoles and the peer's bindings can be read.
    pub(super) fn check_rights(&self) -> Result<(), Error> {
        self.unreadable_rights.clone().map_or(Ok(()), Err)
    }

    /// Checks that every existing object of the handshake can be read.
    pub(super) fn check_readable(&self) -> Result<(), Error> {
        let error = self
            .unreadable_record
            .as_ref()
            .or(self.unreadable_handshake.as_ref())
            .or(self.unreadable_rights.as_ref())
            .or(self.ambiguous_tenant.as_ref());
        match (error, self.unreadable_tenant) {
            (Some(error), _) => Err(error.clone()),
            (None, Some(tenant)) => Err(tenant.error()),
            (None, None) => Ok(()),
        }
    }

    /// Whether the peer's record contains more than an invitation.
    pub(super) fn is_known(&self) -> bool {
        self.record().is_some_and(|record| !record.is_invitation())
    }

    /// Whether a peering is over: the peer is known, its Tenant is gone, and the
    /// record does not contain a valid new invitation.
    pub(super) fn is_over(&self, now: Timestamp) -> bool {
        let invited = self.record().is_some_and(|record| record.invites(now));
        self.is_known() && self.tenant_metadata().is_none() && !invited
    }

    /// The peer's record.
    pub(super) fn record(&self) -> Option<&Record> {
        self.record.as_ref().map(|(_, opened)| &opened.record)
    }

    /// The record of the slice with this name, or the error if it cannot be read.
    pub(super) fn slice_record(&self, slice: &str) -> Option<RecordedSlice<'_>> {
        let name = slice_name(&self.peer, slice);
        if let Some((secret, opened)) = self.slice_records.get(name.as_str()) {
            let opened = opened.as_ref().map_err(Clone::clone);
            return Some(opened.map(|opened| (*secret, opened)));
        }
        let unreadable = self.unreadable_slice_records.get(name.as_str())?;
        Some(Err(unreadable.error()))
    }

    /// The key that is pinned for the peer.
    pub(super) fn pinned_key(&self) -> Option<&PublicKey> {
        self.record()?.public_key.as_ref()
    }

    /// The recorded certificate of the control plane.
    pub(super) fn issued(&self) -> Option<&IssuedCertificate> {
        self.record()?.held.issued.as_ref()
    }

    /// The reference to the Tenant, whether it can be read or not.
    pub(super) fn tenant_id(&self) -> Option<ObjectRef> {
        let unreadable = self.unreadable_tenant.map(|tenant| tenant.id.clone());
        self.tenant.map(Resource::id).or(unreadable)
    }

    /// The metadata of the Tenant, whether it can be read or not.
    pub(super) fn tenant_metadata(&self) -> Option<&'o Metadata> {
        let unreadable = self.unreadable_tenant.map(|tenant| &*tenant.metadata);
        self.tenant.map(|tenant| &tenant.metadata).or(unreadable)
    }

    /// The condition in force: the stricter of the recorded condition and the
    /// Tenant's condition (rule 6).
    pub(super) fn condition(&self) -> TenantCondition {
        let recorded = self.record().map(|record| record.condition);
        let said = self.tenant.and_then(|tenant| tenant.spec.tenant_condition);
        recorded.max(said).unwrap_or(TenantCondition::Active)
    }

    /// The Tenant that is absent, although the peer has rights or a proof on record. It is gone,
    /// or another program has just made it, and the caller's objects do not show it yet.
    pub(super) fn lost_tenant(&self) -> Option<ObjectRef> {
        let record = self.record();
        // Of an object in its place, the store need not be asked.
        let is_seen = self.tenant_metadata().is_some() || self.is_replaced;
        if is_seen || self.ambiguous_tenant.is_some() {
            return None;
        }
        let is_on_record =
            record.is_some_and(|record| record.proof.is_some() || record.other_name.is_some());
        let is_lost = is_on_record || self.holds_rights();
        is_lost.then(|| self.place_on_record())
    }

    /// Checks that at most one Tenant could be the peer's. An administrator deletes the others.
    pub(super) fn check_unambiguous(&self) -> Result<(), Error> {
        self.ambiguous_tenant.clone().map_or(Ok(()), Err)
    }

    /// Where the Tenant on record is; without one, where Liqo's tool puts it.
    pub(super) fn place_on_record(&self) -> ObjectRef {
        let other = self.record().and_then(|record| record.other_name.as_ref());
        other.map_or_else(
            || ObjectRef::new(Kind::Tenant, self.namespace_name(), self.peer.as_str()),
            OtherName::id,
        )
    }

    /// Whether the record holds the condition in force, since the Tenant's own is milder.
    pub(super) fn is_condition_held(&self) -> bool {
        let said = self
            .tenant
            .map(|tenant| tenant.spec.tenant_condition.unwrap_or_default());
        let recorded = self.record().map(|record| record.condition);
        said.zip(recorded)
            .is_some_and(|(said, recorded)| said < recorded)
    }

    /// The condition in force, if the Tenant exists.
    pub(super) fn condition_of_tenant(&self) -> Option<TenantCondition> {
        self.tenant_metadata().map(|_| self.condition())
    }

    /// Whether the peer is drained: its Tenant exists, and the condition in force is
    /// `Drained`.
    pub(super) fn is_drained(&self) -> bool {
        self.condition_of_tenant() == Some(TenantCondition::Drained)
    }

    /// Whether the peer has bindings of Liqo or of this library.
    pub(super) fn has_rights(&self) -> bool {
        let mut in_namespace = self.role_bindings.iter();
        let mut cluster_wide = self.cluster_role_bindings.iter();
        in_namespace.any(|binding| self.is_given(&binding.metadata))
            || cluster_wide.any(|binding| self.is_given(&binding.metadata))
            || self.unreadable_given().next().is_some()
    }

    /// The bindings that cannot be read and are the peer's by their metadata.
    pub(super) fn unreadable_given(&self) -> impl Iterator<Item = &'o Object> {
        let bindings = self.unreadable_bindings.iter().copied();
        bindings.filter(|binding| self.is_given(binding.metadata()))
    }

    /// Whether Liqo or this library made a binding for the peer, by its metadata.
    pub(super) fn is_given(&self, binding: &Metadata) -> bool {
        binding.label(names::REMOTE_CLUSTER_ID_LABEL) == Some(self.peer.as_str())
            && binding.label(names::MANAGED_BY_LABEL) == Some(names::MANAGED_BY_LIQO)
            && binding.name.starts_with(names::BINDING_PREFIX)
    }

    pub(super) fn nonce_id(&self) -> ObjectRef {
        ObjectRef::new(Kind::Secret, self.namespace_name(), names::NONCE_SECRET)
    }

    /// The recorded proof for exactly this key, request and Tenant. Whether the Tenant's
    /// signature is over the proof's nonce is not checked.
    pub(super) fn proof(&self, verified: &VerifiedTenant, tenant_uid: &str) -> Option<&Proof> {
        let record = self.record()?;
        record.proof.as_ref().filter(|proof| {
            record.public_key.as_ref() == Some(&verified.public_key)
                && proof.csr == verified.csr.digest()
                && proof.tenant_uid == tenant_uid
        })
    }
}

/// Checks that each ClusterRole can be read that the peer is bound to, and each binding that comes
/// with the peer's credential, or that may be one. Bindings elsewhere are other people's, and may
/// be larger than the limits.
fn check_rights(view: &View<'_>, namespace: &str) -> Result<(), Error> {
    view.refuse_unreadable(Kind::RoleBinding, |found| {
        let place = found.id.namespace.as_str();
        found.may_be_of(Kind::RoleBinding) && (place.is_empty() || place == namespace)
    })?;
    view.refuse_unreadable(Kind::ClusterRoleBinding, |found| {
        let name = found.id.name.as_str();
        found.may_be_of(Kind::ClusterRoleBinding)
            && (name.is_empty() || name.starts_with(names::BINDING_PREFIX))
    })?;
    view.refuse_unreadable(Kind::ClusterRole, |found| {
        found.may_be_of(Kind::ClusterRole)
    })
}

/// The possible records of the peer's slices: Secrets in the provider's own
/// namespace with the name prefix and the label of such a record. Each is opened
/// once.
fn slice_records<'o>(
    configuration: &Configuration,
    view: &View<'o>,
) -> BTreeMap<&'o str, (&'o Secret, Result<Opened<SliceRecord>, Error>)> {
    let peer = view.peer();
    view.readable::<Secret>()
        .filter(|secret| is_slice_record(configuration, peer, &secret.metadata))
        .map(|secret| {
            let opened = SliceRecord::open(secret, &configuration.slice_seal(peer));
            (secret.metadata.name.as_str(), (secret, opened))
        })
        .collect()
}

/// Whether a Secret may be the record of one of the peer's slices.
fn is_slice_record(configuration: &Configuration, peer: &ClusterId, metadata: &Metadata) -> bool {
    metadata.namespace == configuration.namespace()
        && metadata.name.starts_with(SLICE_NAME_PREFIX)
        && metadata.label(names::RECORD_PEER_LABEL) == Some(peer.as_str())
}

/// The readable ClusterRoles with this value of the label `app.kubernetes.io/name`, in the
/// order of their names.
fn roles<'o>(view: &View<'o>, label_value: &str) -> Vec<&'o ClusterRole> {
    let wanted =
        |role: &&ClusterRole| role.metadata.label(names::APP_NAME_LABEL) == Some(label_value);
    let mut roles: Vec<&ClusterRole> = view.readable().filter(wanted).collect();
    roles.sort_by(|one, other| one.metadata.name.cmp(&other.metadata.name));
    roles
}
