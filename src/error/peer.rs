//! What a peer did, and what is to be done about it.

use crate::{
    crypto::{
        CaBundleError, CertificateError, CsrError, KeyError, NonceError, SignatureError, TokenError,
    },
    model::{
        ClusterIdError, KubeconfigError, NamespaceNameError, StrictJsonError, Timestamp, UrlError,
    },
};

/// What no honest peer sends.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PeerMisbehaved {
    /// A name is not a cluster ID.
    #[error("not a cluster ID: {0}")]
    ClusterId(ClusterIdError),
    /// A name, label or ID is not the one of the peer or cluster it stands for.
    #[error("expected {expected:?}, found {found:?}")]
    NameMismatch {
        /// What had to stand there.
        expected: String,
        /// What stands there, shortened and escaped.
        found: String,
    },
    /// The name of a resource slice is not a name for an object.
    #[error("not the name of an object: {found:?}")]
    SliceName {
        /// What stands there, shortened and escaped.
        found: String,
    },
    /// The public key breaks rule 3.
    #[error("public key: {0}")]
    PublicKey(KeyError),
    /// The signing request is not the one that has to be there.
    #[error("certificate signing request: {0}")]
    Csr(CsrError),
    /// The signature over the nonce does not verify.
    #[error("signature over the nonce: {0}")]
    NonceSignature(SignatureError),
    /// What is to be signed, or was, has not the form of a nonce.
    #[error("nonce: {0}")]
    NonceForm(NonceError),
    /// The nonce names another provider or another consumer.
    #[error("the nonce was made for other clusters than these")]
    NonceForOthers,
    /// The nonce was not made by this provider.
    #[error("the nonce does not carry this provider's authentication code")]
    NonceNotOurs,
    /// The nonce has served another key, request or Tenant already.
    #[error("the nonce was used already")]
    NonceUsed,
    /// The Tenant asks to be taken without a handshake.
    #[error("authzPolicy TolerateNoHandshake is the provider's to set, not the consumer's")]
    SelfDeclaredPolicy,
    /// The cluster ID belongs to another key.
    #[error("the cluster ID is pinned to the key {pinned}, and this is {found}")]
    KeyChanged {
        /// Fingerprint of the pinned key.
        pinned: String,
        /// Fingerprint of the key found.
        found: String,
    },
    /// The token is not the one of this cluster.
    #[error("the token is not this cluster's")]
    WrongToken,
    /// The origin token that the home cluster gave is none.
    #[error("token: {0}")]
    Token(TokenError),
    /// The answer of the foreign cluster is not JSON of the form expected.
    #[error("the answer: {0}")]
    AnswerForm(StrictJsonError),
    /// A field of the answer is not base64.
    #[error("not base64 in the standard alphabet")]
    AnswerBase64,
    /// The kubeconfig that the foreign cluster gave is not of the one form that
    /// is read.
    #[error("kubeconfig: {0}")]
    Kubeconfig(KubeconfigError),
    /// The client certificate cannot be this consumer's.
    #[error("client certificate: {0}")]
    Certificate(CertificateError),
    /// The CA bundle holds something else than CA certificates.
    #[error("CA bundle: {0}")]
    CaBundle(CaBundleError),
    /// The API server's or the proxy's URL is not one to connect to.
    #[error("URL: {0}")]
    Url(UrlError),
    /// The proxy is not the one that this consumer asked for.
    #[error("the proxy is not the one that was asked for")]
    ProxyMismatch,
    /// API server or CA are not those of the first time.
    #[error("it differs from what was pinned the first time")]
    EndpointChanged,
    /// A certificate and AWS keys came together.
    #[error("a certificate and AWS keys exclude each other")]
    MixedCredentials,
    /// A field of the AWS user has not the form that AWS gives it.
    #[error("not {expected}")]
    AwsField {
        /// What belongs there.
        expected: &'static str,
    },
    /// The Identity was one with a certificate, and is to become one with AWS
    /// keys; or the other way round; or it is to be of another AWS user.
    #[error("it is to replace credentials of another kind or user")]
    OtherCredentials,
    /// The provider's commitment does not verify, or is another provider's.
    #[error("the provider's commitment: {0}")]
    Commitment(CommitmentFault),
    /// The pinned key is said to have signed this one, and has not.
    #[error("the succession of the key: {0}")]
    KeySuccession(SuccessionFault),
}

/// What is wrong with a provider's commitment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CommitmentFault {
    /// It cannot be read.
    #[error("it cannot be read")]
    Encoding,
    /// It is missing, although this provider has to give one.
    #[error("it is missing, and this provider is known by its key")]
    Missing,
    /// Its key is not the one expected.
    #[error("it was made with the key {found}, which is not the one expected")]
    OtherKey {
        /// Fingerprint of the key found.
        found: String,
    },
    /// Its key is unusable.
    #[error("its key: {0}")]
    Key(KeyError),
    /// Its signature does not verify over what came with it.
    #[error("its signature: {0}")]
    Signature(SignatureError),
}

/// What is wrong with the succession of a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SuccessionFault {
    /// It cannot be read.
    #[error("it cannot be read")]
    Encoding,
    /// The key that it says is followed is not the pinned one.
    #[error("it was made with another key than the pinned one")]
    OtherKey,
    /// Its signature does not verify over this key, nonce and pair of clusters.
    #[error("its signature: {0}")]
    Signature(SignatureError),
}

/// What may be honest, and still cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PeerIncompatible {
    /// The nonce has expired.
    #[error("the nonce expired at {at}")]
    NonceExpired {
        /// When it expired.
        at: Timestamp,
    },
    /// There is no nonce that the Tenant could have signed.
    #[error("there is no nonce for this peer")]
    NonceMissing,
    /// A namespace is not a name for one.
    #[error("namespace: {0}")]
    NamespaceName(NamespaceNameError),
    /// The Identity is of a type that is not dealt with here.
    #[error("an Identity of type {found} is not expected here")]
    IdentityType {
        /// The type found.
        found: String,
    },
    /// The other cluster answered with a status that is no answer.
    #[error("it answered with the status {found}")]
    Status {
        /// The status found.
        found: u16,
    },
    /// The other cluster does not know the way to ask it.
    #[error("it speaks no form of the token protocol that is spoken here")]
    NoTokenProtocol,
    /// The other cluster gave an identity to this cluster's ID already.
    #[error("it has given an identity to this cluster ID already")]
    SecondIdentity,
    /// The Identity carries no certificate, and no AWS keys.
    #[error("there is neither a certificate nor an AWS user")]
    NoCertificate,
    /// The certificate is not newer than the one that is held.
    #[error("the certificate ends at {found}, and the one that is held at {held}")]
    NotNewer {
        /// When the certificate found ends.
        found: Timestamp,
        /// When the certificate that is held ends.
        held: Timestamp,
    },
    /// The certificate is due, and the provider gives no new one: it knows
    /// another way to renew, or none.
    #[error("the certificate was due at {since}, and the provider gave no new one")]
    RenewalUnanswered {
        /// When it was due, or when a new one was asked for.
        since: Timestamp,
    },
    /// The answer to a request for renewal could not be taken.
    #[error("a new certificate was asked for at {since}, and the answer could not be taken")]
    RenewalUnusable {
        /// When a new one was asked for.
        since: Timestamp,
    },
}

impl PeerMisbehaved {
    pub(super) fn rule(&self) -> Option<u8> {
        Some(match self {
            Self::Csr(CsrError::SelfSignature(_) | CsrError::Key { .. }) => 2,
            Self::Csr(_) => 1,
            Self::PublicKey(_) => 3,
            Self::NonceSignature(_) | Self::NonceNotOurs | Self::NonceUsed => 4,
            Self::KeyChanged { .. } | Self::KeySuccession(_) => 5,
            Self::SelfDeclaredPolicy => 6,
            Self::NonceForm(_) | Self::NonceForOthers => 8,
            Self::Certificate(_)
            | Self::CaBundle(_)
            | Self::Url(_)
            | Self::ProxyMismatch
            | Self::EndpointChanged
            | Self::AwsField { .. }
            | Self::OtherCredentials
            | Self::MixedCredentials => 9,
            Self::Token(_) | Self::WrongToken => 11,
            Self::ClusterId(_)
            | Self::NameMismatch { .. }
            | Self::SliceName { .. }
            | Self::Commitment(_)
            | Self::AnswerForm(_)
            | Self::AnswerBase64
            | Self::Kubeconfig(_) => return None,
        })
    }

    pub(super) fn advice(&self) -> &'static str {
        match self {
            Self::ClusterId(_) => "Use the cluster ID that the peer's Liqo was installed with.",
            Self::NameMismatch { .. } => {
                "Check that the file is the one for this peer, and that nobody edited its names."
            }
            Self::SliceName { .. } => {
                "Give the resource slice a name of small letters, digits, '-' and '.'."
            }
            Self::PublicKey(_) => {
                "Have the consumer make its cluster keys anew: Ed25519, RSA of 2048 to 4096 bits, or ECDSA on P-256, P-384 or P-521."
            }
            Self::Csr(CsrError::Pem(_) | CsrError::StringType { .. } | CsrError::SubjectOrder) => {
                "Have the consumer generate its Tenant again; if it is not Liqo itself, the compatible policy may take its form."
            }
            Self::Csr(_) => {
                "Have the consumer generate its Tenant again, with its own cluster ID and key."
            }
            Self::NonceSignature(_) | Self::NonceNotOurs => {
                "Have the consumer sign this provider's present nonce and generate its Tenant again."
            }
            Self::NonceForm(_) => "Ask the provider for its nonce again, and pass it on unchanged.",
            Self::NonceForOthers => {
                "Ask this provider for a nonce that is meant for this cluster; do not sign this one."
            }
            Self::NonceUsed => {
                "Make a new nonce; an unmodified consumer has to delete its Secret liqo-signed-nonce as well."
            }
            Self::SelfDeclaredPolicy => "Have the consumer authenticate by its keys.",
            Self::KeyChanged { .. } => {
                "Ask the peer's administrator, by another way, whether its key was changed; release the pinned key only then."
            }
            Self::KeySuccession(_) => {
                "Have the consumer sign its new key with the one that is pinned here, over this provider's present nonce."
            }
            Self::WrongToken => {
                "Hand this cluster's token to the peer's administrator, if it is to peer."
            }
            Self::Token(_) => "Have the home cluster send a token that Liqo made.",
            Self::AnswerForm(_) | Self::AnswerBase64 | Self::Kubeconfig(_) => {
                "Check that the URL is that of the foreign cluster's authentication service, and nothing stands between."
            }
            Self::Certificate(_) => {
                "Have the provider generate the Identity again from this cluster's own Tenant."
            }
            Self::CaBundle(_) => {
                "Have the provider put the CA of its API server into the Identity, and nothing else."
            }
            Self::Url(_) => "Have the provider give the https URL of its own API server.",
            Self::ProxyMismatch => {
                "Ask for this proxy when the Tenant is generated, or have the provider leave it out."
            }
            Self::EndpointChanged => {
                "Ask the provider's administrator, by another way, whether its API server or CA was changed; release the pin only then."
            }
            Self::MixedCredentials => {
                "Have the provider generate the Identity with one kind of credentials."
            }
            Self::AwsField { .. } => {
                "Have the provider generate the Identity again, with the user and key that AWS gave."
            }
            Self::OtherCredentials => {
                "Ask the provider's administrator, by another way, and end the peering on this side before taking them."
            }
            Self::Commitment(_) => {
                "Compare the provider's key fingerprint with its administrator, by another way, before going on."
            }
        }
    }
}

impl PeerIncompatible {
    pub(super) fn rule(&self) -> Option<u8> {
        match self {
            Self::NonceExpired { .. } | Self::NonceMissing => Some(4),
            Self::NamespaceName(_) | Self::NotNewer { .. } => Some(9),
            Self::RenewalUnanswered { .. }
            | Self::RenewalUnusable { .. }
            | Self::IdentityType { .. }
            | Self::NoCertificate
            | Self::Status { .. }
            | Self::NoTokenProtocol
            | Self::SecondIdentity => None,
        }
    }

    pub(super) fn advice(&self) -> &'static str {
        match self {
            Self::NonceExpired { .. } | Self::NonceMissing => {
                "Make a new nonce for this peer and have it sign that; an unmodified consumer has to delete its Secret liqo-signed-nonce as well."
            }
            Self::Status { .. } => {
                "Ask again later; the foreign cluster's own log says what failed."
            }
            Self::NoTokenProtocol => {
                "Check the URL of the authentication service; Liqo 1.0 and later have none."
            }
            Self::SecondIdentity => {
                "Have the foreign cluster's administrator delete the identity that it gave; then set authStatus to Pending."
            }
            Self::NamespaceName(_) => "Have the provider name its tenant namespace.",
            Self::NotNewer { .. } => {
                "Have the provider issue a certificate that lives longer; or end the peering on this side, and authenticate anew."
            }
            Self::RenewalUnanswered { .. } | Self::RenewalUnusable { .. } => {
                "Authenticate with the provider again before the certificate ends, or update the older of the two clusters."
            }
            Self::IdentityType { .. } | Self::NoCertificate => {
                "Generate the Identity of the control plane, with a certificate."
            }
        }
    }
}
