//! The phases of a peering, as the provider sees it.

use super::{
    AwaitsTenant, Drained, Ended, Ending, Issued, NeedsApproval, NeedsAwsIdentity,
    NeedsCertificate, NeedsNonce, NeedsProof, NeedsRights, RenewalScheme, SlicePeering, Tolerated,
};
use crate::{error::Error, machine::Notice, model::ObjectRef};

/// Where a peering stands.
#[derive(Debug)]
#[non_exhaustive]
pub struct Peering<'o> {
    /// The phase of the control plane's authentication.
    pub phase: Phase<'o>,
    /// The peer's resource slices, each for itself.
    pub slices: Vec<SlicePeering<'o>>,
    /// How a renewed certificate reaches the peer.
    pub renewal_scheme: RenewalScheme,
    /// Facts that a person may want to know.
    pub notices: Vec<Notice>,
}

/// The phases of the control plane's authentication; each offers what is legal
/// in it.
#[non_exhaustive]
pub enum Phase<'o> {
    /// Nobody asked for this peer: [`Provider::invite`](super::Provider::invite)
    /// does.
    Uninvited,
    /// The peer was here, and its Tenant is gone. It comes back only by
    /// [`Provider::invite`](super::Provider::invite).
    Ended(Ended<'o>),
    /// The Tenant has no UID yet, which the store assigns: a proof is for one
    /// Tenant, and not for the next of its name.
    NeedsUid(ObjectRef),
    /// There is no nonce that the peer could sign.
    NeedsNonce(NeedsNonce<'o>),
    /// The nonce waits for its Tenant.
    AwaitsTenant(AwaitsTenant),
    /// The Tenant is verified; that is to be recorded before anything is signed.
    NeedsProof(NeedsProof<'o>),
    /// The proof is on record; the request waits for an approval.
    NeedsApproval(NeedsApproval<'o>),
    /// The proof is on record; the request is to be signed.
    NeedsCertificate(NeedsCertificate<'o>),
    /// The proof is on record; the peer is to have an AWS user.
    NeedsAwsIdentity(NeedsAwsIdentity<'o>),
    /// The certificate or the AWS user is there; rights and status are missing.
    NeedsRights(NeedsRights<'o>),
    /// All is there, and the Identity can be handed out.
    Authenticated(Issued<'o>),
    /// The peer is let in without a handshake, by this side's administrator.
    Tolerated(Tolerated<'o>),
    /// What the peer sent cannot be taken.
    Refused(Error),
    /// The administrator drained the peer: it keeps its certificate, and has no
    /// rights.
    Drained(Drained<'o>),
    /// The Tenant is being deleted, or is gone and has left rights behind.
    Ending(Ending<'o>),
}

impl Phase<'_> {
    /// The phase's name, for messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Uninvited => "Uninvited",
            Self::Ended(_) => "Ended",
            Self::NeedsUid(_) => "NeedsUid",
            Self::NeedsNonce(_) => "NeedsNonce",
            Self::AwaitsTenant(_) => "AwaitsTenant",
            Self::NeedsProof(_) => "NeedsProof",
            Self::NeedsApproval(_) => "NeedsApproval",
            Self::NeedsCertificate(_) => "NeedsCertificate",
            Self::NeedsAwsIdentity(_) => "NeedsAwsIdentity",
            Self::NeedsRights(_) => "NeedsRights",
            Self::Authenticated(_) => "Authenticated",
            Self::Tolerated(_) => "Tolerated",
            Self::Refused(_) => "Refused",
            Self::Drained(_) => "Drained",
            Self::Ending(_) => "Ending",
        }
    }
}

impl core::fmt::Debug for Phase<'_> {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Refused(error) => formatter.debug_tuple("Refused").field(error).finish(),
            phase => formatter.write_str(phase.name()),
        }
    }
}
