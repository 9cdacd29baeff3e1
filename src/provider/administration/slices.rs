//! What only this side's administrator does to a slice.

use crate::{
    audit::{Decision, Event},
    error::{Error, Precondition},
    machine::{Step, View},
    model::{Kind, ObjectRef, ResourceSlice, Timestamp, names},
    provider::{
        Provider,
        record::{SliceRecord, slice_name},
    },
};

impl Provider {
    /// Cordons one slice: it gets the annotation `liqo.io/cordon`, by which
    /// Liqo lets nothing new run in it. That is recorded, and holds until
    /// [`uncordon_slice`](Self::uncordon_slice), also if the peer takes the
    /// annotation off or makes the slice anew.
    ///
    /// The annotation alone, as `liqoctl cordon resourceslice` sets it, is left
    /// as it is and not held.
    ///
    /// # Errors
    /// [`Precondition::NoSlice`] if the peer has no slice of that name; as
    /// [`look`](Self::look).
    pub fn cordon_slice(&self, view: &View<'_>, slice: &str) -> Result<Step, Error> {
        let cordon = |slice: &mut ResourceSlice| {
            let annotations = &mut slice.metadata.annotations;
            annotations.insert(names::CORDON_ANNOTATION.into(), names::TRUE.into());
        };
        let record = |record: &mut SliceRecord| record.cordoned = true;
        self.change_slice(view, slice, Decision::SliceCordoned, record, cordon)
    }

    /// Lifts the cordon of one slice, whoever set it.
    ///
    /// # Errors
    /// As [`cordon_slice`](Self::cordon_slice).
    pub fn uncordon_slice(&self, view: &View<'_>, slice: &str) -> Result<Step, Error> {
        let uncordon = |slice: &mut ResourceSlice| {
            slice.metadata.annotations.remove(names::CORDON_ANNOTATION);
        };
        let record = |record: &mut SliceRecord| record.cordoned = false;
        self.change_slice(view, slice, Decision::SliceUncordoned, record, uncordon)
    }

    /// Forgets what was decided on a slice's resources: the policy is asked
    /// again. Until it answers, nothing is granted.
    ///
    /// # Errors
    /// As [`cordon_slice`](Self::cordon_slice).
    pub fn reconsider_slice(&self, view: &View<'_>, slice: &str) -> Result<Step, Error> {
        let record = |record: &mut SliceRecord| record.decided = None;
        self.change_slice(view, slice, Decision::ResourcesReconsidered, record, |_| {})
    }

    /// Changes record and slice together.
    fn change_slice(
        &self,
        view: &View<'_>,
        name: &str,
        decision: Decision,
        on_record: impl FnOnce(&mut SliceRecord),
        on_slice: impl FnOnce(&mut ResourceSlice),
    ) -> Result<Step, Error> {
        self.0.check_other(view.peer())?;
        let observed = self.observe(view)?;
        let namespace = observed.namespace_name();
        let id = ObjectRef::new(Kind::ResourceSlice, namespace.as_str(), name);
        let object: Option<&ResourceSlice> = view.find(&namespace, name)?;
        let record_name = slice_name(view.peer(), name);
        let record = observed.slice_records.get(record_name.as_str());
        if object.is_none() && record.is_none() {
            return Err(Error::new(Precondition::NoSlice, Some(id), ""));
        }
        if let Some((_, Err(error))) = record {
            return Err(error.clone());
        }
        let look = self.look_at(view, &observed, Timestamp::EPOCH);
        let mut plan = look.plan();
        let event = Event::new(view.peer(), decision).about(id.clone());
        if record.is_some() {
            plan.records.slice(name).change(on_record);
        } else {
            // A record that says nothing is not made.
            let mut made = SliceRecord::of(name);
            on_record(&mut made);
            if made != SliceRecord::of(name) {
                plan.records.slice(name).make(|| made);
            }
        }
        if let Some(slice) = object {
            plan.edit(slice, on_slice);
        }
        let record = ObjectRef::new(Kind::Secret, self.0.namespace.as_str(), record_name);
        plan.tell_upon_any([id, record], event);
        Ok(plan.finish())
    }
}
