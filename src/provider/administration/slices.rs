//! The calls by which this side's administrator changes a slice.

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
    /// Cordons one slice: sets the annotation `liqo.io/cordon`, so that Liqo starts
    /// no new workload in it. The record keeps the cordon until
    /// [`uncordon_slice`](Self::uncordon_slice), even if the peer removes the
    /// annotation or creates the slice again.
    ///
    /// `liqoctl cordon resourceslice` sets only the annotation. The next look records it,
    /// so that it holds as if this call had set it.
    ///
    /// # Errors
    /// [`Precondition::NoSlice`] if the peer has no slice of that name; as
    /// [`look`](Self::look).
    pub fn cordon_slice(&self, view: &View<'_>, slice: &str) -> Result<Step, Error> {
        let cordon = |slice: &mut ResourceSlice| {
            let annotations = &mut slice.metadata.annotations;
            annotations.insert(names::CORDON_ANNOTATION.into(), names::TRUE.into());
        };
        let record = |record: &mut SliceRecord, _: Option<&ResourceSlice>| {
            record.cordoned = true;
            record.lifting = false;
        };
        self.change_slice(view, slice, Decision::SliceCordoned, record, cordon)
    }

    /// Lifts the cordon of one slice: removes the recorded cordon and the annotation.
    /// Nothing else lifts it: the provider sets an annotation that somebody else removes
    /// again.
    ///
    /// # Errors
    /// As [`cordon_slice`](Self::cordon_slice).
    pub fn uncordon_slice(&self, view: &View<'_>, slice: &str) -> Result<Step, Error> {
        let uncordon = |slice: &mut ResourceSlice| {
            slice.metadata.annotations.remove(names::CORDON_ANNOTATION);
        };
        // A look between both changes, or after a crash, removes the annotation.
        let record = |record: &mut SliceRecord, slice: Option<&ResourceSlice>| {
            record.cordoned = false;
            record.lifting |= slice.is_some_and(|slice| {
                let annotations = &slice.metadata.annotations;
                annotations.contains_key(names::CORDON_ANNOTATION)
            });
        };
        self.change_slice(view, slice, Decision::SliceUncordoned, record, uncordon)
    }

    /// Forgets the decision on a slice's resources, so that the provider asks the
    /// policy again. Until the policy answers, nothing is granted.
    ///
    /// # Errors
    /// As [`cordon_slice`](Self::cordon_slice).
    pub fn reconsider_slice(&self, view: &View<'_>, slice: &str) -> Result<Step, Error> {
        let record = |record: &mut SliceRecord, _: Option<&ResourceSlice>| record.decided = None;
        self.change_slice(view, slice, Decision::ResourcesReconsidered, record, |_| {})
    }

    /// Grants a slice what Liqo granted it beyond the caps before the provider took the
    /// peering over: the amounts of
    /// [`Notice::GrantUnconfirmed`](crate::machine::Notice::GrantUnconfirmed). If nothing
    /// waits for that, the step has no effects.
    ///
    /// # Errors
    /// As [`cordon_slice`](Self::cordon_slice).
    pub fn confirm_slice(&self, view: &View<'_>, slice: &str) -> Result<Step, Error> {
        let record = |record: &mut SliceRecord, _: Option<&ResourceSlice>| record.confirm();
        self.change_slice(view, slice, Decision::ResourcesConfirmed, record, |_| {})
    }

    /// Changes the slice and its record together.
    fn change_slice(
        &self,
        view: &View<'_>,
        name: &str,
        decision: Decision,
        on_record: impl FnOnce(&mut SliceRecord, Option<&ResourceSlice>),
        on_slice: impl FnOnce(&mut ResourceSlice),
    ) -> Result<Step, Error> {
        let observed = self.observe(view)?;
        let namespace = observed.namespace_name();
        let id = ObjectRef::new(Kind::ResourceSlice, namespace.as_str(), name);
        let object: Option<&ResourceSlice> = view.find(&namespace, name)?;
        let record = observed.slice_record(name).transpose()?;
        if object.is_none() && record.is_none() {
            return Err(Error::new(Precondition::NoSlice, Some(id), ""));
        }
        let look = self.look_at(view, &observed, Timestamp::EPOCH);
        let mut plan = look.plan();
        let event = Event::new(view.peer(), decision).about(id.clone());
        if record.is_some() {
            let working = plan.records.slice(name);
            working.change(|record| on_record(record, object));
        } else {
            // An empty record is not created.
            let mut made = SliceRecord::of(name);
            on_record(&mut made, object);
            if made != SliceRecord::of(name) {
                plan.records.slice(name).make(|| made);
            }
        }
        if let Some(slice) = object {
            plan.edit(slice, on_slice);
        }
        let record_name = slice_name(view.peer(), name);
        let record = ObjectRef::new(Kind::Secret, self.0.namespace(), record_name);
        plan.tell_upon_any([id, record], event);
        Ok(plan.finish())
    }
}
