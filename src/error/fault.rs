//! Whose fault an error is.

use super::{
    ApiMisuse, LocalFault, PeerIncompatible, PeerMisbehaved, PolicyRefusal, Precondition,
    family::Facts,
};
use crate::crypto::CertificateError;

/// Whose fault an error is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The peer sent something that no honest peer sends. A certificate outside its time is in
    /// this family, too, but its text blames nobody.
    #[error("{}", text(.0))]
    PeerMisbehaved(#[from] PeerMisbehaved),
    /// The peer may be honest, but this side cannot use its message or object.
    #[error("the peer is incompatible: {0}")]
    PeerIncompatible(#[from] PeerIncompatible),
    /// This side's own policy refuses the message, object or request.
    #[error("the policy refuses: {0}")]
    Policy(#[from] PolicyRefusal),
    /// Nothing is broken, but something else has to happen first.
    #[error("not yet: {0}")]
    Precondition(#[from] Precondition),
    /// Something on this side is broken, unreadable or contradictory.
    #[error("on this side: {0}")]
    Local(#[from] LocalFault),
    /// The caller used the library incorrectly.
    #[error("misuse of the library: {0}")]
    ApiMisuse(#[from] ApiMisuse),
}

/// A certificate ends by itself, and a clock may be wrong: neither is the peer's doing.
fn text(peer: &PeerMisbehaved) -> String {
    match peer {
        PeerMisbehaved::Certificate(CertificateError::Expired { .. }) => format!("expired: {peer}"),
        PeerMisbehaved::Certificate(CertificateError::NotYetValid { .. }) => {
            format!("not yet: {peer}")
        }
        _ => format!("the peer misbehaved: {peer}"),
    }
}

impl Fault {
    /// The name of the family, such as `PeerMisbehaved`.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::PeerMisbehaved(_) => "PeerMisbehaved",
            Self::PeerIncompatible(_) => "PeerIncompatible",
            Self::Policy(_) => "Policy",
            Self::Precondition(_) => "Precondition",
            Self::Local(_) => "Local",
            Self::ApiMisuse(_) => "ApiMisuse",
        }
    }

    pub(super) fn facts(&self) -> Facts {
        match self {
            Self::PeerMisbehaved(peer) => peer.facts(),
            Self::PeerIncompatible(peer) => peer.facts(),
            Self::Policy(refusal) => refusal.facts(),
            Self::Precondition(missing) => missing.facts(),
            Self::Local(local) => local.facts(),
            Self::ApiMisuse(misuse) => misuse.facts(),
        }
    }
}
