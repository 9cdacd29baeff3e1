//! What this side refuses, lacks or does wrong.

use core::fmt;

use crate::{
    admission::Denial,
    crypto::{CertificateError, KeyError, TokenError},
    model::{ProtocolVersion, Timestamp, UrlError},
};

/// What this side's policy refuses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyRefusal {
    /// The cluster ID is longer than the policy allows.
    #[error("the cluster ID has {found} characters, and {limit} are allowed")]
    ClusterIdTooLong {
        /// Characters found.
        found: usize,
        /// Characters allowed.
        limit: usize,
    },
    /// The name of a resource slice is longer than the policy allows.
    #[error("the resource slice's name has {found} characters, and {limit} are allowed")]
    SliceNameTooLong {
        /// Characters found.
        found: usize,
        /// Characters allowed.
        limit: usize,
    },
    /// The peer has more resource slices than the policy allows.
    #[error("the peer has more than {limit} resource slices")]
    TooManySlices {
        /// Slices allowed.
        limit: usize,
    },
    /// The cluster ID is a Kubernetes user or group already.
    #[error("{name:?} is the name of a principal already")]
    NameTaken {
        /// The name.
        name: String,
    },
    /// The namespace is not the tenant namespace expected.
    #[error("expected the namespace {expected:?}, found {found:?}")]
    UnexpectedNamespace {
        /// The namespace expected.
        expected: String,
        /// The namespace found, shortened and escaped.
        found: String,
    },
    /// The CA bundle is empty, and nobody said that the provider's
    /// certificate is publicly trusted.
    #[error("the CA bundle is empty")]
    NoCaBundle,
    /// The Identity carries AWS keys, and nobody said that this provider runs on
    /// EKS.
    #[error("AWS keys are not taken from this provider")]
    AwsNotAccepted,
    /// The peering was ended from this side, and no nonce was signed since.
    #[error("this side ended the peering, and has signed no nonce since")]
    PeeringEnded,
    /// The token protocol is off.
    #[error("the token protocol is off")]
    TokenProtocolOff,
    /// The peer speaks a form of the token protocol that this policy does not.
    #[error("the form {found} of the token protocol is not spoken in this policy")]
    TokenProtocolVersion {
        /// The form that the peer speaks.
        found: ProtocolVersion,
    },
    /// An API server with Liqo would not admit the object.
    #[error("it is not admitted: {}", .0.rule)]
    NotAdmitted(Denial),
    /// The signer denied the request.
    #[error("the signer denied the request: {reason:?}")]
    SigningDenied {
        /// What the signer said.
        reason: String,
    },
    /// The signer's answer to a renewal is no renewal.
    #[error("the signer's certificate ends at {found}; the present one ends at {present}")]
    RenewalEndsNoLater {
        /// When the certificate that was given ends.
        found: Timestamp,
        /// When the one that it was to replace ends.
        present: Timestamp,
    },
    /// Whoever keeps the AWS users made none for the peer.
    #[error("there is no AWS user for the peer: {reason:?}")]
    AwsDenied {
        /// What they said.
        reason: String,
    },
    /// The approver denied the request.
    #[error("the request was not approved: {reason:?}")]
    Disapproved {
        /// What the approver said.
        reason: String,
    },
}

/// What is missing, unreadable or at odds on this side.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LocalFault {
    /// An object is there and cannot be read, so that nothing can be said
    /// about what it holds.
    #[error("it is there and cannot be read: {reason}")]
    Unreadable {
        /// Why it cannot be read.
        reason: String,
    },
    /// Two objects claim the same place.
    #[error("there is another one: {other}")]
    Ambiguous {
        /// The other object.
        other: String,
    },
    /// A record's seal does not verify.
    #[error("the record's seal does not verify under this record key or a predecessor")]
    BrokenSeal,
    /// An object that this library would write is there with other content.
    #[error("an object of that name is there, and is not the one that belongs there")]
    Conflict,
    /// What stands where a token belongs is none.
    #[error("token: {0}")]
    Token(TokenError),
    /// What stands where the URL of a foreign cluster or its proxy belongs is
    /// none.
    #[error("URL: {0}")]
    AuthUrl(UrlError),
    /// The peer has no resource slice of that name.
    #[error("the peer has no resource slice of that name")]
    NoSlice,
    /// There is no Tenant for the peer.
    #[error("there is no Tenant for this peer")]
    NoTenant,
    /// The identity was accepted once, and its Secret is gone.
    #[error("the identity was accepted once, and its Secret is gone")]
    IdentityLost,
    /// There is no ForeignCluster for the peer.
    #[error("there is no ForeignCluster for this peer")]
    NoForeignCluster,
    /// The provider gave no Identity yet that could be used.
    #[error("there is no Identity of this provider that could be used")]
    NotAuthenticated,
    /// The peering cannot be ended while it has resource slices.
    #[error("resource slices are still there: {found}, among them {one}")]
    SlicesRemain {
        /// How many there are.
        found: usize,
        /// One of them.
        one: String,
    },
    /// The resource slice's name cannot be the value of a label, which the
    /// Identity carries.
    #[error("{found:?} is no name for a resource slice")]
    SliceName {
        /// The name found, shortened and escaped.
        found: String,
    },
    /// What was ended is still being removed.
    #[error("the peering is still being ended")]
    StillEnding,
    /// There is a peering user for the peer already.
    #[error("there is a peering user for this cluster already")]
    PeeringUserExists,
    /// There is no role that peering users could be bound to.
    #[error("there is no {kind} labelled app.kubernetes.io/component=peering-user")]
    NoPeeringRole {
        /// The kind: `Role` or `ClusterRole`.
        kind: &'static str,
    },
    /// A private key cannot be given to a kubeconfig.
    #[error("the private key is not exportable, and no plugin reaches it")]
    KeyNotExportable,
    /// This side's own key is unusable.
    #[error("this cluster's key: {0}")]
    OwnKey(KeyError),
    /// A trait object of the embedder failed.
    #[error("{backend}: {message:?}")]
    Backend {
        /// Which of them.
        backend: Backend,
        /// What it said.
        message: String,
    },
}

/// The parts that an embedder plugs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Backend {
    /// [`KeyStore`](crate::crypto::KeyStore) or [`SigningKey`](crate::crypto::SigningKey).
    Keys,
    /// [`CsrSigner`](crate::provider::CsrSigner).
    CsrSigner,
    /// [`Principals`](crate::provider::Principals).
    Principals,
    /// [`ResourceSlicePolicy`](crate::provider::ResourceSlicePolicy).
    ResourceSlicePolicy,
    /// `legacy::TokenStore`.
    Tokens,
    /// [`Approver`](crate::provider::Approver).
    Approver,
    /// [`AwsIdentities`](crate::provider::AwsIdentities).
    AwsIdentities,
}

/// How the library was called in a way that cannot be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ApiMisuse {
    /// A cluster was asked to authenticate to itself.
    #[error("a cluster does not peer with itself")]
    OwnCluster,
    /// A request was sent although there is no key for it any more.
    #[error("there is no key for the answer's certificate")]
    NoKey,
    /// The view is of another peer than the request.
    #[error("the view is of another peer than the request")]
    OtherPeer,
    /// The message is not one that this side receives.
    #[error("this side does not receive a {message}")]
    UnexpectedMessage {
        /// What was handed over.
        message: &'static str,
    },
    /// There is no request of the peer that waits for a word.
    #[error("there is nothing to approve or deny in the phase {phase}")]
    NothingToApprove {
        /// The phase that the peering is in.
        phase: &'static str,
    },
    /// The signer gave a certificate that does not fit its request.
    #[error("the signer's certificate does not fit its request: {0}")]
    SignerCertificate(CertificateError),
    /// The AWS user that was given has not the form that AWS gives one.
    #[error("what was given for an AWS user lacks {expected}")]
    AwsUser {
        /// What is missing.
        expected: &'static str,
    },
}

impl PolicyRefusal {
    pub(super) fn rule(&self) -> Option<u8> {
        match self {
            Self::NameTaken { .. } => Some(7),
            Self::UnexpectedNamespace { .. } | Self::NoCaBundle | Self::AwsNotAccepted => Some(9),
            Self::ClusterIdTooLong { .. }
            | Self::SliceNameTooLong { .. }
            | Self::TooManySlices { .. } => Some(11),
            Self::SigningDenied { .. }
            | Self::AwsDenied { .. }
            | Self::RenewalEndsNoLater { .. }
            | Self::Disapproved { .. }
            | Self::NotAdmitted(_)
            | Self::PeeringEnded
            | Self::TokenProtocolOff
            | Self::TokenProtocolVersion { .. } => None,
        }
    }

    pub(super) fn advice(&self) -> &'static str {
        match self {
            Self::ClusterIdTooLong { .. } => {
                "Use a cluster ID of at most 51 characters, or the compatible policy with a tenant namespace of your own."
            }
            Self::SliceNameTooLong { .. } => {
                "Give the resource slice a name of at most 51 characters; the compatible policy takes 63."
            }
            Self::TooManySlices { .. } => {
                "Have the consumer delete the resource slices that it does not need, or raise the limit for this peer."
            }
            Self::NameTaken { .. } => {
                "Give the consumer another cluster ID; this one is a Kubernetes user or group here."
            }
            Self::UnexpectedNamespace { .. } => {
                "Name the namespace in this peer's settings if the provider really uses it."
            }
            Self::NoCaBundle => {
                "Say in this peer's settings that its certificate is publicly trusted, if it is."
            }
            Self::AwsNotAccepted => "Say in this peer's settings that it runs on EKS, if it does.",
            Self::PeeringEnded => "Authenticate anew: ask the provider for a nonce, and sign it.",
            Self::TokenProtocolOff => {
                "Choose to trust whoever holds the token, if the peer has nothing better."
            }
            Self::TokenProtocolVersion { .. } => {
                "Choose the compatible policy for this peer, if it cannot be updated."
            }
            Self::NotAdmitted(_) => {
                "Give each consumer one Tenant, in its own tenant namespace, with its cluster ID as name and label."
            }
            Self::SigningDenied { .. } => "Ask who runs the signer.",
            Self::AwsDenied { .. } => "Ask who keeps the AWS users.",
            Self::RenewalEndsNoLater { .. } => {
                "Renew the signer's own certificate: it is likely what ends then."
            }
            Self::Disapproved { .. } => {
                "Approve of the request, or have the consumer make another one."
            }
        }
    }
}

impl LocalFault {
    pub(super) fn advice(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => "Mend or remove the object; it is never taken for absent.",
            Self::Ambiguous { .. } => "Remove the one that does not belong there.",
            Self::BrokenSeal => {
                "Give the record key that sealed it as a predecessor, or release the peer to meet it anew."
            }
            Self::Conflict => "Remove or rename the object that stands there.",
            Self::Token(_) => "Put a token there that Liqo made, or delete it.",
            Self::AuthUrl(_) => "Correct the URL in the ForeignCluster.",
            Self::IdentityLost => {
                "Have the foreign cluster's administrator delete the identity that it gave; then set authStatus to Pending."
            }
            Self::NoSlice => "List the peer's resource slices, and name one of them.",
            Self::NoTenant => "Let the peer authenticate first.",
            Self::NoForeignCluster => "Create a ForeignCluster with spec.foreignAuthUrl.",
            Self::NotAuthenticated => "Authenticate with the provider first.",
            Self::SlicesRemain { .. } => {
                "Have the resource slices deleted by the consumer, or by the provider that drains it, and wait until they are gone."
            }
            Self::SliceName { .. } => {
                "Name the slice with at most 51 lower-case letters, digits, dots and inner hyphens."
            }
            Self::StillEnding => "Wait until what was ended is gone.",
            Self::PeeringUserExists => {
                "Delete that peering user first; its kubeconfig is good for nothing then."
            }
            Self::NoPeeringRole { .. } => {
                "Create the roles that Liqo's chart has for peering users."
            }
            Self::KeyNotExportable => {
                "Have the signing key name a file or an exec plugin that a kubeconfig can use."
            }
            Self::OwnKey(_) => "Make this cluster's keys anew.",
            Self::Backend { .. } => "Try again; the message says what failed.",
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Keys => "the key store",
            Self::CsrSigner => "the signer",
            Self::Principals => "the look-up of principals",
            Self::ResourceSlicePolicy => "the policy for resource slices",
            Self::Tokens => "the token store",
            Self::Approver => "the approver",
            Self::AwsIdentities => "the AWS identities",
        })
    }
}
