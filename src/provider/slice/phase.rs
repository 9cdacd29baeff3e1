//! The phases of a slice, as the provider tells them.

use super::SettledSlice;
use crate::{error::Error, model::ObjectRef, provider::CredentialRequest, verify::VerifiedSlice};

/// Where one of the peer's slices stands.
#[derive(Debug)]
#[non_exhaustive]
pub struct SliceStatus {
    /// The slice.
    pub slice: ObjectRef,
    /// Its phase.
    pub phase: SlicePhase,
}

/// The phases of a slice. [`Provider::reconcile`](crate::Provider::reconcile)
/// leads from one to the next.
#[non_exhaustive]
pub enum SlicePhase {
    /// The peer's control plane has not authenticated, or does so anew.
    AwaitsPeer,
    /// The consumer has put no request into it yet.
    AwaitsRequest,
    /// The replica has no UID yet, which the store assigns.
    NeedsUid,
    /// The request is verified; the look-up of names has not answered yet.
    AwaitsNames,
    /// The request is verified; that is to be recorded before it is signed.
    NeedsRecord(Box<VerifiedSlice>),
    /// The request is on record; the credential is to be asked for.
    NeedsCredential(Box<NeedsSliceCredential>),
    /// The credential is there; the resources that the slice asks for now are
    /// not decided on.
    NeedsDecision(Box<SettledSlice>),
    /// The status does not say what is on record.
    NeedsStatus(Box<SettledSlice>),
    /// The credential is there, and the resources are granted, or another
    /// controller's to grant.
    Accepted(Box<SettledSlice>),
    /// The credential is there, and the resources are denied.
    Denied(Box<SettledSlice>),
    /// The slice cannot be taken.
    Refused(Error),
    /// The peer is drained: the slice is denied, then deleted.
    Drained,
    /// The slice is being deleted.
    Ending,
    /// The slice is gone, and what was kept of it is to go, too.
    LeftBehind,
}

/// A verified slice that waits for its credential.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct NeedsSliceCredential {
    /// What was verified.
    pub slice: VerifiedSlice,
    /// What is to be asked for.
    pub request: CredentialRequest,
}

impl SliceStatus {
    /// The slice's name.
    pub fn name(&self) -> &str {
        &self.slice.name
    }
}

impl SlicePhase {
    /// The slice with its credential, where it has one.
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
