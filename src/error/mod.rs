//! What went wrong: whose fault it is, where it stands, and what to do.
//!
//! ```text
//! Error ── fault()        PeerMisbehaved | PeerIncompatible | Policy | Local | ApiMisuse
//!       ├─ at()           the object and the field
//!       ├─ rule()         the rule of DESIGN.md that it breaks, if it is one of them
//!       ├─ disposition()  retry | wait for a change | give up
//!       └─ advice()       what a person can do
//! ```

mod own;
mod peer;

use core::fmt;

pub use own::{ApiMisuse, Backend, LocalFault, PolicyRefusal};
pub use peer::{CommitmentFault, PeerIncompatible, PeerMisbehaved, SuccessionFault};

use crate::{
    crypto::{BoxError, CertificateError},
    model::ObjectRef,
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

    /// What one of the embedder's parts reported.
    pub(crate) fn backend(backend: Backend, reported: BoxError) -> Self {
        let message = shortened(&reported.to_string());
        Self::new(LocalFault::Backend { backend, message }, None, "")
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
            Fault::Local(LocalFault::Backend { .. })
            // The other cluster's server has too much to do, or is broken.
            | Fault::PeerIncompatible(PeerIncompatible::Status {
                found: 408 | 429 | 500..,
            })
            // A clock that is a little behind catches up.
            | Fault::PeerMisbehaved(PeerMisbehaved::Certificate(CertificateError::NotYetValid { .. }))
            | Fault::ApiMisuse(ApiMisuse::SignerCertificate(CertificateError::NotYetValid { .. })) => {
                Disposition::Retry
            }
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
