//! Renewing the certificate of an authenticated peer.
//!
//! What counts is the time at which this side issued the certificate, and the
//! time at which it ends; notBefore does not count, which signers set back. Both
//! are on record, and both are points on the same scale:
//!
//! ```text
//!   at                                      due                until
//!   ├───────────── two thirds ──────────────┼──── one third ────┤
//!           NotBefore(due)                     Due | Denied       NeedsCertificate
//! ```
//!
//! A clock that jumps only changes where on that line it reads. The due time
//! lies before the end, so that no jump skips it for good; each certificate
//! that is taken ends later than the one that it renews, and is not due in the
//! second in which it was issued unless it is about to end: so that no renewal
//! follows another one without time between them.

use crate::{
    error::Error,
    machine::{self, Refused, Step},
    model::{Resource, Timestamp},
    provider::{Issued, NeedsCertificate, NeedsRights, Provider},
};

/// Where the renewal of a peer's certificate stands.
///
/// [`Provider::reconcile`] has a certificate renewed by itself. Who carries
/// requests to a signer looks here:
///
/// # Examples
/// ```
/// use liqo_auth::{
///     crypto::CertificateChain,
///     error::Error,
///     machine::Step,
///     provider::{Issued, Renewal, SigningRequest},
/// };
///
/// fn renew(
///     issued: &Issued<'_>,
///     sign: impl FnOnce(&SigningRequest) -> Option<CertificateChain>,
/// ) -> Result<Step, Error> {
///     match issued.renewal() {
///         Renewal::Due(needs) => match sign(needs.request()) {
///             Some(chain) => needs.continue_with(&chain),
///             None => Ok(needs.deny("the signer is closed")),
///         },
///         _ => issued.maintain(),
///     }
/// }
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub enum Renewal<'o> {
    /// There is no certificate that could end: an AWS user.
    Never,
    /// There is nothing to do before this time.
    NotBefore(Timestamp),
    /// The request is to be signed again. Until the answer has come, the
    /// certificate that it renews stays in force.
    Due(Box<NeedsCertificate<'o>>),
    /// The signer denied it, or gave a certificate that ends no later.
    Denied {
        /// What came of it.
        error: Error,
        /// When it is asked again.
        again_at: Timestamp,
    },
}

impl<'o> Issued<'o> {
    /// Where the renewal of the certificate stands.
    pub fn renewal(&self) -> Renewal<'o> {
        let Some(until) = self.valid_until() else {
            return Renewal::Never;
        };
        let NeedsRights {
            provider,
            observed,
            tenant,
            verified,
            ..
        } = &self.granted;
        let Some((record, issued)) = observed
            .record
            .as_ref()
            .and_then(|(_, record)| Some((record, record.issued.as_ref()?)))
        else {
            // An exchange that Liqo made: its life is measured from the day on
            // which it is adopted.
            return Renewal::NotBefore(machine::due_at(self.now, until));
        };
        let due = issued.due_at();
        if self.now < due {
            return Renewal::NotBefore(due);
        }
        let request = NeedsCertificate::new(
            provider,
            observed.clone(),
            tenant,
            verified.clone(),
            &self.nonce,
            self.now,
        )
        .renewing(issued);
        let refused = record.refused_renewal.as_ref().and_then(|refused| {
            let again_at = refused.holds_until(request.request().id, self.now, issued.pause())?;
            Some(Renewal::Denied {
                error: refused.error(issued.until(), tenant.id()),
                again_at,
            })
        });
        refused.unwrap_or_else(|| Renewal::Due(Box::new(request)))
    }
}

impl Provider {
    /// Has the certificate renewed, if it is due. Whatever comes of it, the
    /// present one stays in force, and the rest of the step is made.
    pub(in crate::provider) fn renew(&self, issued: &Issued<'_>, step: &mut Step) {
        let record = self.record_id(issued.peer());
        if step.effects.iter().any(|effect| effect.id() == record) {
            // One effect for an object: the next look goes on.
            return;
        }
        match issued.renewal() {
            Renewal::Never => {}
            Renewal::NotBefore(due) => step.wake_by(Some(due)),
            Renewal::Denied { error, again_at } => {
                step.append(Step::refuse(error));
                step.wake_by(Some(again_at));
            }
            Renewal::Due(request) => match self.ask_signer(&request) {
                Ok(renewal) => {
                    if renewal.refused.is_empty() && !renewal.is_settled() {
                        // The next look hands out the new one.
                        step.outbox.clear();
                    }
                    step.append(renewal);
                }
                Err(error) => {
                    step.refused.push(Refused {
                        object: error.at().object.clone(),
                        error,
                    });
                    step.wake_by(Some(issued.try_again_at()));
                }
            },
        }
    }
}

impl core::fmt::Debug for Renewal<'_> {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Never => formatter.write_str("Never"),
            Self::NotBefore(due) => formatter.debug_tuple("NotBefore").field(due).finish(),
            Self::Due(request) => formatter
                .debug_tuple("Due")
                .field(&request.request().id)
                .finish(),
            Self::Denied { error, again_at } => formatter
                .debug_struct("Denied")
                .field("error", error)
                .field("again_at", again_at)
                .finish(),
        }
    }
}
