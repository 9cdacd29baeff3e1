//! The phases of a slice.

use super::{
    DrainedSlice, LeftBehind, NeedsDecision, NeedsSliceAwsIdentity, NeedsSliceCertificate,
    NeedsSliceStatus, SettledSlice, Slice, add,
};
use crate::{
    error::Error,
    machine::{Awaited, Effect, Step},
    model::{AuthParams, ObjectRef},
    verify::VerifiedSlice,
};

/// Where one of the peer's slices stands.
#[non_exhaustive]
pub struct SlicePeering<'o> {
    /// The slice.
    pub slice: ObjectRef,
    /// Its phase.
    pub phase: SlicePhase<'o>,
    /// What is to be done to the slice in any phase.
    pub(super) upkeep: Option<Effect>,
}

/// The phases of a slice; each offers what is legal in it.
#[non_exhaustive]
pub enum SlicePhase<'o> {
    /// The peer's control plane has not authenticated, or does so anew.
    AwaitsPeer,
    /// The consumer has put no request into it yet.
    AwaitsRequest,
    /// The replica has no UID yet, which the store assigns.
    NeedsUid,
    /// The request is verified; that is to be recorded before it is signed.
    NeedsRecord(NeedsSliceRecord<'o>),
    /// The request is on record; it is to be signed.
    NeedsCertificate(NeedsSliceCertificate<'o>),
    /// The request is on record; the slice is to have an AWS user.
    NeedsAwsIdentity(NeedsSliceAwsIdentity<'o>),
    /// The certificate or the AWS user is there; nobody has decided on the
    /// resources that the slice asks for now.
    NeedsDecision(NeedsDecision<'o>),
    /// The status does not say what is on record.
    NeedsStatus(NeedsSliceStatus<'o>),
    /// The certificate is there, and the resources are granted, or another
    /// controller's to grant.
    Accepted(SettledSlice<'o>),
    /// The certificate is there, and the resources are denied.
    Denied(SettledSlice<'o>),
    /// The slice cannot be taken.
    Refused(Error),
    /// The peer is drained: the slice is denied, then deleted.
    Drained(DrainedSlice<'o>),
    /// The slice is being deleted.
    Ending,
    /// The slice is gone, and what was kept of it is to go, too.
    LeftBehind(LeftBehind<'o>),
}

/// The slice's request is verified, and its user name is free.
#[derive(Clone)]
pub struct NeedsSliceRecord<'o> {
    pub(super) slice: Slice<'o>,
    pub(super) verified: VerifiedSlice,
}

impl SlicePeering<'_> {
    /// The slice's name.
    pub fn name(&self) -> &str {
        &self.slice.name
    }

    /// The certificate and the address that the peer gets for this slice, once
    /// there are any.
    pub(in crate::provider) fn auth_params(&self) -> Option<AuthParams> {
        match &self.phase {
            SlicePhase::NeedsDecision(phase) => Some(phase.settled.auth_params()),
            SlicePhase::NeedsStatus(phase) => Some(phase.settled.auth_params()),
            SlicePhase::Accepted(slice) | SlicePhase::Denied(slice) => Some(slice.auth_params()),
            _ => None,
        }
    }

    /// What leads on.
    pub(super) fn step(self) -> Result<Step, Error> {
        let mut step = Step {
            effects: self.upkeep.into_iter().collect(),
            ..Step::default()
        };
        let of_phase = match self.phase {
            SlicePhase::AwaitsPeer | SlicePhase::Ending => Ok(Step::default()),
            SlicePhase::AwaitsRequest => Ok(Step::awaiting(Awaited::SliceRequest(self.slice))),
            SlicePhase::NeedsUid => Ok(Step::awaiting(Awaited::Uid(self.slice))),
            SlicePhase::NeedsRecord(phase) => Ok(phase.record()),
            SlicePhase::NeedsCertificate(phase) => phase.ask_signer(),
            SlicePhase::NeedsAwsIdentity(phase) => phase.ask(),
            SlicePhase::NeedsDecision(phase) => phase.ask_policy(),
            SlicePhase::NeedsStatus(phase) => phase.maintain_and_tell(),
            SlicePhase::Accepted(slice) | SlicePhase::Denied(slice) => slice.maintain(),
            SlicePhase::Drained(slice) => Ok(slice.withdraw()),
            SlicePhase::LeftBehind(left) => Ok(left.clean_up()),
            SlicePhase::Refused(error) => Err(error),
        };
        match of_phase {
            Ok(of_phase) => add(&mut step, of_phase),
            // What is kept up is kept up.
            Err(error) if step.is_settled() => return Err(error),
            Err(error) => add(
                &mut step,
                Step {
                    refused: vec![crate::machine::Refused {
                        object: error.at().object.clone(),
                        error,
                    }],
                    ..Step::default()
                },
            ),
        }
        Ok(step)
    }
}

impl NeedsSliceRecord<'_> {
    /// What was verified.
    pub fn slice(&self) -> &VerifiedSlice {
        &self.verified
    }

    /// Records the request, before anything is signed.
    pub fn record(&self) -> Step {
        let record = match self.slice.record() {
            Some(record) => record.clone(),
            None => super::SliceRecord::of(&self.slice.object.metadata.name),
        };
        let record = record.with_request(self.slice.object, &self.verified);
        Step {
            effects: vec![self.slice.write_record(&record)],
            ..Step::default()
        }
    }
}

impl SlicePhase<'_> {
    /// The phase's name, for messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::AwaitsPeer => "AwaitsPeer",
            Self::AwaitsRequest => "AwaitsRequest",
            Self::NeedsUid => "NeedsUid",
            Self::NeedsRecord(_) => "NeedsRecord",
            Self::NeedsCertificate(_) => "NeedsCertificate",
            Self::NeedsAwsIdentity(_) => "NeedsAwsIdentity",
            Self::NeedsDecision(_) => "NeedsDecision",
            Self::NeedsStatus(_) => "NeedsStatus",
            Self::Accepted(_) => "Accepted",
            Self::Denied(_) => "Denied",
            Self::Refused(_) => "Refused",
            Self::Drained(_) => "Drained",
            Self::Ending => "Ending",
            Self::LeftBehind(_) => "LeftBehind",
        }
    }
}

impl core::fmt::Debug for SlicePhase<'_> {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Refused(error) => formatter.debug_tuple("Refused").field(error).finish(),
            phase => formatter.write_str(phase.name()),
        }
    }
}

impl core::fmt::Debug for SlicePeering<'_> {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter
            .debug_struct("SlicePeering")
            .field("slice", &self.slice)
            .field("phase", &self.phase)
            .finish_non_exhaustive()
    }
}
