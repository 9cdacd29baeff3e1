//! What this side's records say about a peer's slices, for drivers that act on it.

use super::replica::record_of;
use crate::{
    error::Error,
    machine::View,
    model::{Kind, Object, ObjectRef, TenantCondition, Timestamp},
    provider::{
        Provider,
        look::Look,
        record::{Decided, Grant, Outcome},
    },
};

/// What the provider's records say about one of the peer's slices. The peer can write the
/// replica of the slice with its status and annotations, but not these records.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordedSlice {
    /// The replica.
    pub slice: ObjectRef,
    /// The UID of that replica.
    pub uid: String,
    /// The grant. `None` if nothing is granted, if another controller decides on the class,
    /// if the peer is drained, or if the replica is being deleted.
    pub grant: Option<Grant>,
    /// Whether the slice gets no new workload. A cordon of the slice, the peer's condition
    /// and the end of its Tenant say so, and a decision that is denied or missing.
    pub cordoned: bool,
}

impl Provider {
    /// The peer's slices that are on record, as long as their replicas exist, and the other
    /// replicas that are cordoned. What the replicas say is not read.
    ///
    /// # Errors
    /// As [`look`](Self::look); the peer's record cannot be read. A slice whose record
    /// cannot be read is left out.
    pub fn recorded_slices(&self, view: &View<'_>) -> Result<Vec<RecordedSlice>, Error> {
        let observed = self.observe(view)?;
        observed.check_record()?;
        let look = self.look_at(view, &observed, Timestamp::EPOCH);
        let namespace = observed.namespace_name();
        let present = view.present(Kind::ResourceSlice);
        let here = present.filter(|slice| slice.metadata().namespace == namespace);
        Ok(here.filter_map(|slice| recorded(&look, slice)).collect())
    }
}

fn recorded(look: &Look<'_>, slice: &Object) -> Option<RecordedSlice> {
    let metadata = slice.metadata();
    let record = match record_of(look, &metadata.name) {
        None => None,
        Some(record) => Some(record.ok()?),
    };
    let is_peer_active = has_active_peer(look);
    let told = |grant, cordoned| RecordedSlice {
        slice: slice.id(),
        uid: metadata.uid.clone(),
        grant,
        cordoned,
    };
    let Some(about) = record.filter(|record| record.is_about(metadata)) else {
        let is_cordoned = !is_peer_active || record.is_some_and(|record| record.cordoned);
        return is_cordoned.then(|| told(None, true));
    };
    let is_drained = about.drained || look.observed.is_drained();
    let stays = metadata.deletion_timestamp.is_none() && !is_drained;
    let decided = about.decided.as_ref();
    let grant = decided.and_then(Decided::grant).filter(|_| stays).cloned();
    let outcome = decided.map(|decided| &decided.outcome);
    let is_undecided = matches!(outcome, None | Some(Outcome::Denied { .. }));
    let is_cordoned = !is_peer_active || is_drained || about.cordoned || is_undecided;
    Some(told(grant, is_cordoned))
}

/// Whether the peer's Tenant stays, and its condition is `Active`.
fn has_active_peer(look: &Look<'_>) -> bool {
    let tenant = look.observed.tenant_metadata();
    tenant.is_some_and(|tenant| tenant.deletion_timestamp.is_none())
        && look.observed.condition() == TenantCondition::Active
}
