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
        pub(in crate::provider) struct HeldCredentials
    ]
    /// The certificate that was issued last.
    pub(in crate::provider) issued: Option<IssuedCertificate>,
    /// A refused renewal, so that the provider does not request it at each step.
    pub(in crate::provider) refused_renewal: Option<RefusedRenewal>,
    /// The CertificateSigningRequest that is pending or denied.
    pub(in crate::provider) signing: Option<SigningAttempt>,
}

/// A request that is pending at Kubernetes' signer, or that was denied there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::provider) struct SigningAttempt {
    /// The [`RequestId`].
    request: Bytes,
    /// How many names for the CertificateSigningRequest were already taken.
    pub(in crate::provider) attempt: u8,
    /// The name of the CertificateSigningRequest.
    pub(in crate::provider) name: String,
    /// The time until which its certificate may be valid, in seconds since the Unix
    /// epoch.
    pub(in crate::provider) until: i64,
    /// The reason why the request was denied or failed. It stays until an
    /// administrator submits the request again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::provider) denied: Option<String>,
}

impl HeldCredentials {
    /// Stores the certificate that is now in force.
    pub(in crate::provider) fn take(&mut self, issued: IssuedCertificate) {
        self.issued = Some(issued);
        self.refused_renewal = None;
        self.signing = None;
    }
}

impl SigningAttempt {
    /// An attempt for a request, which is not denied yet.
    pub(in crate::provider) fn new(
        request: RequestId,
        attempt: u8,
        name: String,
        until: Timestamp,
    ) -> Self {
        Self {
            request: Bytes::from(request.as_bytes().as_slice()),
            attempt,
            name,
            until: until.unix(),
            denied: None,
        }
    }

    /// Whether the attempt is for this request.
    pub(in crate::provider) fn is_for(&self, request: RequestId) -> bool {
        self.request.as_slice() == request.as_bytes()
    }
}
