//! Slices that end: their peer is drained, or the slice itself is gone.

use super::{replica::SliceLook, status};
use crate::{
    audit::{Decision, Event},
    model::{Resource, Secret, Timestamp, names},
    provider::{credentials::delete_unanswered, look::Look, record::SliceRecord, records::Plan},
};

impl SliceLook<'_> {
    /// Denies the resources of a drained peer's slice, so that the consumer sees the
    /// denial. The next step deletes the slice. The record keeps the denial: if the
    /// peer removes it from the status, the deletion still follows.
    pub(super) fn withdraw(&self, plan: &mut Plan<'_>) {
        let slice = self.object;
        let Some(record) = self.record.filter(|record| !record.drained) else {
            return plan.delete(slice);
        };
        delete_unanswered(&self.look, &record.held, plan);
        plan.records
            .slice(&slice.metadata.name)
            .change(|record| record.drained = true);
        let now = self.look.now;
        plan.withdraw_status(slice, |slice| {
            status::deny_resources(&mut slice.status, now)
        });
        let reason = "the peer is drained".to_owned();
        let denied = Decision::ResourcesDenied { reason };
        let id = slice.id();
        plan.tell(Event::new(self.look.peer(), denied).about(id));
    }
}

/// The remains of a slice that is gone: its record and its certificate.
pub(super) struct LeftBehind<'a> {
    pub(super) secret: &'a Secret,
    pub(super) record: &'a SliceRecord,
    pub(super) certificate: Option<&'a Secret>,
}

impl<'a> LeftBehind<'a> {
    pub(super) fn of(look: &Look<'a>, secret: &'a Secret, record: &'a SliceRecord) -> Self {
        let name = names::issued_certificate_secret_of_slice(&record.slice);
        let namespace = look.observed.namespace_name();
        Self {
            secret,
            record,
            // An unreadable Secret stays, since another party has changed it.
            certificate: look.view.find(&namespace, &name).unwrap_or_default(),
        }
    }

    /// Whether the record stays. The record stays if a new slice with that name must
    /// be cordoned, or if a certificate or an access key for that name may still be
    /// valid.
    fn is_kept(&self, look: &Look<'_>) -> bool {
        let is_cordoned = self.record.cordoned && look.observed.tenant_metadata().is_some();
        let peer = look.observed.record();
        is_cordoned
            || self.taken_until(look).is_some()
            || peer.is_some_and(|peer| peer.aws.may_authenticate_as(&self.record.slice))
    }

    /// The time until which a certificate for that name may be valid, if that is
    /// later than now.
    pub(super) fn taken_until(&self, look: &Look<'_>) -> Option<Timestamp> {
        self.record.unused_from().filter(|until| look.now < *until)
    }

    pub(super) fn is_settled(&self, look: &Look<'_>) -> bool {
        self.is_kept(look) && self.certificate.is_none() && *self.record == self.record.tombstone()
    }

    /// Deletes the certificate, then the record. If the record must stay, reduces
    /// it to a tombstone.
    pub(super) fn clean_up(&self, look: &Look<'_>, plan: &mut Plan<'_>) {
        delete_unanswered(look, &self.record.held, plan);
        if let Some(certificate) = self.certificate {
            plan.delete(certificate);
        }
        if self.is_kept(look) {
            let name = &self.record.slice;
            plan.records
                .slice(name)
                .forget(|record| *record = record.tombstone());
        } else {
            plan.forget(self.secret);
        }
    }
}
