//! What went wrong: whose fault it is, where it stands, and what to do.
//!
//! ```text
//! Error ── fault()        PeerMisbehaved | PeerIncompatible | Policy | Local | ApiMisuse
//!       ├─ at()           the object and the field
//!       ├─ rule()         the rule of DESIGN.md that it breaks, if it is one of them
//!       ├─ disposition()  retry | wait for a change | give up
//!       └─ advice()       what a person can do
//! ```

use core::fmt;

use crate::{
    crypto::{CaBundleError, CertificateError, CsrError, KeyError, NonceError, SignatureError},
    legacy::{ProtocolVersion, TokenError},
    model::{
        ClusterIdError, KubeconfigError, NamespaceNameError, ObjectRef, StrictJsonError, Timestamp,
        UrlError,
    },
};

/// Why a step was refused or could not be made.
///
/// An error changes nothing: no effect comes with it.
///
/// # Examples
/// ```
/// use liqo_auth::{error::Disposition, model::Tenant, policy::Policy, verify};
///
/// let consumer = "cl-consumer".parse()?;
/// let nonce = liqo_auth::crypto::Nonce::parse(
///     b"rfmPVYvCGQibAyhXdgND2SeJihfBYIMOtekiXasW7RPTMwoGlBFhts7i+c1suHxupxy8gGXDJsr/kjs+EJa9XQ==",
///     &Policy::strict(),
/// )?;
/// let expectation = verify::TenantExpectation { consumer: &consumer, nonce: &nonce };
/// let error = verify::tenant(&Tenant::default(), &expectation, &Policy::strict()).unwrap_err();
/// assert_eq!(error.disposition(), Disposition::WaitForChange);
/// assert_eq!(error.at().field, "metadata.name");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<(Fault, Place)>);

/// Whose fault it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The peer sent something that no honest peer sends.
    #[error("the peer misbehaved: {0}")]
    PeerMisbehaved(#[from] PeerMisbehaved),
    /// The peer may be honest, but what it sent does not fit here and now.
    #[error("the peer is incompatible: {0}")]
    PeerIncompatible(#[from] PeerIncompatible),
    /// This side's own policy says no.
    #[error("the policy refuses: {0}")]
    Policy(#[from] PolicyRefusal),
    /// Something on this side is missing, unreadable or at odds.
    #[error("on this side: {0}")]
    Local(#[from] LocalFault),
    /// The caller used the library in a way that cannot be right.
    #[error("misuse of the library: {0}")]
    ApiMisuse(#[from] ApiMisuse),
}

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
    /// The provider's commitment does not verify, or is another provider's.
    #[error("the provider's commitment: {0}")]
    Commitment(CommitmentFault),
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
    /// The Identity carries no certificate, but cloud credentials.
    #[error("an Identity without a certificate is not dealt with here")]
    NoCertificate,
}

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
    /// The token protocol is off.
    #[error("the token protocol is off")]
    TokenProtocolOff,
    /// The peer speaks a form of the token protocol that this policy does not.
    #[error("the form {found} of the token protocol is not spoken in this policy")]
    TokenProtocolVersion {
        /// The form that the peer speaks.
        found: ProtocolVersion,
    },
    /// The signer denied the request.
    #[error("the signer denied the request: {reason}")]
    SigningDenied {
        /// What the signer said.
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
    #[error("an object of that name is there, and grants something else")]
    Conflict,
    /// What stands where a token belongs is none.
    #[error("token: {0}")]
    Token(TokenError),
    /// What stands where the URL of a foreign cluster or its proxy belongs is
    /// none.
    #[error("URL: {0}")]
    AuthUrl(UrlError),
    /// The identity was accepted once, and its Secret is gone.
    #[error("the identity was accepted once, and its Secret is gone")]
    IdentityLost,
    /// There is no ForeignCluster for the peer.
    #[error("there is no ForeignCluster for this peer")]
    NoForeignCluster,
    /// A private key cannot be given to a kubeconfig.
    #[error("the private key is not exportable, and no plugin reaches it")]
    KeyNotExportable,
    /// This side's own key is unusable.
    #[error("this cluster's key: {0}")]
    OwnKey(KeyError),
    /// A trait object of the embedder failed.
    #[error("{backend}: {message}")]
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
    /// [`TokenStore`](crate::legacy::TokenStore).
    Tokens,
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
    /// The signer gave a certificate that does not fit its request.
    #[error("the signer's certificate does not fit its request: {0}")]
    SignerCertificate(CertificateError),
}

/// Where it stands: an object and a field in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The object, where there is one.
    pub object: Option<ObjectRef>,
    /// The field's path, such as `spec.csr`; empty for the object as a whole.
    pub field: &'static str,
}

/// What to do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disposition {
    /// The same call may succeed later: try again, less and less often.
    Retry,
    /// The same objects give the same error: look again when one changes.
    WaitForChange,
    /// Nothing that arrives will mend it: the caller has to.
    GiveUp,
}

impl Error {
    pub(crate) fn new(
        fault: impl Into<Fault>,
        object: Option<ObjectRef>,
        field: &'static str,
    ) -> Self {
        Self(Box::new((fault.into(), Place { object, field })))
    }

    /// Whose fault it is, and what it is.
    pub fn fault(&self) -> &Fault {
        &self.0.0
    }

    /// Where it stands.
    pub fn at(&self) -> &Place {
        &self.0.1
    }

    /// What the caller's loop should do.
    pub fn disposition(&self) -> Disposition {
        match self.fault() {
            Fault::Local(LocalFault::Backend { .. }) => Disposition::Retry,
            Fault::PeerIncompatible(PeerIncompatible::Status {
                found: 408 | 429 | 500..,
            }) => Disposition::Retry,
            Fault::ApiMisuse(_) => Disposition::GiveUp,
            _ => Disposition::WaitForChange,
        }
    }

    /// The number of the rule in DESIGN.md that is broken, if it is one.
    pub fn rule(&self) -> Option<u8> {
        match self.fault() {
            Fault::PeerMisbehaved(peer) => peer.rule(),
            Fault::PeerIncompatible(peer) => peer.rule(),
            Fault::Policy(policy) => policy.rule(),
            Fault::Local(LocalFault::BrokenSeal) => Some(10),
            Fault::Local(_) | Fault::ApiMisuse(_) => None,
        }
    }

    /// What a person can do, in one sentence.
    pub fn advice(&self) -> &'static str {
        match self.fault() {
            Fault::PeerMisbehaved(peer) => peer.advice(),
            Fault::PeerIncompatible(peer) => peer.advice(),
            Fault::Policy(policy) => policy.advice(),
            Fault::Local(local) => local.advice(),
            Fault::ApiMisuse(_) => {
                "Correct the call; the documentation of the method says what it takes."
            }
        }
    }
}

impl PeerMisbehaved {
    fn rule(&self) -> Option<u8> {
        Some(match self {
            Self::Csr(CsrError::SelfSignature(_) | CsrError::Key { .. }) => 2,
            Self::Csr(_) => 1,
            Self::PublicKey(_) => 3,
            Self::NonceSignature(_) | Self::NonceNotOurs | Self::NonceUsed => 4,
            Self::KeyChanged { .. } => 5,
            Self::SelfDeclaredPolicy => 6,
            Self::NonceForm(_) | Self::NonceForOthers => 8,
            Self::Certificate(_)
            | Self::CaBundle(_)
            | Self::Url(_)
            | Self::ProxyMismatch
            | Self::EndpointChanged
            | Self::MixedCredentials => 9,
            Self::Token(_) | Self::WrongToken => 11,
            Self::ClusterId(_)
            | Self::NameMismatch { .. }
            | Self::Commitment(_)
            | Self::AnswerForm(_)
            | Self::AnswerBase64
            | Self::Kubeconfig(_) => return None,
        })
    }

    fn advice(&self) -> &'static str {
        match self {
            Self::ClusterId(_) => "Use the cluster ID that the peer's Liqo was installed with.",
            Self::NameMismatch { .. } => {
                "Check that the file is the one for this peer, and that nobody edited its names."
            }
            Self::PublicKey(_) => {
                "Have the consumer make its cluster keys anew: Ed25519, RSA of 2048 to 4096 bits, or ECDSA on P-256, P-384 or P-521."
            }
            Self::Csr(_) => {
                "Have the consumer generate its Tenant again; if it is not Liqo itself, the compatible policy may take its form."
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
            Self::Commitment(_) => {
                "Compare the provider's key fingerprint with its administrator, by another way, before going on."
            }
        }
    }
}

impl PeerIncompatible {
    fn rule(&self) -> Option<u8> {
        match self {
            Self::NonceExpired { .. } | Self::NonceMissing => Some(4),
            Self::NamespaceName(_) => Some(9),
            Self::IdentityType { .. }
            | Self::NoCertificate
            | Self::Status { .. }
            | Self::NoTokenProtocol
            | Self::SecondIdentity => None,
        }
    }

    fn advice(&self) -> &'static str {
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
            Self::IdentityType { .. } | Self::NoCertificate => {
                "Generate the Identity of the control plane, with a certificate."
            }
        }
    }
}

impl PolicyRefusal {
    fn rule(&self) -> Option<u8> {
        match self {
            Self::NameTaken { .. } => Some(7),
            Self::UnexpectedNamespace { .. } | Self::NoCaBundle => Some(9),
            Self::ClusterIdTooLong { .. } => Some(11),
            Self::SigningDenied { .. }
            | Self::TokenProtocolOff
            | Self::TokenProtocolVersion { .. } => None,
        }
    }

    fn advice(&self) -> &'static str {
        match self {
            Self::ClusterIdTooLong { .. } => {
                "Use a cluster ID of at most 51 characters, or the compatible policy with a tenant namespace of your own."
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
            Self::TokenProtocolOff => {
                "Choose to trust whoever holds the token, if the peer has nothing better."
            }
            Self::TokenProtocolVersion { .. } => {
                "Choose the compatible policy for this peer, if it cannot be updated."
            }
            Self::SigningDenied { .. } => "Ask who runs the signer.",
        }
    }
}

impl LocalFault {
    fn advice(&self) -> &'static str {
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
            Self::NoForeignCluster => "Create a ForeignCluster with spec.foreignAuthUrl.",
            Self::KeyNotExportable => {
                "Have the signing key name a file or an exec plugin that a kubeconfig can use."
            }
            Self::OwnKey(_) => "Make this cluster's keys anew.",
            Self::Backend { .. } => "Try again; the message says what failed.",
        }
    }
}

impl core::error::Error for Error {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        None
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}{}", self.at(), self.fault())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Error")
            .field("fault", self.fault())
            .field("at", self.at())
            .finish()
    }
}

/// `Secret ns/name, spec.csr: `, or nothing where there is no place to name.
impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.object, self.field) {
            (None, "") => Ok(()),
            (None, field) => write!(formatter, "{field}: "),
            (Some(object), "") => write!(formatter, "{object}: "),
            (Some(object), field) => write!(formatter, "{object}, {field}: "),
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Keys => "the key store",
            Self::CsrSigner => "the signer",
            Self::Principals => "the look-up of principals",
            Self::Tokens => "the token store",
        })
    }
}

/// An attacker's text for a message: at most 80 characters of it, escaped by
/// the `{:?}` that prints it.
pub(crate) fn shortened(text: &str) -> String {
    const SHOWN: usize = 80;
    if text.chars().count() <= SHOWN {
        return text.to_owned();
    }
    text.chars()
        .take(SHOWN)
        .chain(core::iter::once('…'))
        .collect()
}
