//! The phases of a peering on the provider's side.

use super::{ApprovalRequest, CredentialRequest, Issued, RenewalChannel, SliceStatus, WhyNonce};
use crate::{
    crypto::Nonce,
    error::Error,
    machine::{Notice, phases},
    model::{ObjectRef, TenantCondition, Timestamp},
    verify::VerifiedTenant,
};

/// The state of a peering, which [`Provider::look`](super::Provider::look) returns.
#[derive(Debug)]
#[non_exhaustive]
pub struct Status {
    /// The phase of the control plane's authentication.
    pub phase: Phase,
    /// The condition in force for the peer (rule 6). `None` without a Tenant.
    pub condition: Option<TenantCondition>,
    /// Whether the record holds the condition, since the Tenant's own is milder.
    pub is_condition_held: bool,
    /// The status of each resource slice of the peer.
    pub slices: Vec<SliceStatus>,
    /// How a renewed certificate reaches the peer.
    pub renewal_channel: RenewalChannel,
    /// Facts that a person may want to know.
    pub notices: Vec<Notice>,
}

phases! {
    /// The phases of the control plane's authentication.
    /// [`Machine::reconcile`](crate::Machine::reconcile) leads from one to the
    /// next.
    #[non_exhaustive]
    pub enum Phase {
        /// The peer has no invitation. [`Provider::invite`](super::Provider::invite)
        /// makes one.
        Uninvited => Waiting,
        /// An earlier peering is over: the Tenant is gone. Or the first invitation has lapsed
        /// ([`invitations_lapse`](super::ProviderConfig::invitations_lapse)). The peer can
        /// return only after a new [`Provider::invite`](super::Provider::invite).
        Ended {
            /// The time until which the record must stay and bind the cluster ID to the
            /// pinned key. Then every issued certificate and used nonce has expired. With
            /// [`keep_record`](super::ConsumerSettings::keep_record), the record stays
            /// after this time as well.
            /// `None` if the record has no such time. The record then contains an
            /// administrator's condition, which only
            /// [`lift_condition`](super::Provider::lift_condition) ends, or an access
            /// key, whose deletion [`aws_key_revoked`](super::Provider::aws_key_revoked)
            /// records.
            kept_until: Option<Timestamp>,
        } => Ending,
        /// The Tenant has no UID yet; the store assigns it. A proof is bound to the UID,
        /// so that the proof is not valid for a later Tenant with the same name.
        NeedsUid(ObjectRef) => InProgress,
        /// The peer has no nonce that it could sign.
        NeedsNonce(WhyNonce) => InProgress,
        /// The peer can sign this nonce, and the provider waits for the Tenant.
        AwaitsTenant(Nonce) => Waiting,
        /// The Tenant is verified; the look-up of names has not answered yet.
        AwaitsNames => InProgress,
        /// The Tenant is verified, and its key signed this nonce. This proof must be
        /// recorded before anything is signed.
        NeedsProof(Box<VerifiedTenant>, Nonce) => InProgress,
        /// The proof is on record; the request waits for an approval.
        NeedsApproval(Box<ApprovalRequest>) => Waiting,
        /// The proof is on record; the credential must be requested.
        NeedsCredential(Box<NeedsCredential>) => InProgress,
        /// The credential exists; the rights or the status are missing.
        NeedsRights(Box<Issued>) => InProgress,
        /// The authentication is complete; the provider can send the Identity.
        Authenticated(Box<Issued>) => Authenticated,
        /// The peer has access without a handshake: this side's administrator allows
        /// it.
        Tolerated => Waiting,
        /// The provider refuses the peer, its name or its objects.
        Refused(Error) => Refused,
        /// The peer is drained. The peer keeps its certificate, but has no rights.
        Drained => Waiting,
        /// The Tenant is being deleted; or the Tenant is gone, but rights remain.
        Ending => Ending,
    }
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
