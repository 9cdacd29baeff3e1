//! What only this side's administrator does to a slice.

use crate::{
    audit::{Decision, Event},
    error::{Error, LocalFault},
    machine::{Effect, Part, Step, View},
    model::{Kind, ObjectRef, Resource, ResourceSlice, Secret, names},
    provider::{
        Provider,
        observed::Observed,
        record::{self, slice::SliceRecord},
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
    /// [`LocalFault::NoSlice`] if the peer has no slice of that name; as
    /// [`resume`](Self::resume).
    pub fn cordon_slice(&self, view: &View<'_>, slice: &str) -> Result<Step, Error> {
        self.change_slice(view, slice, |record, slice| {
            record.cordoned = true;
            let annotations = slice.map(|slice| &mut slice.metadata.annotations);
            annotations.map(|it| it.insert(names::CORDON_ANNOTATION.into(), names::TRUE.into()));
            Decision::SliceCordoned
        })
    }

    /// Lifts the cordon of one slice, whoever set it.
    ///
    /// # Errors
    /// As [`cordon_slice`](Self::cordon_slice).
    pub fn uncordon_slice(&self, view: &View<'_>, slice: &str) -> Result<Step, Error> {
        self.change_slice(view, slice, |record, slice| {
            record.cordoned = false;
            let annotations = slice.map(|slice| &mut slice.metadata.annotations);
            annotations.map(|it| it.remove(names::CORDON_ANNOTATION));
            Decision::SliceUncordoned
        })
    }

    /// Forgets what was decided on a slice's resources: the policy is asked
    /// again. Until it answers, nothing is granted.
    ///
    /// # Errors
    /// As [`cordon_slice`](Self::cordon_slice).
    pub fn reconsider_slice(&self, view: &View<'_>, slice: &str) -> Result<Step, Error> {
        self.change_slice(view, slice, |record, _| {
            record.decided = None;
            Decision::ResourcesReconsidered
        })
    }

    /// Changes record and slice together.
    fn change_slice(
        &self,
        view: &View<'_>,
        name: &str,
        change: impl Fn(&mut SliceRecord, Option<&mut ResourceSlice>) -> Decision,
    ) -> Result<Step, Error> {
        self.check_other(view.peer())?;
        let observed = Observed::select(self, view)?;
        let peer = &observed.peer;
        let namespace = observed.namespace_name();
        let id = ObjectRef::new(Kind::ResourceSlice, namespace.as_str(), name);
        let object: Option<&ResourceSlice> = view.find(&namespace, name)?;
        let record: Option<&Secret> =
            view.find(&self.0.namespace, &record::slice::name(peer, name))?;
        if object.is_none() && record.is_none() {
            return Err(Error::new(LocalFault::NoSlice, Some(id), ""));
        }
        let before = match record {
            Some(secret) => self.open_slice_record(peer, secret)?,
            None => SliceRecord::of(name),
        };
        let mut after = before.clone();
        let mut changed = object.cloned();
        let decision = change(&mut after, changed.as_mut());
        let written = (after != before).then(|| self.write_slice_record(peer, record, &after));
        let patched = object
            .zip(changed)
            .and_then(|(object, changed)| Effect::patch(object, changed, Part::Main));
        let effects: Vec<Effect> = written.into_iter().chain(patched).collect();
        let event = Event::new(peer, decision).about(match object {
            Some(object) => object.id(),
            None => id,
        });
        Ok(Step {
            events: if effects.is_empty() {
                Vec::new()
            } else {
                vec![event]
            },
            effects,
            ..Step::default()
        })
    }
}
