//! The phases of a peering, as the consumer sees it.

use super::{
    AwaitsIdentity, Ending, NeedsIdentity, NeedsKubeconfig, NeedsSignature, SlicePeering,
    StoredIdentity, handshake::accepted::Accepted,
};
use crate::error::Error;

/// Where a peering stands.
#[derive(Debug)]
#[non_exhaustive]
pub struct Peering<'o> {
    /// The phase of the control plane's authentication.
    pub phase: Phase<'o>,
    /// The resource slices that are asked of the provider.
    pub slices: Vec<SlicePeering<'o>>,
}

/// The phases of the control plane's authentication; each offers what is legal
/// in it.
#[non_exhaustive]
pub enum Phase<'o> {
    /// The key store has no key for this peer.
    NeedsKey,
    /// The provider's nonce is awaited.
    AwaitsNonce,
    /// The nonce is there, and its signature or the request is not.
    NeedsSignature(NeedsSignature<'o>),
    /// The Tenant is made, and the Identity is awaited.
    AwaitsIdentity(AwaitsIdentity<'o>),
    /// The Identity that is stored cannot be used any more, and the provider gave
    /// what can be: it is to be taken.
    NeedsIdentity(NeedsIdentity<'o>),
    /// The Identity is verified; its kubeconfig is to be stored.
    NeedsKubeconfig(NeedsKubeconfig<'o>),
    /// The kubeconfig is stored.
    Authenticated(StoredIdentity<'o>),
    /// What the peer sent cannot be taken.
    Refused(Error),
    /// This side ended the peering, or the Identity is being deleted: what
    /// belongs to it goes.
    Ending(Ending<'o>),
}

impl Phase<'_> {
    /// The Identity that was verified, where one was.
    pub(super) fn accepted(&self) -> Option<&Accepted> {
        match self {
            Self::NeedsIdentity(phase) => Some(&phase.accepted),
            Self::NeedsKubeconfig(phase) => Some(&phase.accepted),
            Self::Authenticated(held) => Some(&held.stored.accepted),
            _ => None,
        }
    }

    /// The phase's name, for messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::NeedsKey => "NeedsKey",
            Self::AwaitsNonce => "AwaitsNonce",
            Self::NeedsSignature(_) => "NeedsSignature",
            Self::AwaitsIdentity(_) => "AwaitsIdentity",
            Self::NeedsIdentity(_) => "NeedsIdentity",
            Self::NeedsKubeconfig(_) => "NeedsKubeconfig",
            Self::Authenticated(_) => "Authenticated",
            Self::Refused(_) => "Refused",
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
