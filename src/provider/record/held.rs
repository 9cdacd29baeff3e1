//! The credentials in a holder's record. The form is the same for a control plane
//! and for a slice.

use serde::{Deserialize, Serialize};

use super::{IssuedCertificate, RefusedRenewal};
use crate::{
    crypto::RequestId,
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
    /// The CertificateSigningRequest that is pending or denied.
    pub(crate) signing: Option<SigningAttempt>,
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
        self.signing = None;
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
