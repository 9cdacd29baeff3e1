//! The cordon that a replica shows by its annotation.

use super::replica::SliceLook;
use crate::{
    audit::{Decision, Event},
    machine::Notice,
    model::{Kind, ObjectRef, Resource, names},
    provider::{
        record::{SliceRecord, slice_name},
        records::Plan,
    },
};

impl SliceLook<'_> {
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
            (_, Some(value)) if is_cordon(value) && self.may_have_record() => {
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

/// Whether this value of the annotation cordons a slice, as Liqo reads it.
fn is_cordon(value: &str) -> bool {
    !["false", "False", "0"].contains(&value)
}
