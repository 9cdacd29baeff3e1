//! What a person can do about a refusal.

use super::Remedy;
use crate::{
    error::{Error, Fault, PeerIncompatible, PeerMisbehaved, PolicyRefusal, Precondition},
    model::{ObjectRef, names},
};

impl Error {
    /// What an administrator of this cluster can do, by the means of this library. `None` if
    /// something else helps, which [`advice`](Self::advice) says.
    ///
    /// # Examples
    /// ```
    /// use liqo_auth::{crypto::Nonce, machine::Remedy, policy::Policy, verify};
    ///
    /// let (provider, consumer) = ("cl-provider".parse()?, "cl-consumer".parse()?);
    /// let expectation = verify::NonceExpectation {
    ///     provider: &provider,
    ///     consumer: &consumer,
    ///     now: "2026-11-20T13:00:00Z".parse()?,
    ///     provider_key_known: true,
    /// };
    /// // Liqo makes a nonce that commits to no key.
    /// let text = b"rfmPVYvCGQibAyhXdgND2SeJihfBYIMOtekiXasW7RPTMwoGlBFhts7i+c1suHxupxy8gGXDJsr/kjs+EJa9XQ==";
    /// let refused = verify::nonce_to_sign(text, &expectation, &Policy::compatible()).unwrap_err();
    /// assert_eq!(refused.remedy(), Some(Remedy::AuthenticateAgain));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remedy(&self) -> Option<Remedy> {
        let object = self.at().object.as_ref();
        match self.fault() {
            Fault::PeerMisbehaved(fault) => of_misbehaviour(fault, object),
            Fault::PeerIncompatible(fault) => of_incompatibility(fault, object),
            Fault::Policy(refusal) => of_policy(refusal, object),
            Fault::Precondition(Precondition::SlicesRemain { .. }) => Some(Remedy::DeleteSlice {
                slice: object?.clone(),
            }),
            Fault::Precondition(_) | Fault::Local(_) | Fault::ApiMisuse(_) => None,
        }
    }
}

fn of_misbehaviour(fault: &PeerMisbehaved, object: Option<&ObjectRef>) -> Option<Remedy> {
    match fault {
        PeerMisbehaved::KeyChanged { .. } => Some(Remedy::Release),
        PeerMisbehaved::Certificate(_) | PeerMisbehaved::Commitment(_) => {
            Some(Remedy::AuthenticateAgain)
        }
        PeerMisbehaved::NonceForOthers | PeerMisbehaved::NonceSignature(_) => {
            Some(Remedy::CarryNonce)
        }
        PeerMisbehaved::NonceUsed | PeerMisbehaved::NonceNotOurs => another_nonce(object),
        _ => None,
    }
}

fn of_incompatibility(fault: &PeerIncompatible, object: Option<&ObjectRef>) -> Option<Remedy> {
    match fault {
        PeerIncompatible::EndpointChanged => Some(Remedy::Release),
        PeerIncompatible::CertificateExpired { .. }
        | PeerIncompatible::RenewalUnanswered { .. }
        | PeerIncompatible::RenewalUnusable { .. } => Some(Remedy::AuthenticateAgain),
        PeerIncompatible::NonceExpired { .. } => another_nonce(object),
        PeerIncompatible::NonceMissing => Some(Remedy::Invite),
        _ => None,
    }
}

fn of_policy(refusal: &PolicyRefusal, object: Option<&ObjectRef>) -> Option<Remedy> {
    let sign_again = |force| {
        Some(Remedy::SignAgain {
            object: object?.clone(),
            force,
        })
    };
    match refusal {
        PolicyRefusal::Disapproved { .. } => Some(Remedy::Approve),
        PolicyRefusal::PeeringEnded => Some(Remedy::AuthenticateAgain),
        PolicyRefusal::CertificateNotTrusted => sign_again(true),
        PolicyRefusal::CredentialDenied { .. } => sign_again(false),
        PolicyRefusal::SliceNotRequested => Some(Remedy::RequestSlice {
            slice: object?.clone(),
        }),
        _ => None,
    }
}

/// The provider makes another nonce. A consumer gets the one that is present by then.
fn another_nonce(object: Option<&ObjectRef>) -> Option<Remedy> {
    match object.map(|object| object.name.as_str()) {
        Some(names::NONCE_SECRET) => Some(Remedy::ReplaceNonce),
        Some(names::SIGNED_NONCE_SECRET) => Some(Remedy::CarryNonce),
        _ => None,
    }
}
