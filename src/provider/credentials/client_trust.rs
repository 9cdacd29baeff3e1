//! Whether the API server lets the certificate on record in.
//!
//! An administrator may replace the CAs by which the API server verifies clients. From then on,
//! a certificate by an earlier CA lets nobody in, however long it is valid. So its renewal is
//! due, once for each set of CAs: if the signer uses none of the CAs in the set, the next
//! certificate is as useless as the present one. What is undecided does not make a renewal due.

use super::{Credential, HolderContext, Renewal};
use crate::{
    crypto::CertificateChain,
    error::{Error, PolicyRefusal},
    provider::records::Plan,
};

/// Why the API server does not let the certificate on record in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Distrust {
    /// None of its client CAs has issued the certificate.
    New,
    /// Nor have they issued one that was signed for them, and none is signed any more.
    GivenUp,
}

impl HolderContext<'_> {
    /// Whether the API server lets the certificate on record in. `None` if that is undecided.
    fn is_trusted(&self, credential: &Credential) -> Option<bool> {
        let (held, cas) = (self.held?, self.client_cas?);
        held.issued.as_ref()?;
        held.is_trusted_by(cas)
            .or_else(|| cas.trust(credential.shown.certificate()?))
    }

    /// `None` if the API server lets the certificate in, or if that is undecided.
    pub(super) fn distrust(&self, credential: &Credential) -> Option<Distrust> {
        let (held, cas) = (self.held?, self.client_cas?);
        match (self.is_trusted(credential)?, held.is_given_up(cas)) {
            (true, _) => None,
            (false, false) => Some(Distrust::New),
            (false, true) => Some(Distrust::GivenUp),
        }
    }

    /// The refusal of the certificate by the API server, if its renewal is due for that.
    pub(crate) fn due_for_trust(
        &self,
        credential: &Credential,
        renewal: &Renewal,
    ) -> Option<Error> {
        let is_due = matches!(renewal, Renewal::Due(_));
        (is_due && self.distrust(credential).is_some()).then(|| self.not_trusted())
    }

    /// Remembers whether the API server lets the certificate in, so that the next look verifies
    /// no signature. Returns whether it does not let it in.
    pub(super) fn compare(&self, credential: &Credential, plan: &mut Plan<'_>) -> bool {
        let is_trusted = self.is_trusted(credential);
        if let (Some(is_trusted), Some(cas)) = (is_trusted, self.client_cas)
            && self.held.and_then(|held| held.is_trusted_by(cas)).is_none()
        {
            plan.records
                .held(&self.holder, |held| held.compare(cas, is_trusted));
        }
        is_trusted == Some(false)
    }

    /// Remembers whether the API server lets a new certificate in. If it does not, no other one
    /// is signed for its present CAs.
    pub(super) fn compare_new(&self, chain: &CertificateChain, plan: &mut Plan<'_>) {
        let Some((cas, is_trusted)) = self
            .client_cas
            .and_then(|cas| Some((cas, cas.trust(chain)?)))
        else {
            return;
        };
        plan.records
            .held(&self.holder, |held| held.compare(cas, is_trusted));
        if !is_trusted {
            self.give_up(plan);
        }
    }

    /// Has no other certificate signed for the present CAs of the API server.
    pub(super) fn give_up(&self, plan: &mut Plan<'_>) {
        if let Some(cas) = self.client_cas {
            plan.records.held(&self.holder, |held| held.give_up(cas));
        }
    }

    pub(super) fn not_trusted(&self) -> Error {
        let refusal = PolicyRefusal::CertificateNotTrusted;
        Error::new(
            refusal,
            Some(self.about.clone()),
            "status.authParams.signedCRT",
        )
    }
}
