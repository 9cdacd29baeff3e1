//! The renewal of a holder's certificate.
//!
//! The due time depends on two recorded times: `at`, when this side issued the
//! certificate, and `until`, its notAfter. It does not depend on notBefore, because
//! signers set notBefore back.
//!
//! ```text
//!   at                                      due                until
//!   ├───────────── two thirds ──────────────┼──── one third ────┤
//!           NotBefore(due)                     Due | Denied       a new request
//! ```
//!
//! A jump of the clock only changes the position on that line. The due time is
//! before the end, so no jump prevents the renewal permanently. Renewals do not form
//! an endless series: each accepted certificate ends later than the certificate that
//! it renews. An administrator may have a renewal due earlier, once, and so does a change of the
//! API server's client CAs ([`client_trust`](super::client_trust)): then the next certificate may
//! end earlier. A new certificate is due at once only if it is about to expire.

use super::{
    Credential, HolderContext, SigningRequest,
    certificate::{self, Renewed},
    client_trust::Distrust,
};
use crate::{
    error::{Disposition, Error},
    machine::{due_at, expired_at},
    model::Timestamp,
    provider::{look::RETRY, record::IssuedCertificate, records::Plan},
};

/// The state of a certificate's renewal.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Renewal {
    /// The credential does not expire: it is an AWS user.
    Never,
    /// The renewal is not due before this time.
    NotBefore(Timestamp),
    /// The request must be signed again. The present certificate stays in force
    /// until the new one arrives.
    Due(Box<SigningRequest>),
    /// The signer denied the renewal, or issued a certificate that does not end later
    /// than the present one, which is still good, or one that the API server does not let in
    /// either.
    Denied {
        /// The reason for the denial.
        error: Error,
        /// When the provider asks the signer again.
        again_at: Timestamp,
    },
}

impl HolderContext<'_> {
    /// The state of the credential's renewal.
    pub(crate) fn renewal(&self, credential: &Credential) -> Renewal {
        let now = self.look.now;
        let Some(until) = credential.shown.valid_until() else {
            return Renewal::Never;
        };
        let Some((held, issued)) = self
            .held
            .and_then(|held| Some((held, held.issued.as_ref()?)))
        else {
            // Liqo completed this exchange. The certificate's lifetime counts from its
            // adoption.
            return Renewal::NotBefore(due_at(now, until));
        };
        let due = issued.due_at();
        if now < due && !held.due_now {
            match self.distrust(credential) {
                None => return Renewal::NotBefore(due),
                Some(Distrust::GivenUp) => {
                    let refused = held.refused_renewal.as_ref();
                    let refused = refused.map(|it| it.error(issued.until(), self.about.clone()));
                    return Renewal::Denied {
                        error: refused.unwrap_or_else(|| self.not_trusted()),
                        again_at: due,
                    };
                }
                Some(Distrust::New) => {}
            }
        }
        let request = certificate::request(self);
        let refused = held.refused_renewal.as_ref().and_then(|refused| {
            let again_at = refused.holds_until(request.id, now, issued.pause())?;
            Some(Renewal::Denied {
                error: refused.error(issued.until(), self.about.clone()),
                again_at,
            })
        });
        refused.unwrap_or_else(|| Renewal::Due(Box::new(request)))
    }

    /// Renews the certificate, if its renewal is due. If the renewal fails, the
    /// present certificate stays in force, and the rest of the plan continues.
    /// Returns whether a new certificate was issued.
    pub(crate) fn renew(&self, credential: &Credential, plan: &mut Plan<'_>) -> bool {
        let is_distrusted = self.compare(credential, plan);
        // After the expiry, the provider requests a new credential.
        plan.wake_by(credential.shown.valid_until().map(expired_at));
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
        let renewed = issued.map(|issued| Renewed {
            issued,
            is_distrusted,
        });
        let asked = plan.attempt(|plan| certificate::ask(self, &request, renewed, plan));
        if is_distrusted && matches!(asked, Ok(false)) {
            plan.refuse(self.not_trusted());
        }
        asked.unwrap_or_else(|error| {
            let pause = issued.map_or(RETRY, IssuedCertificate::pause);
            plan.wake_by(Some(match error.disposition() {
                Disposition::Retry => self.look.now + pause.min(RETRY),
                _ => self.look.now + pause,
            }));
            plan.refuse_at(self.about.clone(), error);
            false
        })
    }
}
