//! The phases of a slice on the provider's side.

use super::SettledSlice;
use crate::{
    crypto::Certificate,
    error::Error,
    machine::phases,
    model::{ObjectRef, ResourceSliceConditionStatus},
    provider::CredentialRequest,
    verify::VerifiedSlice,
};

/// The state of one of the peer's slices.
#[derive(Debug)]
#[non_exhaustive]
pub struct SliceStatus {
    /// The slice.
    pub slice: ObjectRef,
    /// The slice's phase.
    pub phase: SlicePhase,
    /// This side's decision on the slice's request. It follows from the record and the phase,
    /// since the peer may write the status of its slice. `None` without a decision.
    pub authentication: Option<ResourceSliceConditionStatus>,
    /// The same on the slice's resources. `None` as well if another controller decides on them.
    pub resources: Option<ResourceSliceConditionStatus>,
    /// The certificate that was issued last for this slice, also if it does not count any more.
    pub certificate: Option<Certificate>,
    /// Whether the slice is cordoned, by itself or with its peer. The record and the condition
    /// in force say so, since the peer may remove the annotations of its slice. An annotation
    /// that the record does not have yet counts, too.
    pub cordoned: bool,
}

phases! {
    /// The phases of a slice. [`Machine::reconcile`](crate::Machine::reconcile)
    /// leads from one to the next.
    #[non_exhaustive]
    pub enum SlicePhase {
        /// The peer's control plane is not authenticated yet, or authenticates again.
        AwaitsPeer => Waiting,
        /// The slice has no certificate request yet.
        AwaitsRequest => Waiting,
        /// The replica has no UID yet; the store assigns it.
        NeedsUid => InProgress,
        /// The request is verified; the look-up of names has not answered yet.
        AwaitsNames => InProgress,
        /// The request is verified; it must be recorded before it is signed.
        NeedsRecord(Box<VerifiedSlice>) => InProgress,
        /// The request is on record; the credential must be requested.
        NeedsCredential(Box<NeedsSliceCredential>) => InProgress,
        /// The credential exists; the decision on the requested resources is missing.
        NeedsDecision(Box<SettledSlice>) => InProgress,
        /// The status does not match the record.
        NeedsStatus(Box<SettledSlice>) => InProgress,
        /// The credential exists. The resources are granted, or another controller
        /// decides on them.
        Accepted(Box<SettledSlice>) => Authenticated,
        /// The credential exists, and the resources are denied.
        Denied(Box<SettledSlice>) => Authenticated,
        /// The provider refuses the slice.
        Refused(Error) => Refused,
        /// The peer is drained: the slice is denied, then deleted.
        Drained => Ending,
        /// The slice is being deleted.
        Ending => Ending,
        /// The slice is gone; the provider must still clean up its record or
        /// certificate.
        LeftBehind => Ending,
    }
}

/// A verified slice that waits for its credential.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct NeedsSliceCredential {
    /// The verified slice.
    pub slice: VerifiedSlice,
    /// The credential to request.
    pub request: CredentialRequest,
}

impl SlicePhase {
    /// The slice with its credential, if it has one.
    pub fn settled(&self) -> Option<&SettledSlice> {
        match self {
            Self::NeedsDecision(slice)
            | Self::NeedsStatus(slice)
            | Self::Accepted(slice)
            | Self::Denied(slice) => Some(slice),
            _ => None,
        }
    }
}
