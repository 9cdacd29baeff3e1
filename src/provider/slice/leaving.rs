//! Slices that go: since their peer is drained, or by themselves.

use super::{Slice, status};
use crate::{
    audit::{Decision, Event},
    machine::{Effect, Part, Step},
    model::{Resource, Secret},
    provider::credentials::issuance::CertificateSecret,
};

/// A slice of a drained peer.
#[derive(Clone)]
pub struct DrainedSlice<'o> {
    pub(super) slice: Slice<'o>,
}

/// What is kept of a slice that is gone: its record and its certificate.
#[derive(Clone)]
pub struct LeftBehind<'o> {
    pub(super) record: &'o Secret,
    pub(super) certificate: CertificateSecret<'o>,
    /// The record stays: a slice of that name is cordoned when it comes again.
    pub(super) kept: bool,
}

impl DrainedSlice<'_> {
    /// Denies the resources, so that the consumer learns of it, and at the next
    /// look deletes the slice. The denial goes by the record: a peer that takes
    /// it off the status does not hold up the end.
    pub fn withdraw(&self) -> Step {
        let slice = &self.slice;
        let mut step = Step::default();
        let Some(record) = slice.record().filter(|record| !record.drained) else {
            step.effects.push(Effect::delete(slice.object));
            return step;
        };
        let mut record = record.clone();
        record.drained = true;
        step.effects.push(slice.write_record(&record));
        let mut denied = slice.object.clone();
        status::deny_resources(&mut denied.status, slice.now);
        step.effects
            .extend(Effect::patch(slice.object, denied, Part::Status));
        let reason = "the peer is drained".to_owned();
        let denied = Decision::ResourcesDenied { reason };
        step.events
            .push(Event::new(&slice.peer, denied).about(slice.object.id()));
        step
    }
}

impl LeftBehind<'_> {
    /// Deletes the certificate, then the record that names it.
    pub fn clean_up(&self) -> Step {
        let record = (!self.kept).then(|| Effect::delete(self.record));
        Step {
            effects: self
                .certificate
                .delete()
                .into_iter()
                .chain(record)
                .collect(),
            ..Step::default()
        }
    }

    pub(super) fn is_settled(&self) -> bool {
        self.kept && self.certificate.stored.is_none()
    }
}
