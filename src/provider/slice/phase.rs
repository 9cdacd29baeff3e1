//! The phases of a slice on the provider's side.

use super::SettledSlice;
use crate::{error::Error, model::ObjectRef, provider::CredentialRequest, verify::VerifiedSlice};

/// The state of one of the peer's slices.
#[derive(Debug)]
#[non_exhaustive]
pub struct SliceStatus {
    /// The slice.
    pub slice: ObjectRef,
    /// The slice's phase.
    pub phase: SlicePhase,
}

/// The phases of a slice. [`Machine::reconcile`](crate::Machine::reconcile)
/// leads from one to the next.
#[non_exhaustive]
pub enum SlicePhase {
    /// The peer's control plane is not authenticated yet, or authenticates again.
    AwaitsPeer,
    /// The slice has no certificate request yet.
    AwaitsRequest,
    /// The replica has no UID yet; the store assigns it.
    NeedsUid,
    /// The request is verified; the look-up of names has not answered yet.
    AwaitsNames,
    /// The request is verified; it must be recorded before it is signed.
    NeedsRecord(Box<VerifiedSlice>),
    /// The request is on record; the credential must be requested.
    NeedsCredential(Box<NeedsSliceCredential>),
    /// The credential exists; the decision on the requested resources is missing.
    NeedsDecision(Box<SettledSlice>),
    /// The status does not match the record.
    NeedsStatus(Box<SettledSlice>),
    /// The credential exists. The resources are granted, or another controller
    /// decides on them.
    Accepted(Box<SettledSlice>),
    /// The credential exists, and the resources are denied.
    Denied(Box<SettledSlice>),
    /// The provider refuses the slice.
    Refused(Error),
    /// The peer is drained: the slice is denied, then deleted.
    Drained,
    /// The slice is being deleted.
    Ending,
    /// The slice is gone; the provider must still clean up its record or
    /// certificate.
    LeftBehind,
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

    /// The phase's name, for messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::AwaitsPeer => "AwaitsPeer",
            Self::AwaitsRequest => "AwaitsRequest",
            Self::NeedsUid => "NeedsUid",
            Self::AwaitsNames => "AwaitsNames",
            Self::NeedsRecord(_) => "NeedsRecord",
            Self::NeedsCredential(_) => "NeedsCredential",
            Self::NeedsDecision(_) => "NeedsDecision",
            Self::NeedsStatus(_) => "NeedsStatus",
            Self::Accepted(_) => "Accepted",
            Self::Denied(_) => "Denied",
            Self::Refused(_) => "Refused",
            Self::Drained => "Drained",
            Self::Ending => "Ending",
            Self::LeftBehind => "LeftBehind",
        }
    }
}

impl core::fmt::Debug for SlicePhase {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Refused(error) => formatter.debug_tuple("Refused").field(error).finish(),
            phase => formatter.write_str(phase.name()),
        }
    }
}
