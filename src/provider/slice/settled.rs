//! A slice with its certificate: telling the consumer, and renewing in time.

use super::{
    NeedsSliceCertificate, Slice, SliceRecord, SliceTerms, add,
    status::{self, Times},
};
use crate::{
    crypto::{CertificateChain, without_padding},
    error::Error,
    machine::{Effect, Part, Step},
    model::{AuthParams, Resource, ResourceSliceStatus, TenantCondition, Timestamp},
    provider::{credentials::credential::Credential, record::slice::Outcome},
    verify::{Credentials, VerifiedSlice},
};

/// The slice has a certificate or an AWS user, and what was decided on its
/// resources is known.
#[derive(Clone)]
pub struct SettledSlice<'o> {
    pub(super) slice: Slice<'o>,
    verified: VerifiedSlice,
    credential: Credential,
    terms: SliceTerms,
}

/// The status does not say what is on record.
#[derive(Clone)]
pub struct NeedsSliceStatus<'o> {
    // Boxed, since it is one variant of an enum.
    pub(super) settled: Box<SettledSlice<'o>>,
    pub(super) effect: Effect,
}

/// Whether a slice's certificate is to be renewed.
#[non_exhaustive]
pub enum SliceRenewal<'o> {
    /// There is no certificate that could end: an AWS user.
    Never,
    /// Not before this time.
    NotBefore(Timestamp),
    /// Now: the same request is to be signed again. Until it is, the present
    /// certificate stays where it is.
    Due(Box<NeedsSliceCertificate<'o>>),
    /// The signer denied it, or gave a certificate that ends no later.
    Denied {
        /// What came of it.
        error: Error,
        /// When it is asked again.
        again_at: Timestamp,
    },
}

impl<'o> SettledSlice<'o> {
    pub(super) fn new(
        slice: Slice<'o>,
        verified: VerifiedSlice,
        credential: Credential,
        terms: SliceTerms,
    ) -> Self {
        Self {
            slice,
            verified,
            credential,
            terms,
        }
    }

    /// What was verified.
    pub fn slice(&self) -> &VerifiedSlice {
        &self.verified
    }

    /// What the slice authenticates by.
    pub fn credentials(&self) -> &Credentials {
        self.credential.credentials()
    }

    /// The certificate that was issued; none where there is an AWS user instead.
    pub fn certificate(&self) -> Option<&CertificateChain> {
        self.credential.chain()
    }

    /// When the certificate expires; AWS keys do not.
    pub fn valid_until(&self) -> Option<Timestamp> {
        self.credential.valid_until()
    }

    /// Whether the certificate is due, which is at two thirds of its life since
    /// it was issued ([`renewal::due_at`](crate::machine::due_at)).
    pub fn renewal(&self) -> SliceRenewal<'o> {
        let Some(until) = self.valid_until() else {
            return SliceRenewal::Never;
        };
        let issued = self.record().and_then(|record| record.issued.as_ref());
        let due = issued.map_or(until, |issued| issued.due_at());
        if self.slice.now < due {
            return SliceRenewal::NotBefore(due);
        }
        let request = NeedsSliceCertificate::new(
            self.slice.clone(),
            self.verified.clone(),
            &self.terms,
            true,
        );
        let refused = self.record().and_then(|record| {
            let (refused, issued) = (record.refused_renewal.as_ref()?, issued?);
            let (id, now) = (request.request().id, self.slice.now);
            Some(SliceRenewal::Denied {
                again_at: refused.holds_until(id, now, issued.pause())?,
                error: refused.error(issued.until(), self.slice.object.id()),
            })
        });
        refused.unwrap_or_else(|| SliceRenewal::Due(Box::new(request)))
    }

    /// Renews the certificate when it is due, the seal under a new record key,
    /// and the Secret that keeps the certificate as Liqo does.
    ///
    /// # Errors
    /// What the signer reports.
    pub fn maintain(&self) -> Result<Step, Error> {
        let mut step = match self.renewal() {
            SliceRenewal::Due(request) => request.ask_signer()?,
            SliceRenewal::NotBefore(due) => {
                let mut step = Step::default();
                step.effects.extend(self.resealed());
                step.wait.wake_at = Some(due);
                step
            }
            SliceRenewal::Never => Step {
                effects: self.resealed().into_iter().collect(),
                ..Step::default()
            },
            SliceRenewal::Denied { error, again_at } => {
                let mut step = Step::refuse(error);
                step.effects.extend(self.resealed());
                step.wake_by(Some(again_at));
                step
            }
        };
        if let Some(error) = &self.slice.unreadable {
            step.refused.extend(Step::refuse(error.clone()).refused);
        } else if let Some(chain) = self.certificate() {
            let mut kept = Step::default();
            let csr = self.slice.object.spec.csr.as_slice();
            kept.effects.extend(self.slice.certificate.keep(csr, chain));
            add(&mut step, kept);
        }
        Ok(step)
    }

    pub(super) fn record(&self) -> Option<&SliceRecord> {
        self.slice.record()
    }

    /// Whether the slice may use resources, as far as this side decides.
    pub(super) fn is_granted(&self) -> bool {
        let decided = self.record().and_then(|record| record.decided.as_ref());
        decided.is_some_and(|decided| !matches!(decided.outcome, Outcome::Denied { .. }))
    }

    pub(super) fn missing_status(&self) -> Option<Effect> {
        let mut told = self.slice.object.clone();
        told.status = self.status();
        Effect::patch(self.slice.object, told, Part::Status)
    }

    /// What the status has to say: all of it follows from the record.
    fn status(&self) -> ResourceSliceStatus {
        let said = &self.slice.object.status;
        let now = self.slice.now;
        let time = |seconds: i64| Timestamp::from_unix(seconds).ok();
        let mut status = ResourceSliceStatus {
            auth_params: Some(self.auth_params()),
            ..ResourceSliceStatus::default()
        };
        let recorded = self.record().and_then(|record| time(record.authenticated?));
        status::accept_authentication(&mut status, said, Times { recorded, now });
        match self.record().and_then(|record| record.decided.as_ref()) {
            Some(decided) => {
                let recorded = time(decided.at);
                let times = Times { recorded, now };
                status::decide_resources(&mut status, said, &decided.outcome, times);
            }
            // A cordoned peer gets nothing new. That is not recorded: it ends
            // with the condition.
            None if self.slice.condition == TenantCondition::Cordoned => {
                let mut denied = said.clone();
                status::deny_resources(&mut denied, now);
                let condition =
                    denied.condition(crate::model::ResourceSliceConditionType::Resources);
                status.conditions.extend(condition.cloned());
            }
            None => {}
        }
        status
    }

    pub(super) fn auth_params(&self) -> AuthParams {
        let mut auth_params = self.credential.added_to(self.terms.auth_params.clone());
        // Liqo pads it; that is no reason to write it again.
        if let Some(said) = &self.slice.object.status.auth_params
            && without_padding(said.ca.as_slice()) == without_padding(auth_params.ca.as_slice())
        {
            auth_params.ca = said.ca.clone();
        }
        auth_params
    }

    fn resealed(&self) -> Option<Effect> {
        let (secret, record) = self.slice.record.as_ref()?;
        let configuration = &self.slice.provider.0;
        SliceRecord::is_sealed_by_predecessor(
            secret,
            &configuration.record_key,
            &configuration.cluster_id,
            &self.slice.peer,
        )
        .then(|| self.slice.write_record(record))
    }
}

impl<'o> NeedsSliceStatus<'o> {
    /// The slice behind it.
    pub fn settled(&self) -> &SettledSlice<'o> {
        &self.settled
    }

    /// Says what is on record.
    pub fn tell(&self) -> Step {
        Step {
            effects: vec![self.effect.clone()],
            ..Step::default()
        }
    }

    /// The same, after renewing what is due: whoever changes status and
    /// annotations again and again, so that one waits for the other, is not to
    /// hold that up.
    pub(super) fn maintain_and_tell(&self) -> Result<Step, Error> {
        let mut step = self.settled.maintain()?;
        add(&mut step, self.tell());
        Ok(step)
    }
}
