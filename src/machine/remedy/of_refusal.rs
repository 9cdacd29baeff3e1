//! What a person can do about a refusal.

use super::Remedy;
use crate::{
    error::{
        CommitmentFault, Error, Fault, PeerIncompatible, PeerMisbehaved, PolicyRefusal,
        Precondition,
    },
    model::{Kind, ObjectRef, names},
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
            Fault::Precondition(precondition) => of_precondition(precondition, object),
            Fault::Local(_) | Fault::ApiMisuse(_) => None,
        }
    }
}

fn of_misbehaviour(fault: &PeerMisbehaved, object: Option<&ObjectRef>) -> Option<Remedy> {
    match fault {
        PeerMisbehaved::Certificate(_) => Some(another_certificate(object)),
        PeerMisbehaved::ClusterId(_)
        | PeerMisbehaved::SliceName { .. }
        | PeerMisbehaved::PublicKey(_)
        | PeerMisbehaved::Csr(_)
        | PeerMisbehaved::NonceForm(_)
        | PeerMisbehaved::Token(_)
        | PeerMisbehaved::AnswerForm(_)
        | PeerMisbehaved::AnswerBase64
        | PeerMisbehaved::Kubeconfig(_)
        | PeerMisbehaved::CaBundle(_)
        | PeerMisbehaved::Url(_)
        | PeerMisbehaved::MixedCredentials
        | PeerMisbehaved::AwsField { .. } => None,
    }
}

fn of_incompatibility(fault: &PeerIncompatible, object: Option<&ObjectRef>) -> Option<Remedy> {
    match fault {
        PeerIncompatible::Commitment(CommitmentFault::OtherKey { .. })
        | PeerIncompatible::EndpointChanged
        | PeerIncompatible::KeyChanged { .. } => Some(Remedy::Release),
        PeerIncompatible::CertificateExpired { .. } | PeerIncompatible::CertificateKey { .. } => {
            Some(another_certificate(object))
        }
        PeerIncompatible::CsrKey { .. } => {
            let object = carried(object?)?;
            Some(Remedy::CarryRequest { object })
        }
        PeerIncompatible::Commitment(_)
        | PeerIncompatible::RenewalUnanswered { .. }
        | PeerIncompatible::RenewalUnusable { .. } => Some(Remedy::AuthenticateAgain),
        PeerIncompatible::NonceForOthers | PeerIncompatible::NonceSignature(_) => {
            Some(Remedy::CarryNonce)
        }
        // A nonce that comes to be signed is no object.
        PeerIncompatible::NonceUsed if object.is_none() => Some(Remedy::AuthenticateAgain),
        PeerIncompatible::NonceExpired { .. }
        | PeerIncompatible::NonceNotOurs
        | PeerIncompatible::NonceUsed => another_nonce(object),
        PeerIncompatible::NonceMissing => Some(Remedy::Invite),
        PeerIncompatible::CertificateNotYetValid { .. }
        | PeerIncompatible::CommitmentMissing
        | PeerIncompatible::IdentityType { .. }
        | PeerIncompatible::KeySuccession(_)
        | PeerIncompatible::NameMismatch { .. }
        | PeerIncompatible::NamespaceName(_)
        | PeerIncompatible::NoCertificate
        | PeerIncompatible::NoTokenProtocol
        | PeerIncompatible::OtherCredentials
        | PeerIncompatible::ProxyMismatch
        | PeerIncompatible::SecondIdentity
        | PeerIncompatible::Status { .. }
        | PeerIncompatible::WrongToken => None,
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
        PolicyRefusal::ClusterIdTooLong { .. }
        | PolicyRefusal::SliceNameTooLong { .. }
        | PolicyRefusal::TooManySlices { .. }
        | PolicyRefusal::TooManySliceRecords { .. }
        | PolicyRefusal::TooManyAccessKeys { .. }
        | PolicyRefusal::NameTaken { .. }
        | PolicyRefusal::SecretNameTaken { .. }
        | PolicyRefusal::UnexpectedNamespace { .. }
        | PolicyRefusal::NoCaBundle
        | PolicyRefusal::AddressRefused { .. }
        | PolicyRefusal::AwsNotAccepted
        | PolicyRefusal::SelfDeclaredPolicy
        | PolicyRefusal::TenantNotOnRecord
        | PolicyRefusal::NonceNotOnRecord
        | PolicyRefusal::OtherKubeconfig
        | PolicyRefusal::TokenProtocolOff
        | PolicyRefusal::TokenProtocolVersion { .. }
        | PolicyRefusal::NotAdmitted(_)
        | PolicyRefusal::RenewalEndsNoLater { .. } => None,
    }
}

fn of_precondition(precondition: &Precondition, object: Option<&ObjectRef>) -> Option<Remedy> {
    match precondition {
        Precondition::SlicesRemain { .. } => Some(Remedy::DeleteSlice {
            slice: object?.clone(),
        }),
        Precondition::NotNewer { .. } | Precondition::Older { .. } => {
            let object = carried(object?)?;
            Some(Remedy::CarryAnswer { object })
        }
        Precondition::NoTenant
        | Precondition::NoSlice
        | Precondition::NoForeignCluster
        | Precondition::NotAuthenticated
        | Precondition::NothingToApprove { .. }
        | Precondition::KeyAwaited
        | Precondition::MirrorIncomplete { .. }
        | Precondition::StillEnding
        | Precondition::NoPeeringRole { .. } => None,
    }
}

/// The provider gives another certificate: in its answer to a Renew or to a slice, or else in the
/// next exchange.
fn another_certificate(object: Option<&ObjectRef>) -> Remedy {
    match object.and_then(carried) {
        Some(object) => Remedy::CarryAnswer { object },
        None => Remedy::AuthenticateAgain,
    }
}

/// The Renew or the slice that an object is, or whose answer is in it. `None` for the Identity
/// of a control plane, which comes by authenticating.
pub(super) fn carried(object: &ObjectRef) -> Option<ObjectRef> {
    match object.kind {
        Kind::Renew | Kind::ResourceSlice => Some(object.clone()),
        Kind::Identity => {
            let prefix = names::RESOURCE_SLICE_IDENTITY_PREFIX;
            let slice = object.name.strip_prefix(prefix)?;
            let place = object.namespace.as_str();
            Some(ObjectRef::new(Kind::ResourceSlice, place, slice))
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        crypto::{CsrError, Fingerprint},
        model::Timestamp,
    };

    fn of(fault: impl Into<Fault>, object: &ObjectRef) -> Option<Remedy> {
        Error::new(fault, Some(object.clone()), "").remedy()
    }

    fn object(kind: Kind, name: &str) -> ObjectRef {
        ObjectRef::new(kind, "liqo-tenant-rome", name)
    }

    fn key() -> Fingerprint {
        Fingerprint::from_bytes([0xab; 32])
    }

    /// What a consumer refuses of an object, because it wants another certificate.
    fn of_certificates(object: &ObjectRef) -> [Option<Remedy>; 4] {
        let time: Timestamp = "2026-11-20T13:00:00Z".parse().unwrap();
        let other_key = PeerIncompatible::CertificateKey {
            expected: key(),
            found: key(),
        };
        let expired = PeerIncompatible::CertificateExpired {
            not_after: time,
            now: time,
        };
        let not_newer = Precondition::NotNewer {
            found: time,
            held: time,
        };
        let older = Precondition::Older {
            found: time,
            none_before: time,
        };
        [
            of(other_key, object),
            of(expired, object),
            of(not_newer, object),
            of(older, object),
        ]
    }

    #[test]
    fn an_answer_is_carried_again_and_an_identity_comes_by_authenticating() {
        let renew = object(Kind::Renew, "controlplane-rome");
        let slice = object(Kind::ResourceSlice, "pool");
        let of_slice = object(Kind::Identity, "resourceslice-pool");
        for (refused, answered) in [(&renew, &renew), (&slice, &slice), (&of_slice, &slice)] {
            for remedy in of_certificates(refused) {
                let object = answered.clone();
                let expected = Remedy::CarryAnswer { object };
                assert_eq!(remedy, Some(expected), "{refused}");
            }
        }
        let identity = object(Kind::Identity, "controlplane-rome");
        let again = || Some(Remedy::AuthenticateAgain);
        assert_eq!(of_certificates(&identity), [again(), again(), None, None]);
    }

    #[test]
    fn another_nonce_is_made_where_the_used_one_is_and_comes_by_authenticating() {
        let stored = object(Kind::Secret, names::NONCE_SECRET);
        let used = || PeerIncompatible::NonceUsed;
        assert_eq!(of(used(), &stored), Some(Remedy::ReplaceNonce));
        let received = Error::new(used(), None, "data.nonce");
        assert_eq!(received.remedy(), Some(Remedy::AuthenticateAgain));
    }

    #[test]
    fn another_key_of_a_provider_is_released() {
        let identity = object(Kind::Identity, "controlplane-rome");
        let found = String::new();
        let other = PeerIncompatible::Commitment(CommitmentFault::OtherKey { found });
        assert_eq!(of(other, &identity), Some(Remedy::Release));
        let unreadable = PeerIncompatible::Commitment(CommitmentFault::Encoding);
        let again = Some(Remedy::AuthenticateAgain);
        assert_eq!(of(unreadable, &identity), again);
    }

    #[test]
    fn a_request_for_another_key_is_carried_again() {
        let csr = || PeerIncompatible::CsrKey {
            expected: key(),
            found: key(),
        };
        let slice = object(Kind::ResourceSlice, "pool");
        let again = Some(Remedy::CarryRequest {
            object: slice.clone(),
        });
        assert_eq!(of(csr(), &slice), again);
        assert_eq!(of(csr(), &object(Kind::Tenant, "rome")), None);
        let order = PeerMisbehaved::Csr(CsrError::SubjectOrder);
        assert_eq!(of(order, &slice), None);
    }
}
