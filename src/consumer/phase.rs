//! The phases of a peering, as the consumer tells them.

use super::{AcceptedIdentity, OfferedIdentity, SliceStatus, StoredIdentity};
use crate::{crypto::Nonce, error::Error, machine::Notice, model::Tenant};

/// Where a peering stands: what [`Consumer::look`](super::Consumer::look) tells.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Status {
    /// The phase of the control plane's authentication.
    pub phase: Phase,
    /// The resource slices that are asked of the provider, each for itself.
    pub slices: Vec<SliceStatus>,
    /// Facts that a person may want to know.
    pub notices: Vec<Notice>,
}

/// The phases of the control plane's authentication.
/// [`Consumer::reconcile`](super::Consumer::reconcile) leads from one to the
/// next.
#[derive(Clone)]
#[non_exhaustive]
pub enum Phase {
    /// The key store has no key for this provider, or has not answered yet.
    NeedsKey,
    /// The provider's nonce is awaited.
    AwaitsNonce,
    /// This nonce is stored. Its signature, the certificate request or the
    /// succession of this cluster's key is missing.
    NeedsSignature(Nonce),
    /// All that needs a key is stored: the Tenant can be sent, again and again.
    AwaitsIdentity(Box<Tenant>),
    /// The Identity that is stored cannot be used any more, and the provider gave
    /// one that can be: it is to be taken.
    NeedsIdentity(Box<OfferedIdentity>),
    /// The Identity is verified; its kubeconfig is to be stored.
    NeedsKubeconfig(Box<AcceptedIdentity>),
    /// The kubeconfig is stored.
    Authenticated(Box<StoredIdentity>),
    /// What the peer sent cannot be taken.
    Refused(Error),
    /// This side ended the peering, or the Identity is being deleted: what
    /// belongs to it goes.
    Ending,
}

impl Phase {
    /// The Identity that was verified, where one was.
    pub(super) fn accepted(&self) -> Option<&AcceptedIdentity> {
        match self {
            Self::NeedsIdentity(offered) => Some(&offered.accepted),
            Self::NeedsKubeconfig(accepted) => Some(accepted),
            Self::Authenticated(stored) => Some(&stored.accepted),
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
