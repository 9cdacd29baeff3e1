//! Which Tenant is the peer's own.
//!
//! 1. The one on record, by its UID.
//! 2. Without one, the Tenant that has the peer's ID as its name, in any namespace.
//! 3. Without one, and if no peering is on record, a Tenant of any name in the tenant
//!    namespace whose label and spec name the peer.
//!
//! A peer writes Tenants of any name in its tenant namespace. So a Tenant that is found by its
//! label never takes the place of one on record, not even of one that is gone: the peer's
//! rights are withdrawn first.

use super::{look::Look, observed::Observed, record::Record, records::Plan};
use crate::{
    error::Error,
    machine::{View, view::only},
    model::{Kind, Metadata, Tenant, TenantCondition, Unreadable, names},
};

/// The peer's Tenant. If it cannot be read, it is `unreadable`.
#[derive(Clone, Default)]
pub(super) struct OwnTenant<'o> {
    pub(super) tenant: Option<&'o Tenant>,
    pub(super) unreadable: Option<&'o Unreadable>,
    /// The error, if several Tenants could be the peer's and none is on record. No right is
    /// given, and none is withdrawn.
    pub(super) ambiguous: Option<Error>,
    /// Whether another object has the place of the Tenant on record, which is gone then.
    pub(super) is_replaced: bool,
}

impl<'o> Observed<'o> {
    /// The peer's Tenant among the objects of the view.
    ///
    /// # Errors
    /// [`LocalFault::Ambiguous`](crate::error::LocalFault::Ambiguous) if two Tenants have the
    /// peer's ID as their name, and none is on record.
    pub(super) fn own_tenant(&self, view: &View<'o>) -> Result<OwnTenant<'o>, Error> {
        let record = self.record();
        if let Some(found) = record.and_then(|record| OwnTenant::on_record(record, view)) {
            return Ok(found);
        }
        // The other Tenants do not count before the end of the one on record.
        if let Some(other) = record.and_then(|record| record.other_name.as_ref()) {
            let mut present = view.present(Kind::Tenant);
            let is_replaced = present.any(|tenant| other.is_replaced_by(tenant.metadata()));
            return Ok(OwnTenant {
                is_replaced,
                ..OwnTenant::default()
            });
        }
        let found = self.of_that_name(view)?;
        let is_on_record = record.is_some_and(|record| record.proof.is_some());
        // Rights are left of a peering that is over.
        let is_ending = self.is_known() && self.holds_rights();
        if found.exists() || is_on_record || is_ending {
            return Ok(found);
        }
        Ok(self.by_label(view))
    }

    fn of_that_name(&self, view: &View<'o>) -> Result<OwnTenant<'o>, Error> {
        let name = self.peer.as_str();
        let mut unreadable = view.unreadable(Kind::Tenant);
        if let Some(found) = unreadable.find(|tenant| tenant.id.name == name) {
            return Ok(OwnTenant::of_unreadable(found));
        }
        let found = view.find_anywhere(name)?;
        Ok(found.map(OwnTenant::of).unwrap_or_default())
    }

    /// Of several Tenants, one that takes rights away counts first.
    fn by_label(&self, view: &View<'o>) -> OwnTenant<'o> {
        let Some(namespace) = self.namespace.map(|it| it.metadata.name.as_str()) else {
            return OwnTenant::default();
        };
        let peer = self.peer.as_str();
        let is_labelled = |metadata: &Metadata| {
            metadata.namespace == namespace
                && metadata.label(names::REMOTE_CLUSTER_ID_LABEL) == Some(peer)
        };
        let matches = || {
            let all = view.readable::<Tenant>();
            all.filter(|it| is_labelled(&it.metadata) && it.spec.cluster_id == peer)
        };
        let leaves = |tenant: &&Tenant| tenant.metadata.deletion_timestamp.is_some();
        let is_drained =
            |tenant: &&Tenant| tenant.spec.tenant_condition == Some(TenantCondition::Drained);
        let first = matches()
            .find(leaves)
            .or_else(|| matches().find(is_drained));
        match first.map_or_else(|| only(matches()), |found| Ok(Some(found))) {
            Ok(Some(tenant)) => OwnTenant::of(tenant),
            Ok(None) => {
                let mut unreadable = view.unreadable(Kind::Tenant);
                let found = unreadable.find(|found| is_labelled(&found.metadata));
                found.map(OwnTenant::of_unreadable).unwrap_or_default()
            }
            Err(error) => OwnTenant {
                ambiguous: Some(error),
                ..OwnTenant::default()
            },
        }
    }
}

impl Look<'_> {
    /// Gives the peer's Tenant the label back by which Liqo finds it.
    pub(super) fn keep_label(&self, plan: &mut Plan<'_>) {
        if let Some(tenant) = self.observed.tenant
            && self.gets_label(tenant)
        {
            plan.keep_labels(tenant, &self.label_of_tenant());
        }
    }

    /// Whether the Tenant gets its label: if it is on record. Any other one is refused without
    /// its label, and stays as it is.
    pub(super) fn gets_label(&self, tenant: &Tenant) -> bool {
        let on_record = self.observed.record().and_then(Record::tenant_uid);
        tenant.spec.cluster_id == self.peer().as_str() && on_record == Some(&tenant.metadata.uid)
    }

    fn label_of_tenant(&self) -> [(&'static str, &str); 1] {
        [(names::REMOTE_CLUSTER_ID_LABEL, self.peer().as_str())]
    }
}

impl<'o> OwnTenant<'o> {
    fn on_record(record: &Record, view: &View<'o>) -> Option<Self> {
        let uid = record.tenant_uid()?;
        let is_it = |metadata: &Metadata| metadata.uid == uid;
        // Even the UID of a Tenant may be unreadable.
        let is_there = |metadata: &Metadata| {
            let other = record.other_name.as_ref();
            metadata.uid.is_empty() && other.is_some_and(|other| other.is_at(metadata))
        };
        let mut readable = view.readable::<Tenant>();
        if let Some(tenant) = readable.find(|tenant| is_it(&tenant.metadata)) {
            return Some(Self::of(tenant));
        }
        let mut unreadable = view.unreadable(Kind::Tenant);
        let found = unreadable.find(|found| is_it(&found.metadata) || is_there(&found.metadata));
        found.map(Self::of_unreadable)
    }

    fn of(tenant: &'o Tenant) -> Self {
        Self {
            tenant: Some(tenant),
            ..Self::default()
        }
    }

    fn of_unreadable(tenant: &'o Unreadable) -> Self {
        Self {
            unreadable: Some(tenant),
            ..Self::default()
        }
    }

    fn exists(&self) -> bool {
        self.tenant.is_some() || self.unreadable.is_some()
    }
}
