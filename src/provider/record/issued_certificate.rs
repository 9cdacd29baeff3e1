//! The recorded certificate, and its refused renewal.

use core::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    crypto::{Certificate, CertificateChain, Csr, Fingerprint, RequestId},
    error::{Error, PolicyRefusal},
    machine::due_at,
    model::{Bytes, ObjectRef, Timestamp},
    policy::Policy,
};

/// An issued certificate. The record contains the whole chain, because the peer can
/// write the Secret in which Liqo keeps the certificate. So a change of that Secret
/// causes neither the use of another certificate nor a new request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct IssuedCertificate {
    /// The certificate and its intermediates, in PEM.
    chain: Bytes,
    /// SHA-256 of the certificate in DER.
    leaf: Bytes,
    /// SHA-256 of its request in DER.
    csr: Bytes,
    /// When it was issued, by this side's clock, in seconds since the Unix epoch.
    at: i64,
    /// When it expires, in seconds since the Unix epoch.
    until: i64,
    /// SHA-256 of the certificate that it renewed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    replaced: Option<Bytes>,
}

/// A renewal that the signer denied, or for which the signer issued a certificate
/// that does not end later than the present one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RefusedRenewal {
    request: Bytes,
    at: i64,
    why: WhyRefused,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum WhyRefused {
    /// The signer's reason for the denial.
    Denied(String),
    /// The expiry of the certificate that the signer issued, in seconds since the
    /// Unix epoch. It is no later than the expiry of the present certificate.
    EndsAt(i64),
}

impl IssuedCertificate {
    /// The record of a chain whose first certificate has this fingerprint.
    pub(crate) fn new(
        chain: &CertificateChain,
        fingerprint: Fingerprint,
        csr: &Csr,
        renewed: Option<Fingerprint>,
        now: Timestamp,
    ) -> Self {
        Self {
            chain: Bytes::from(chain.pem()),
            leaf: Bytes::from(fingerprint.as_bytes().as_slice()),
            csr: Bytes::from(csr.digest().as_slice()),
            at: now.unix(),
            until: chain.leaf().not_after.unix(),
            replaced: renewed.map(|leaf| Bytes::from(leaf.as_bytes().as_slice())),
        }
    }

    /// The certificate, if it was issued for this request.
    pub(crate) fn chain_for(&self, csr: &Csr, policy: &Policy) -> Option<CertificateChain> {
        if self.csr.as_slice() != csr.digest() {
            return None;
        }
        CertificateChain::from_pem(self.chain.as_slice(), policy).ok()
    }

    /// The certificate itself, without its intermediates. This side has checked it when it came.
    pub(crate) fn certificate(&self) -> Option<Certificate> {
        let chain = CertificateChain::from_pem(self.chain.as_slice(), &Policy::compatible());
        Some(chain.ok()?.leaf().clone())
    }

    pub(crate) fn fingerprint(&self) -> Option<Fingerprint> {
        let bytes: [u8; 32] = self.leaf.as_slice().try_into().ok()?;
        Some(Fingerprint::from_bytes(bytes))
    }

    /// Whether this certificate renewed another one for the same request.
    pub(crate) fn is_renewed(&self) -> bool {
        self.replaced.is_some()
    }

    pub(crate) fn at(&self) -> Timestamp {
        time(self.at)
    }

    pub(crate) fn until(&self) -> Timestamp {
        time(self.until)
    }

    /// When its renewal is due.
    pub(crate) fn due_at(&self) -> Timestamp {
        due_at(self.at(), self.until())
    }

    /// The pause after a refused renewal: a tenth of the certificate's lifetime. So
    /// the provider requests the renewal three or four times before the certificate
    /// expires.
    pub(crate) fn pause(&self) -> Duration {
        (self.until().since(self.at()) / 10).max(SHORTEST_PAUSE)
    }
}

impl RefusedRenewal {
    pub(crate) fn denied(request: RequestId, now: Timestamp, reason: String) -> Self {
        Self::new(request, now, WhyRefused::Denied(reason))
    }

    pub(crate) fn without_progress(request: RequestId, now: Timestamp, until: Timestamp) -> Self {
        Self::new(request, now, WhyRefused::EndsAt(until.unix()))
    }

    fn new(request: RequestId, now: Timestamp, why: WhyRefused) -> Self {
        Self {
            request: Bytes::from(request.as_bytes().as_slice()),
            at: now.unix(),
            why,
        }
    }

    /// The time at which this request may be repeated, if that time is in the
    /// future. If the clock was set back to a time before the refusal, the refusal
    /// no longer counts: its recorded time may be wrong, and the wait could be
    /// endless.
    pub(crate) fn holds_until(
        &self,
        request: RequestId,
        now: Timestamp,
        pause: Duration,
    ) -> Option<Timestamp> {
        let again_at = time(self.at) + pause;
        let holds =
            self.request.as_slice() == request.as_bytes() && time(self.at) <= now && now < again_at;
        holds.then_some(again_at)
    }

    pub(crate) fn error(&self, present: Timestamp, tenant: ObjectRef) -> Error {
        let refusal = match &self.why {
            WhyRefused::Denied(reason) => PolicyRefusal::CredentialDenied {
                reason: reason.clone(),
            },
            WhyRefused::EndsAt(found) => PolicyRefusal::RenewalEndsNoLater {
                found: time(*found),
                present,
            },
        };
        Error::new(refusal, Some(tenant), "spec.csr")
    }
}

/// Converts recorded seconds, which always come from a valid timestamp.
fn time(seconds: i64) -> Timestamp {
    Timestamp::from_unix(seconds).unwrap_or(Timestamp::EPOCH)
}

/// The minimum pause, for certificates with a lifetime of seconds.
const SHORTEST_PAUSE: Duration = Duration::from_secs(10);
