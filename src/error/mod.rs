//! Errors: whose fault, what is wrong, where, and what to do.
//!
//! ```text
//! Error ── fault()        PeerMisbehaved | PeerIncompatible | Policy
//!       │                 | Precondition | Local | ApiMisuse
//!       ├─ code()         a stable name for programs
//!       ├─ at()           the object and the field
//!       ├─ rule()         the rule that is broken, if the fault breaks one
//!       ├─ disposition()  retry | wait for a change | give up
//!       ├─ advice()       what a person can do
//!       └─ source()       the error that an embedder's backend reported
//! ```
//!
//! Each family of faults has its own file. There, each variant defines its
//! text, code, rule and advice.

mod api_misuse;
mod backend;
mod family;
mod fault;
#[cfg(test)]
mod json_form_tests;
mod local_fault;
mod peer_incompatible;
mod peer_misbehaved;
mod place;
mod policy_refusal;
mod precondition;
mod rule;
#[cfg(test)]
mod tests;
mod unreadable;

use core::fmt;
use std::sync::Arc;

pub use api_misuse::ApiMisuse;
pub use backend::Backend;
pub use fault::Fault;
pub use local_fault::LocalFault;
pub use peer_incompatible::PeerIncompatible;
pub use peer_misbehaved::{CommitmentFault, PeerMisbehaved, SuccessionFault};
pub use place::Place;
pub use policy_refusal::PolicyRefusal;
pub use precondition::Precondition;
pub use rule::Rule;

use crate::{
    crypto::{BoxError, CertificateError},
    model::{ObjectRef, Resource},
};
use family::Basis;

/// Why a step was refused or could not be made.
///
/// An error does not carry effects, so it changes nothing.
///
/// Two errors are equal if their fault and place are equal. The source is not
/// compared, because its type is unknown. The source's message is compared: it
/// is part of [`LocalFault::Backend`].
///
/// # Examples
/// ```
/// use liqo_auth::{error::{Disposition, Rule}, model::Tenant, policy::Policy, verify};
///
/// let consumer = "cl-consumer".parse()?;
/// let nonce = liqo_auth::crypto::Nonce::parse(
///     b"rfmPVYvCGQibAyhXdgND2SeJihfBYIMOtekiXasW7RPTMwoGlBFhts7i+c1suHxupxy8gGXDJsr/kjs+EJa9XQ==",
///     &Policy::strict(),
/// )?;
/// let expectation = verify::TenantExpectation { consumer: &consumer, nonce: &nonce };
/// let error = verify::tenant(&Tenant::default(), &expectation, &Policy::strict()).unwrap_err();
/// assert_eq!(error.code(), "name-mismatch");
/// assert_eq!(error.disposition(), Disposition::WaitForChange);
/// assert_eq!(error.at().field, "metadata.name");
/// assert_eq!(error.rule().map(Rule::number), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Error(Box<Parts>);

#[derive(Clone)]
struct Parts {
    fault: Fault,
    at: Place,
    source: Option<Arc<dyn core::error::Error + Send + Sync>>,
}

/// What to do about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disposition {
    /// The same call may succeed later: retry with backoff.
    Retry,
    /// The same objects give the same error: call again when an object changes.
    WaitForChange,
    /// No new object or message can help: the caller has to change the call.
    GiveUp,
}

impl Error {
    pub(crate) fn new(
        fault: impl Into<Fault>,
        object: Option<ObjectRef>,
        field: &'static str,
    ) -> Self {
        Self(Box::new(Parts {
            fault: fault.into(),
            at: Place { object, field },
            source: None,
        }))
    }

    /// An error about a field of an object.
    pub(crate) fn found_in(
        object: &impl Resource,
        field: &'static str,
        fault: impl Into<Fault>,
    ) -> Self {
        Self::new(fault, Some(object.id()), field)
    }

    /// The object is in another namespace than the expected one.
    pub(crate) fn unexpected_namespace(object: ObjectRef, expected: String, found: &str) -> Self {
        let found = shortened(found);
        let refusal = PolicyRefusal::UnexpectedNamespace { expected, found };
        Self::new(refusal, Some(object), "metadata.namespace")
    }

    /// An error that a backend of the embedder reported. The reported error
    /// becomes the source.
    pub(crate) fn backend(backend: Backend, reported: BoxError) -> Self {
        let message = shortened(&reported.to_string());
        let mut error = Self::new(LocalFault::Backend { backend, message }, None, "");
        error.0.source = Some(Arc::from(reported));
        error
    }

    /// The same error at another place.
    pub(crate) fn moved_to(mut self, object: Option<ObjectRef>, field: &'static str) -> Self {
        self.0.at = Place { object, field };
        self
    }

    /// Whose fault the error is, and what is wrong.
    pub fn fault(&self) -> &Fault {
        &self.0.fault
    }

    /// Where the fault was found.
    pub fn at(&self) -> &Place {
        &self.0.at
    }

    /// The stable name of the fault, for programs: lower-case words with hyphens
    /// between them, such as `nonce-expired`.
    ///
    /// Each variant of each family has a code of its own. A code keeps its
    /// meaning: a new version may add codes or retire one, but does not give a code
    /// a second meaning. A variant keeps its code if it changes its family or name.
    /// The codes are:
    ///
    /// ```text
    #[doc = include_str!("codes.txt")]
    /// ```
    pub fn code(&self) -> &'static str {
        self.fault().facts().code
    }

    /// What the caller's loop should do.
    pub fn disposition(&self) -> Disposition {
        match self.fault() {
            Fault::Local(LocalFault::Backend { .. })
            // The key store can get the key without a change of any object.
            | Fault::Precondition(Precondition::KeyAwaited)
            // The other cluster's server is overloaded or broken.
            | Fault::PeerIncompatible(PeerIncompatible::Status {
                found: 408 | 429 | 500..,
            })
            // If this side's clock is slightly behind, the certificate soon becomes
            // valid.
            | Fault::PeerIncompatible(PeerIncompatible::CertificateNotYetValid { .. })
            | Fault::ApiMisuse(ApiMisuse::SignerCertificate(CertificateError::NotYetValid { .. })) => {
                Disposition::Retry
            }
            Fault::ApiMisuse(_) => Disposition::GiveUp,
            Fault::PeerMisbehaved(_)
            | Fault::PeerIncompatible(_)
            | Fault::Policy(_)
            | Fault::Precondition(_)
            | Fault::Local(_) => Disposition::WaitForChange,
        }
    }

    /// `Ok` if the error is about the peer, and `Err` if the fault is on this side.
    pub(crate) fn of_the_peer(self) -> Result<Self, Self> {
        match self.fault() {
            Fault::Precondition(_) | Fault::Local(_) | Fault::ApiMisuse(_) => Err(self),
            Fault::PeerMisbehaved(_) | Fault::PeerIncompatible(_) | Fault::Policy(_) => Ok(self),
        }
    }

    /// The rule that is broken, if the fault breaks one.
    pub fn rule(&self) -> Option<Rule> {
        match self.fault().facts().rule {
            Basis::Broken(rule) => Some(rule),
            Basis::NoRule(_) => None,
        }
    }

    /// What a person can do, in one sentence.
    pub fn advice(&self) -> &'static str {
        self.fault().facts().advice
    }
}

/// The error without a place, for a caller that verifies a part of a message.
impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        Self::new(fault, None, "")
    }
}

impl PartialEq for Error {
    fn eq(&self, other: &Self) -> bool {
        (self.fault(), self.at()) == (other.fault(), other.at())
    }
}

impl Eq for Error {}

/// The source is the error that a backend of the embedder reported
/// ([`LocalFault::Backend`]). It can be downcast to the embedder's own type.
/// Any other error has no source: its text is complete.
///
/// ```
/// # use std::{error::Error as _, fmt};
/// # use liqo_auth::{Provider, Env, Error};
/// # #[derive(Debug)] struct KmsError { throttled: bool }
/// # impl fmt::Display for KmsError { fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.write_str("") } }
/// # impl std::error::Error for KmsError {}
/// fn is_throttled(error: &Error) -> bool {
///     error
///         .source()
///         .and_then(|source| source.downcast_ref::<KmsError>())
///         .is_some_and(|error| error.throttled)
/// }
/// ```
impl core::error::Error for Error {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        let source = self.0.source.as_deref()?;
        Some(source)
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

/// Cuts untrusted text for a message after 80 characters. The message prints the text
/// with `{:?}`, which escapes it.
pub(crate) fn shortened(text: &str) -> String {
    cut_after(80, text)
}

/// The text, cut after this number of characters.
pub(crate) fn cut_after(characters: usize, text: &str) -> String {
    match text.char_indices().nth(characters) {
        None => text.to_owned(),
        Some(_) => text.chars().take(characters).chain(['…']).collect(),
    }
}
