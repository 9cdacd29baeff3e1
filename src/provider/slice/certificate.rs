//! Having a slice's request signed, the first time and again.

use super::{RETRY, Slice, SliceTerms};
use crate::{
    crypto::{CertificateChain, Fingerprint, RequestId},
    error::{Disposition, Error, shortened},
    machine::Step,
    model::Resource,
    provider::{
        SigningRequest,
        credentials::issuance,
        record::peer::{IssuedCertificate, RefusedRenewal},
    },
    verify::VerifiedSlice,
};

/// The slice's request is on record, and no certificate for it is there, or
/// the one that is there is due.
#[derive(Clone)]
pub struct NeedsSliceCertificate<'o> {
    slice: Slice<'o>,
    request: SigningRequest,
    replaced: Option<Fingerprint>,
    /// The certificate in force, if this is to renew it.
    renews: Option<IssuedCertificate>,
}

impl<'o> NeedsSliceCertificate<'o> {
    pub(super) fn new(
        slice: Slice<'o>,
        verified: VerifiedSlice,
        terms: &SliceTerms,
        renewal: bool,
    ) -> Self {
        let now = slice.now;
        let lifetime = issuance::lifetime(&slice.provider, &slice.peer);
        let issued = slice.record().and_then(|record| record.issued.as_ref());
        let renews = issued.filter(|_| renewal).cloned();
        // The certificate on record is whole: when another one is asked for, it
        // is of no use any more, or about to be.
        let replaced = issued.and_then(IssuedCertificate::fingerprint);
        let id = RequestId::of_slice(
            verified.csr(),
            &terms.tenant_uid,
            &slice.object.metadata.uid,
            lifetime,
            replaced,
        );
        let request = SigningRequest {
            id,
            peer: slice.peer.clone(),
            slice: Some(verified.name().to_owned()),
            csr: verified.csr().clone(),
            subject: verified.subject(),
            public_key: verified.public_key().clone(),
            lifetime,
            now,
        };
        Self {
            slice,
            request,
            replaced,
            renews,
        }
    }

    /// What is to be signed.
    pub fn request(&self) -> &SigningRequest {
        &self.request
    }

    /// Goes on with the certificate that the signer gave: notes in the peer's
    /// record how long the peer has to be remembered for it, and the certificate
    /// in the slice's, then keeps it where Liqo does. A renewal that ends no
    /// later than the certificate in force is refused, as a denied one is.
    ///
    /// # Errors
    /// [`ApiMisuse::SignerCertificate`](crate::error::ApiMisuse::SignerCertificate) if it is not for this request.
    pub fn continue_with(&self, chain: &CertificateChain) -> Result<Step, Error> {
        let slice = &self.slice;
        let policy = slice.provider.policy(&slice.peer);
        issuance::check_answer(&self.request, chain, policy)?;
        let found = chain.leaf().not_after();
        if let Some(present) = &self.renews
            && found <= present.until()
        {
            let SigningRequest { id, now, .. } = self.request;
            let refused = RefusedRenewal::without_progress(id, now, found);
            return Ok(self.refuse_renewal(present, refused));
        }
        let mut step = Step::default();
        step.effects.extend(slice.remembered_until(found));
        if let Some(record) = slice.record() {
            let now = self.request.now;
            let mut record = record.clone();
            let issued = IssuedCertificate::new(chain, &self.request.csr, self.replaced, now);
            record.issued = Some(issued);
            record.refused_renewal = None;
            record.authenticated.get_or_insert(now.unix());
            step.effects.push(slice.write_record(&record));
        }
        if slice.unreadable.is_none() {
            let csr = slice.object.spec.csr.as_slice();
            step.effects.extend(slice.certificate.keep(csr, chain));
        }
        step.events.push(issuance::event(
            &self.request,
            slice.object.id(),
            chain,
            self.replaced,
        ));
        Ok(step)
    }

    /// Says that the signer denied it. A renewal's denial is noted in the
    /// slice's record, and the renewal is not asked for again for a tenth of the
    /// life of the certificate, which stays in force.
    pub fn deny(&self, reason: &str) -> Step {
        if let Some(present) = &self.renews {
            let SigningRequest { id, now, .. } = self.request;
            let refused = RefusedRenewal::denied(id, now, shortened(reason));
            return self.refuse_renewal(present, refused);
        }
        issuance::denied(self.slice.object.id(), reason)
    }

    fn refuse_renewal(&self, present: &IssuedCertificate, refused: RefusedRenewal) -> Step {
        let id = self.slice.object.id();
        let mut step = Step::refuse(refused.error(present.until(), id));
        step.wake_by(Some(self.request.now + present.pause()));
        if let Some(record) = self.slice.record() {
            let mut record = record.clone();
            record.refused_renewal = Some(refused);
            step.effects.push(self.slice.write_record(&record));
        }
        step
    }

    pub(super) fn ask_signer(&self) -> Result<Step, Error> {
        let provider = &self.slice.provider;
        let answered = provider.ask(
            &self.request,
            |chain| self.continue_with(chain),
            |reason| self.deny(reason),
        );
        let Some(present) = &self.renews else {
            return answered;
        };
        // The present certificate goes on until it expires; then another
        // request is made. Whatever comes of this one, all else goes on.
        let mut step = answered.unwrap_or_else(|error| {
            let mut step = Step::refuse(error.clone());
            if error.disposition() == Disposition::Retry {
                step.wait.wake_at = Some(self.request.now + RETRY);
            }
            step
        });
        step.wake_by(Some(present.until() + ONE_SECOND));
        Ok(step)
    }
}

/// A certificate is good through the second that it ends with.
const ONE_SECOND: core::time::Duration = core::time::Duration::from_secs(1);
