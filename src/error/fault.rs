//! Whose fault an error is.

use super::{
    ApiMisuse, CommitmentFault, LocalFault, PeerIncompatible, PeerMisbehaved, PolicyRefusal,
    Precondition, SuccessionFault, family::Facts,
};
use crate::crypto::{CsrError, SignatureError};

/// Whose fault an error is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The peer sent something that no honest peer sends.
    #[error("the peer misbehaved: {0}")]
    PeerMisbehaved(#[from] PeerMisbehaved),
    /// The peer may be honest, but this side cannot use its message or object.
    #[error("{}", text(.0))]
    PeerIncompatible(#[from] PeerIncompatible),
    /// This side's own policy refuses the message, object or request.
    #[error("the policy refuses: {0}")]
    Policy(#[from] PolicyRefusal),
    /// Nothing is broken, but something else has to happen first.
    #[error("not yet: {0}")]
    Precondition(#[from] Precondition),
    /// Something on this side is broken, unreadable or contradictory.
    #[error("{}", of_this_side(.0))]
    Local(#[from] LocalFault),
    /// The caller used the library incorrectly.
    #[error("misuse of the library: {0}")]
    ApiMisuse(#[from] ApiMisuse),
}

/// A person may carry a message to another cluster, or an earlier one once more, and may damage it.
/// A cluster whose key was rotated, or that was made anew, has another key. A nonce and a certificate
/// end by themselves, a clock may be wrong, a person may delete a nonce, and an API server may move or
/// get another CA. The text of such a fault does not blame the peer. It may be a forgery all the same.
fn text(peer: &PeerIncompatible) -> String {
    let what = match peer {
        PeerIncompatible::CertificateExpired { .. } | PeerIncompatible::NonceExpired { .. } => {
            "expired"
        }
        PeerIncompatible::NonceMissing | PeerIncompatible::Commitment(CommitmentFault::Missing) => {
            "missing"
        }
        PeerIncompatible::NonceUsed => "no longer valid",
        PeerIncompatible::CertificateNotYetValid { .. } => "not yet",
        PeerIncompatible::NonceSignature(SignatureError::Mismatch) => "for another nonce",
        // Nobody makes such a signature, and a text may lose its end where it is copied.
        PeerIncompatible::NonceSignature(_)
        | PeerIncompatible::Commitment(CommitmentFault::Encoding)
        | PeerIncompatible::KeySuccession(SuccessionFault::Encoding) => "damaged",
        PeerIncompatible::Commitment(CommitmentFault::Signature(_)) => "for another handshake",
        PeerIncompatible::CsrKey { .. } | PeerIncompatible::CertificateKey { .. } => {
            "for another key"
        }
        PeerIncompatible::NonceForOthers | PeerIncompatible::NameMismatch { .. } => {
            "for another cluster"
        }
        PeerIncompatible::NonceNotOurs | PeerIncompatible::WrongToken => "unknown",
        PeerIncompatible::Commitment(CommitmentFault::OtherKey { .. })
        | PeerIncompatible::EndpointChanged
        | PeerIncompatible::KeyChanged { .. }
        | PeerIncompatible::KeySuccession(SuccessionFault::OtherKey)
        | PeerIncompatible::OtherCredentials
        | PeerIncompatible::ProxyMismatch => "changed",
        _ => "the peer is incompatible",
    };
    format!("{what}: {peer}")
}

/// A peer may have written an object that cannot be read.
fn of_this_side(local: &LocalFault) -> String {
    match local {
        LocalFault::Unreadable { .. } => local.to_string(),
        _ => format!("on this side: {local}"),
    }
}

/// A consumer that was made anew has another key.
impl From<CsrError> for Fault {
    fn from(error: CsrError) -> Self {
        match error {
            CsrError::Key { expected, found } => {
                PeerIncompatible::CsrKey { expected, found }.into()
            }
            error => PeerMisbehaved::Csr(error).into(),
        }
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
