//! The cordon of a slice: on record, and as its replica shows it by an annotation.

use super::replica::SliceLook;
use crate::{
    audit::{Decision, Event},
    machine::Notice,
    model::{Kind, ObjectRef, Resource, TenantCondition, names},
    provider::{
        look::Look,
        record::{SliceRecord, slice_name},
        records::Plan,
    },
};

impl SliceLook<'_> {
    /// Whether the slice is cordoned, by itself or with its peer. The record counts, since the
    /// peer may remove the annotation. An annotation counts unless a cordon was lifted here.
    pub(super) fn is_cordoned(&self) -> bool {
        let shown = self
            .object
            .metadata
            .is_cordoned_by(names::CORDON_ANNOTATION);
        let is_lifted = self.record.is_some_and(|record| record.lifting);
        shown && !is_lifted || is_cordoned_by_record(&self.look, self.record)
    }

    /// Records a cordon that the replica shows. An administrator may set the annotation by
    /// `liqoctl`, and the peer may remove it. After a cordon was lifted here, removes the
    /// annotation that is left.
    pub(super) fn follow_cordon(&self, plan: &mut Plan<'_>) {
        let metadata = &self.object.metadata;
        let (look, name) = (&self.look, &metadata.name);
        let shown = metadata.annotations.get(names::CORDON_ANNOTATION);
        match (self.record, shown) {
            (Some(record), Some(_)) if record.lifting => plan.edit(self.object, |slice| {
                slice.metadata.annotations.remove(names::CORDON_ANNOTATION);
            }),
            (Some(record), None) if record.lifting => plan
                .records
                .slice(name)
                .change(|record| record.lifting = false),
            (Some(record), Some(_)) if record.cordoned => {}
            (Some(record), None) if record.cordoned => plan.notify(Notice::SliceCordonHeld {
                slice: self.object.id(),
            }),
            (_, Some(_))
                if metadata.is_cordoned_by(names::CORDON_ANNOTATION) && self.may_have_record() =>
            {
                plan.records
                    .slice(name)
                    .change_or_make(|| SliceRecord::of(name), |record| record.cordoned = true);
                let record = slice_name(look.peer(), name);
                let record = ObjectRef::new(Kind::Secret, look.configuration.namespace(), record);
                let cordoned = Event::new(look.peer(), Decision::SliceCordoned);
                plan.tell_upon(record, cordoned.about(self.object.id()));
            }
            _ => {}
        }
    }
}

/// Whether this record cordons the slice, or the condition of its peer does.
pub(super) fn is_cordoned_by_record(look: &Look<'_>, record: Option<&SliceRecord>) -> bool {
    look.observed.condition() != TenantCondition::Active
        || record.is_some_and(|record| record.cordoned)
}
