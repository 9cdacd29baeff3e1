//! The phases of a peering, as the consumer sees it.

use super::{AwaitsIdentity, Held, NeedsKubeconfig, NeedsSignature};
use crate::error::Error;

/// Where a peering stands.
#[derive(Debug)]
#[non_exhaustive]
pub struct Peering<'o> {
    /// The phase of the control plane's authentication.
    pub phase: Phase<'o>,
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
    /// The Identity is verified; its kubeconfig is to be stored.
    NeedsKubeconfig(NeedsKubeconfig<'o>),
    /// The kubeconfig is stored.
    Authenticated(Held<'o>),
    /// What the peer sent cannot be taken.
    Refused(Error),
    /// The Identity is being deleted, and its kubeconfig goes with it.
    Ending,
}

impl Phase<'_> {
    /// The phase's name, for messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::NeedsKey => "NeedsKey",
            Self::AwaitsNonce => "AwaitsNonce",
            Self::NeedsSignature(_) => "NeedsSignature",
            Self::AwaitsIdentity(_) => "AwaitsIdentity",
            Self::NeedsKubeconfig(_) => "NeedsKubeconfig",
            Self::Authenticated(_) => "Authenticated",
            Self::Refused(_) => "Refused",
            Self::Ending => "Ending",
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
