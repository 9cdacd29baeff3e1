//! Deciding on the resources of a slice.

use super::{Grant, RETRY, SettledSlice, SliceDecision, SliceRequest, add};
use crate::{
    audit::{Decision, Event},
    error::{Backend, Error},
    machine::{Awaited, Refused, Step},
    model::Resource,
    provider::record::slice::{Outcome, SliceRecord},
};

/// Nobody has decided on the resources that the slice asks for now.
#[derive(Clone)]
pub struct NeedsDecision<'o> {
    pub(super) settled: SettledSlice<'o>,
}

impl<'o> NeedsDecision<'o> {
    /// What the slice asks for.
    pub fn request(&self) -> SliceRequest<'_> {
        let slice = &self.settled.slice;
        SliceRequest::new(&slice.peer, slice.object, self.granted(), slice.now)
    }

    /// The slice behind it, whose certificate is there.
    pub fn settled(&self) -> &SettledSlice<'o> {
        &self.settled
    }

    /// Records the decision. While it is [pending](SliceDecision::Pending), the
    /// consumer is told of its certificate.
    ///
    /// # Errors
    /// What the signer reports, if the certificate is due meanwhile.
    pub fn decide(&self, decision: &SliceDecision) -> Result<Step, Error> {
        let slice = &self.settled.slice;
        let decided = self.settled.record().and_then(|record: &SliceRecord| {
            record.with_decision(&slice.object.spec, decision, slice.now)
        });
        let Some(record) = decided else {
            let mut step = self.settled.maintain()?;
            let mut told = Step::awaiting(Awaited::Resources(slice.object.id()));
            told.effects.extend(self.settled.missing_status());
            add(&mut step, told);
            return Ok(step);
        };
        let mut step = Step {
            effects: vec![slice.write_record(&record)],
            ..Step::default()
        };
        let event = match decision {
            SliceDecision::Grant(_) => Some(Decision::ResourcesGranted),
            SliceDecision::Deny { message, .. } => Some(Decision::ResourcesDenied {
                reason: message.clone(),
            }),
            SliceDecision::NotMine | SliceDecision::Pending => None,
        };
        step.events.extend(
            event.map(|decision| Event::new(&slice.peer, decision).about(slice.object.id())),
        );
        Ok(step)
    }

    pub(super) fn ask_policy(&self) -> Result<Step, Error> {
        let policy = &self.settled.slice.provider.0.slice_policy;
        let failed = match policy.decide(&self.request()) {
            Ok(decision) => return self.decide(&decision),
            Err(error) => Error::backend(Backend::ResourceSlicePolicy, error),
        };
        // The certificate does not depend on it.
        let mut step = self.decide(&SliceDecision::Pending)?;
        let mut refused = Step::default();
        refused.refused.push(Refused {
            object: Some(self.settled.slice.object.id()),
            error: failed,
        });
        refused.wait.wake_at = Some(self.settled.slice.now + RETRY);
        add(&mut step, refused);
        Ok(step)
    }

    fn granted(&self) -> Option<&Grant> {
        match &self.settled.record()?.decided.as_ref()?.outcome {
            Outcome::Granted(grant) => Some(grant),
            _ => None,
        }
    }
}
