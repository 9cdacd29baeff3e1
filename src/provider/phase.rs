//! The phases of a peering, as the provider tells them.

use super::{
    ApprovalRequest, AwaitsTenant, CredentialRequest, Issued, RenewalChannel, SliceStatus, WhyNonce,
};
use crate::{
    crypto::Nonce,
    error::Error,
    machine::Notice,
    model::{ObjectRef, Timestamp},
    verify::VerifiedTenant,
};

/// Where a peering stands: what [`Provider::look`](super::Provider::look) tells.
#[derive(Debug)]
#[non_exhaustive]
pub struct Status {
    /// The phase of the control plane's authentication.
    pub phase: Phase,
    /// The peer's resource slices, each for itself.
    pub slices: Vec<SliceStatus>,
    /// How a renewed certificate reaches the peer.
    pub renewal_channel: RenewalChannel,
    /// Facts that a person may want to know.
    pub notices: Vec<Notice>,
}

/// The phases of the control plane's authentication.
/// [`Provider::reconcile`](super::Provider::reconcile) leads from one to the
/// next.
#[non_exhaustive]
pub enum Phase {
    /// Nobody asked for this peer: [`Provider::invite`](super::Provider::invite)
    /// does.
    Uninvited,
    /// The peer was here, and its Tenant is gone. The peer comes back only by
    /// [`Provider::invite`](super::Provider::invite).
    Ended {
        /// Until when the cluster ID belongs to the pinned key: until no
        /// certificate that was issued holds any more. None if that is not a
        /// matter of time: an administrator's condition is on record, which only
        /// [`lift_condition`](super::Provider::lift_condition) ends, or an
        /// access key, whose deletion
        /// [`aws_key_revoked`](super::Provider::aws_key_revoked) records.
        kept_until: Option<Timestamp>,
    },
    /// The Tenant has no UID yet, which the store assigns: a proof is for one
    /// Tenant, and not for the next of its name.
    NeedsUid(ObjectRef),
    /// The peer has no nonce that it could sign.
    NeedsNonce(WhyNonce),
    /// The nonce waits for its Tenant.
    AwaitsTenant(AwaitsTenant),
    /// The Tenant is verified; the look-up of names has not answered yet.
    AwaitsNames,
    /// The Tenant is verified; that is to be recorded before anything is signed.
    NeedsProof(Box<NeedsProof>),
    /// The proof is on record; the request waits for an approval.
    NeedsApproval(Box<ApprovalRequest>),
    /// The proof is on record; the credential is to be asked for.
    NeedsCredential(Box<NeedsCredential>),
    /// The credential is there; rights and status are missing.
    NeedsRights(Box<Issued>),
    /// All is there, and the Identity can be handed out.
    Authenticated(Box<Issued>),
    /// The peer is let in without a handshake, by this side's administrator.
    Tolerated,
    /// What the peer sent cannot be taken.
    Refused(Error),
    /// The administrator drained the peer: it keeps its certificate, and has no
    /// rights.
    Drained,
    /// The Tenant is being deleted, or is gone and has left rights behind.
    Ending,
}

/// A Tenant that is verified, and the nonce that its key signed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct NeedsProof {
    /// What was verified.
    pub tenant: VerifiedTenant,
    /// What the key signed.
    pub nonce: Nonce,
}

/// A verified Tenant that waits for its credential.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct NeedsCredential {
    /// What was verified.
    pub tenant: VerifiedTenant,
    /// What is to be asked for.
    pub request: CredentialRequest,
    pub(super) nonce: Nonce,
}

impl Phase {
    /// The phase's name, for messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Uninvited => "Uninvited",
            Self::Ended { .. } => "Ended",
            Self::NeedsUid(_) => "NeedsUid",
            Self::NeedsNonce(_) => "NeedsNonce",
            Self::AwaitsTenant(_) => "AwaitsTenant",
            Self::AwaitsNames => "AwaitsNames",
            Self::NeedsProof(_) => "NeedsProof",
            Self::NeedsApproval(_) => "NeedsApproval",
            Self::NeedsCredential(_) => "NeedsCredential",
            Self::NeedsRights(_) => "NeedsRights",
            Self::Authenticated(_) => "Authenticated",
            Self::Tolerated => "Tolerated",
            Self::Refused(_) => "Refused",
            Self::Drained => "Drained",
            Self::Ending => "Ending",
        }
    }
}

impl core::fmt::Debug for Phase {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Refused(error) => formatter.debug_tuple("Refused").field(error).finish(),
            phase => formatter.write_str(phase.name()),
        }
    }
}
