//! The phases of a peering on the consumer's side.

use super::{AcceptedIdentity, KubeconfigByHand, OfferedIdentity, SliceStatus, StoredIdentity};
use crate::{
    crypto::{Certificate, Nonce},
    error::Error,
    machine::{Notice, phases},
    model::{Tenant, Timestamp},
};

/// The state of a peering, as [`Consumer::look`](super::Consumer::look) returns it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Status {
    /// The phase of the control plane's authentication.
    pub phase: Phase,
    /// The certificate of the control plane that this side has verified. It may have expired.
    pub certificate: Option<Certificate>,
    /// When the nonce that is to be signed, or whose answer is awaited, expires. `None` without
    /// such a nonce, and for a nonce that does not name its end, as Liqo makes it.
    pub nonce_until: Option<Timestamp>,
    /// The resource slices that this side requests from the provider, each with its
    /// own phase.
    pub slices: Vec<SliceStatus>,
    /// Facts that a person may want to know.
    pub notices: Vec<Notice>,
}

phases! {
    /// The phases of the control plane's authentication.
    /// [`Machine::reconcile`](crate::Machine::reconcile) leads from one to the
    /// next.
    #[derive(Clone)]
    #[non_exhaustive]
    pub enum Phase {
        /// A nonce or an Identity is stored, and the key store has no key for this
        /// provider, or has not answered yet.
        NeedsKey => InProgress,
        /// The consumer waits for the provider's nonce.
        AwaitsNonce => Waiting,
        /// This nonce is stored. Its signature, the certificate request or the
        /// succession of this cluster's key is missing.
        NeedsSignature(Nonce) => InProgress,
        /// Everything that needs a key is stored. The Tenant can be sent any number of
        /// times.
        AwaitsIdentity(Box<Tenant>) => Waiting,
        /// The stored Identity cannot be used any more. The provider gave parameters for
        /// a usable Identity, and the next step stores this Identity.
        NeedsIdentity(Box<OfferedIdentity>) => InProgress,
        /// The Identity is verified. The next step stores its kubeconfig.
        NeedsKubeconfig(Box<AcceptedIdentity>) => InProgress,
        /// The kubeconfig is stored.
        Authenticated(Box<StoredIdentity>) => Authenticated,
        /// An administrator has made the kubeconfig. There is neither an Identity nor a nonce
        /// for one.
        KubeconfigByHand(Box<KubeconfigByHand>) => Authenticated,
        /// An object that the peer sent cannot be accepted.
        Refused(Error) => Refused,
        /// This side ended the peering, or the Identity is being deleted. The objects
        /// of the peering are removed.
        Ending => Ending,
    }
}

impl Phase {
    /// The verified Identity, if the phase has one.
    pub(super) fn accepted(&self) -> Option<&AcceptedIdentity> {
        match self {
            Self::NeedsIdentity(offered) => Some(&offered.accepted),
            Self::NeedsKubeconfig(accepted) => Some(accepted),
            Self::Authenticated(stored) => Some(&stored.accepted),
            _ => None,
        }
    }
}
