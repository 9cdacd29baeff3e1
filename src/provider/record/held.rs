//! The credentials in a holder's record. The form is the same for a control plane
//! and for a slice.

use serde::{Deserialize, Serialize};

use super::{IssuedCertificate, RefusedRenewal};
use crate::{
    crypto::{ClientCas, RequestId},
    model::{Bytes, Timestamp, sparse},
};

sparse! {
    []
    [
        /// The credentials of one holder, without an access key. The record stores access
        /// keys in another field.
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default, rename_all = "camelCase")]
        pub(crate) struct HeldCredentials
    ]
    /// The certificate that was issued last.
    pub(crate) issued: Option<IssuedCertificate>,
    /// A refused renewal, so that the provider does not request it at each step.
    pub(crate) refused_renewal: Option<RefusedRenewal>,
    /// Whether the renewal is due, although the certificate has most of its life left.
    pub(crate) due_now: bool,
    /// Whether the API server trusts the certificate, as far as it was decided last.
    pub(crate) compared: Option<Comparison>,
    /// The digests of the client CAs for which another certificate was signed in vain.
    in_vain: Vec<Bytes>,
    /// The CertificateSigningRequest that is pending or denied.
    pub(crate) signing: Option<SigningAttempt>,
}

/// Whether one of the API server's client CAs has issued the certificate on record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Comparison {
    /// The digest of the client CAs.
    cas: Bytes,
    is_trusted: bool,
}

/// A request that is pending at Kubernetes' signer, or that was denied there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SigningAttempt {
    /// The [`RequestId`].
    request: Bytes,
    /// How many names for the CertificateSigningRequest were already taken.
    pub(crate) attempt: u8,
    /// The name of the CertificateSigningRequest.
    pub(crate) name: String,
    /// The time until which its certificate may be valid, in seconds since the Unix
    /// epoch.
    pub(crate) until: i64,
    /// The reason why the request was denied or failed. It stays until an
    /// administrator submits the request again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) denied: Option<String>,
}

impl HeldCredentials {
    /// Stores the certificate that is now in force.
    pub(crate) fn take(&mut self, issued: IssuedCertificate) {
        self.issued = Some(issued);
        self.refused_renewal = None;
        self.due_now = false;
        self.compared = None;
        self.signing = None;
    }

    /// Whether these CAs trust the certificate, if it was decided.
    pub(crate) fn is_trusted_by(&self, cas: &ClientCas) -> Option<bool> {
        let compared = self.compared.as_ref();
        let compared = compared.filter(|compared| compared.cas.as_slice() == cas.digest());
        Some(compared?.is_trusted)
    }

    /// Remembers whether these CAs trust the certificate, so that no signature is verified
    /// again.
    pub(crate) fn compare(&mut self, cas: &ClientCas, is_trusted: bool) {
        let cas = digest_of(cas);
        self.compared = Some(Comparison { cas, is_trusted });
    }

    /// Remembers that another certificate was signed for these CAs in vain.
    pub(crate) fn give_up(&mut self, cas: &ClientCas) {
        if !self.is_given_up(cas) {
            self.in_vain.push(digest_of(cas));
            let surplus = self.in_vain.len().saturating_sub(MOST_IN_VAIN);
            self.in_vain.drain(..surplus);
        }
    }

    /// Whether another certificate was signed for these CAs in vain.
    pub(crate) fn is_given_up(&self, cas: &ClientCas) -> bool {
        self.in_vain.iter().any(|it| it.as_slice() == cas.digest())
    }

    /// Has the certificate renewed now, if there is one.
    pub(crate) fn renew_now(&mut self) {
        self.due_now = self.issued.is_some();
        self.refused_renewal = None;
    }
}

impl SigningAttempt {
    /// An attempt for a request, which is not denied yet.
    pub(crate) fn new(request: RequestId, attempt: u8, name: String, until: Timestamp) -> Self {
        Self {
            request: Bytes::from(request.as_bytes().as_slice()),
            attempt,
            name,
            until: until.unix(),
            denied: None,
        }
    }

    /// Whether the attempt is for this request.
    pub(crate) fn is_for(&self, request: RequestId) -> bool {
        self.request.as_slice() == request.as_bytes()
    }
}

fn digest_of(cas: &ClientCas) -> Bytes {
    Bytes::from(cas.digest().as_slice())
}

/// An API server has one set of client CAs, and a cluster has a few API servers.
const MOST_IN_VAIN: usize = 8;

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::crypto::{Authority, Entropy};

    fn cas(number: u8) -> ClientCas {
        let entropy = Entropy::from_bytes([number; 32]);
        let ca = Authority::new("ca", Timestamp::EPOCH, Duration::from_secs(60), &entropy);
        ClientCas::of(ca.unwrap().ca_bundle())
    }

    #[test]
    fn a_verdict_is_for_one_set_and_one_certificate() {
        let mut held = HeldCredentials::default();
        assert_eq!(held.is_trusted_by(&cas(1)), None);
        for is_trusted in [true, false] {
            held.compare(&cas(1), is_trusted);
            assert_eq!(held.is_trusted_by(&cas(1)), Some(is_trusted));
            assert_eq!(held.is_trusted_by(&cas(2)), None);
        }
        let issued = json!({ "chain": "", "leaf": "", "csr": "", "at": 0, "until": 1 });
        held.take(serde_json::from_value(issued).unwrap());
        assert_eq!(held.is_trusted_by(&cas(1)), None);
    }

    #[test]
    fn the_last_sets_for_which_a_signature_was_in_vain_are_remembered() {
        let mut held = HeldCredentials::default();
        for number in 1..=9 {
            assert!(!held.is_given_up(&cas(number)));
            held.give_up(&cas(number));
            held.give_up(&cas(number));
        }
        let forgotten = (1..=9).filter(|number| !held.is_given_up(&cas(*number)));
        assert_eq!(forgotten.collect::<Vec<u8>>(), [1]);
        // They are on record, also when the record comes from an earlier version.
        let text = serde_json::to_string(&held).unwrap();
        assert_eq!(
            serde_json::from_str::<HeldCredentials>(&text).unwrap(),
            held
        );
        assert_eq!(
            serde_json::from_str::<HeldCredentials>("{}").unwrap(),
            HeldCredentials::default()
        );
    }
}
