//! Where a peering stands, in one form for both sides.

use super::{Holder, Notice};
use crate::{
    error::Error,
    model::{ClusterId, Timestamp},
};

/// Where one peering stands: what [`Machine::look`](super::Machine::look) tells.
/// The `look` of each side tells more.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Status {
    /// What this side is in the peering.
    pub side: Side,
    /// The other cluster.
    pub peer: ClusterId,
    /// The control plane's identity.
    pub control_plane: HolderStatus,
    /// The identities of the resource slices, each for itself.
    pub slices: Vec<HolderStatus>,
    /// Facts that a person may want to know.
    pub notices: Vec<Notice>,
}

/// What a side is in a peering.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// This side lets the peer in.
    Provider,
    /// This side uses the peer's resources.
    Consumer,
}

/// Where one holder's identity stands.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HolderStatus {
    /// The control plane, or a slice.
    pub holder: Holder,
    /// The name of the phase, as the side has it.
    pub phase: &'static str,
    /// What the phase means for the identity.
    pub stage: Stage,
    /// When the certificate ends; none without a certificate.
    pub valid_until: Option<Timestamp>,
    /// When the certificate is renewed; none while it is being renewed, or if it
    /// is not renewed at all.
    pub renewed_at: Option<Timestamp>,
    /// Why the identity, or its renewal, is refused. If a provider denied a slice
    /// in its own words, there is no error here.
    pub refused: Option<Error>,
}

/// What a phase means, whatever its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    /// This side, or one of its backends, leads on.
    InProgress,
    /// This side has done its part: the peer or an administrator leads on.
    AtRest,
    /// The identity is complete.
    Authenticated,
    /// The identity is refused.
    Refused,
    /// The identity is being taken back.
    Ending,
}

impl HolderStatus {
    /// The status of a holder without a certificate.
    pub(crate) fn new(holder: Holder, phase: &'static str, stage: Stage) -> Self {
        Self {
            holder,
            phase,
            stage,
            valid_until: None,
            renewed_at: None,
            refused: None,
        }
    }
}

impl Status {
    /// The control plane and the slices, in this order.
    pub fn holders(&self) -> impl Iterator<Item = &HolderStatus> {
        core::iter::once(&self.control_plane).chain(&self.slices)
    }
}
