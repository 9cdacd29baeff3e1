//! The phases of a peering on the provider's side.

use super::{ApprovalRequest, CredentialRequest, Issued, RenewalChannel, SliceStatus, WhyNonce};
use crate::{
    crypto::Nonce,
    error::Error,
    machine::Notice,
    model::{ObjectRef, Timestamp},
    verify::VerifiedTenant,
};

/// The state of a peering, which [`Provider::look`](super::Provider::look) returns.
#[derive(Debug)]
#[non_exhaustive]
pub struct Status {
    /// The phase of the control plane's authentication.
    pub phase: Phase,
    /// The status of each resource slice of the peer.
    pub slices: Vec<SliceStatus>,
    /// How a renewed certificate reaches the peer.
    pub renewal_channel: RenewalChannel,
    /// Facts that a person may want to know.
    pub notices: Vec<Notice>,
}

/// The phases of the control plane's authentication.
/// [`Machine::reconcile`](crate::Machine::reconcile) leads from one to the
/// next.
#[non_exhaustive]
pub enum Phase {
    /// The peer has no invitation. [`Provider::invite`](super::Provider::invite)
    /// makes one.
    Uninvited,
    /// An earlier peering is over: the Tenant is gone. The peer can return only
    /// after a new [`Provider::invite`](super::Provider::invite).
    Ended {
        /// The time until which the record must stay and bind the cluster ID to the
        /// pinned key. Then every issued certificate and used nonce has expired.
        /// `None` if the record has no such time. The record then contains an
        /// administrator's condition, which only
        /// [`lift_condition`](super::Provider::lift_condition) ends, or an access
        /// key, whose deletion [`aws_key_revoked`](super::Provider::aws_key_revoked)
        /// records.
        kept_until: Option<Timestamp>,
    },
    /// The Tenant has no UID yet; the store assigns it. A proof is bound to the UID,
    /// so that the proof is not valid for a later Tenant with the same name.
    NeedsUid(ObjectRef),
    /// The peer has no nonce that it could sign.
    NeedsNonce(WhyNonce),
    /// The peer can sign this nonce, and the provider waits for the Tenant.
    AwaitsTenant(Nonce),
    /// The Tenant is verified; the look-up of names has not answered yet.
    AwaitsNames,
    /// The Tenant is verified, and its key signed this nonce. This proof must be
    /// recorded before anything is signed.
    NeedsProof(Box<VerifiedTenant>, Nonce),
    /// The proof is on record; the request waits for an approval.
    NeedsApproval(Box<ApprovalRequest>),
    /// The proof is on record; the credential must be requested.
    NeedsCredential(Box<NeedsCredential>),
    /// The credential exists; the rights or the status are missing.
    NeedsRights(Box<Issued>),
    /// The authentication is complete; the provider can send the Identity.
    Authenticated(Box<Issued>),
    /// The peer has access without a handshake: this side's administrator allows
    /// it.
    Tolerated,
    /// The provider refuses the peer, its name or its objects.
    Refused(Error),
    /// The peer is drained. The peer keeps its certificate, but has no rights.
    Drained,
    /// The Tenant is being deleted; or the Tenant is gone, but rights remain.
    Ending,
}

/// A verified Tenant that waits for its credential.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct NeedsCredential {
    /// The verified Tenant.
    pub tenant: VerifiedTenant,
    /// The credential to request.
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
            Self::NeedsProof(..) => "NeedsProof",
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
