//! Renewing the certificate of a holder.
//!
//! What counts is the time at which this side issued the certificate, and the
//! time at which it ends; notBefore does not count, which signers set back. Both
//! are on record, and both are points on the same scale:
//!
//! ```text
//!   at                                      due                until
//!   ├───────────── two thirds ──────────────┼──── one third ────┤
//!           NotBefore(due)                     Due | Denied       a new request
//! ```
//!
//! A clock that jumps only changes where on that line it reads. The due time
//! lies before the end, so that no jump skips it for good; each certificate
//! that is taken ends later than the one that it renews, and is not due in the
//! second in which it was issued unless it is about to end: so that no renewal
//! follows another one without time between them.

use core::time::Duration;

use super::{
    Credential, Holding, SigningRequest,
    certificate::{self, Asked},
};
use crate::{
    error::{Disposition, Error},
    machine::due_at,
    model::Timestamp,
    provider::record::{IssuedCertificate, Plan},
};

/// Where the renewal of a certificate stands.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Renewal {
    /// The credential does not end by itself: an AWS user.
    Never,
    /// There is nothing to do before this time.
    NotBefore(Timestamp),
    /// The request is to be signed again. Until the answer has come, the
    /// certificate that it renews stays in force.
    Due(Box<SigningRequest>),
    /// The signer denied it, or gave a certificate that ends no later.
    Denied {
        /// What came of it.
        error: Error,
        /// When it is asked again.
        again_at: Timestamp,
    },
}

pub(super) fn of(holding: &Holding<'_>, credential: &Credential) -> Renewal {
    let now = holding.look.now;
    let Some(until) = credential.valid_until() else {
        return Renewal::Never;
    };
    let Some((held, issued)) = holding
        .held
        .and_then(|held| Some((held, held.issued.as_ref()?)))
    else {
        // An exchange that Liqo made: its life is measured from the day on which
        // it is adopted.
        return Renewal::NotBefore(due_at(now, until));
    };
    let due = issued.due_at();
    if now < due {
        return Renewal::NotBefore(due);
    }
    let request = certificate::request(holding);
    let refused = held.refused_renewal.as_ref().and_then(|refused| {
        let again_at = refused.holds_until(request.id, now, issued.pause())?;
        Some(Renewal::Denied {
            error: refused.error(issued.until(), holding.about.clone()),
            again_at,
        })
    });
    refused.unwrap_or_else(|| Renewal::Due(Box::new(request)))
}

impl Holding<'_> {
    /// Has the certificate renewed, if it is due. Whatever comes of it, the
    /// present one stays in force, and the rest of the plan is made. Whether a
    /// new one came.
    pub(in crate::provider) fn renew(&self, credential: &Credential, plan: &mut Plan<'_>) -> bool {
        // By then another request is to be made.
        plan.wake_by(credential.valid_until().map(|until| until + ONE_SECOND));
        let request = match self.renewal(credential) {
            Renewal::Never => return false,
            Renewal::NotBefore(due) => {
                plan.wake_by(Some(due));
                return false;
            }
            Renewal::Denied { error, again_at } => {
                plan.refuse(error);
                plan.wake_by(Some(again_at));
                return false;
            }
            Renewal::Due(request) => request,
        };
        let issued = self.held.and_then(|held| held.issued.as_ref());
        let asked = plan.attempt(|plan| certificate::ask(self, &request, issued, plan));
        asked.map_or_else(
            |error| {
                let pause = issued.map_or(RETRY, IssuedCertificate::pause);
                plan.wake_by(Some(match error.disposition() {
                    Disposition::Retry => self.look.now + pause.min(RETRY),
                    _ => self.look.now + pause,
                }));
                plan.refuse_at(self.about.clone(), error);
                false
            },
            |asked| asked == Asked::Taken,
        )
    }
}

/// A certificate is good through the second that it ends with.
pub(super) const ONE_SECOND: Duration = Duration::from_secs(1);
/// When a signer that failed is asked again at the latest.
const RETRY: Duration = Duration::from_secs(60);
