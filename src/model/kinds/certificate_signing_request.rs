//! Certificate signing requests, as an API server stores them.

use crate::model::{Bytes, Metadata, reading::absent::api_types};

api_types! {
    /// A request to one of Kubernetes' signers, and its answer.
    ///
    /// Source: Kubernetes `certificatesv1.CertificateSigningRequest`.
    pub struct CertificateSigningRequest {
        /// Name and labels. The object has no namespace.
        always pub metadata: Metadata,
        /// The request and its signer.
        always pub spec: CertificateSigningRequestSpec,
        /// Whether the request was approved, and the certificate.
        pub status: CertificateSigningRequestStatus,
    }

    /// The request and its signer. Source: Kubernetes
    /// `certificatesv1.CertificateSigningRequestSpec`.
    pub struct CertificateSigningRequestSpec {
        /// The certificate signing request in PEM.
        always pub request: Bytes,
        /// The signer, such as `kubernetes.io/kube-apiserver-client`.
        always pub signer_name: String,
        /// The key usages, such as `client auth`.
        pub usages: Vec<String>,
        /// The requested lifetime of the certificate, in seconds.
        pub expiration_seconds: Option<i32>,
    }

    /// The answer to a request. Source: Kubernetes
    /// `certificatesv1.CertificateSigningRequestStatus`.
    pub struct CertificateSigningRequestStatus {
        /// The certificate chain in PEM; empty until it is issued.
        pub certificate: Bytes,
        /// Whether the request was approved, denied or failed.
        pub conditions: Vec<CertificateSigningRequestCondition>,
    }

    /// A condition of a request. Source: Kubernetes
    /// `certificatesv1.CertificateSigningRequestCondition`.
    pub struct CertificateSigningRequestCondition {
        /// `Approved`, `Denied` or `Failed`.
        #[serde(rename = "type")]
        always pub condition_type: String,
        /// `True`, `False` or `Unknown`.
        always pub status: String,
        /// The reason, in one word.
        pub reason: String,
        /// The reason, in a sentence.
        pub message: String,
    }
}

impl CertificateSigningRequest {
    /// The first condition of one of these types.
    pub(crate) fn condition(&self, types: &[&str]) -> Option<&CertificateSigningRequestCondition> {
        let mut conditions = self.status.conditions.iter();
        conditions.find(|it| types.contains(&it.condition_type.as_str()))
    }
}
