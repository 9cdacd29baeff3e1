//! Certificate signing requests, as an API server stores them.

use serde::{Deserialize, Serialize};

use crate::model::{
    Bytes, Metadata,
    reading::absent::{is_default, or_null},
};

/// A request to one of Kubernetes' signers, and its answer.
///
/// Source: Kubernetes `certificatesv1.CertificateSigningRequest`.
#[derive(Default, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CertificateSigningRequest {
    /// Name and labels. The object has no namespace.
    #[serde(deserialize_with = "or_null")]
    pub metadata: Metadata,
    /// The request and its signer.
    #[serde(deserialize_with = "or_null")]
    pub spec: CertificateSigningRequestSpec,
    /// Whether the request was approved, and the certificate.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "is_default")]
    pub status: CertificateSigningRequestStatus,
}

/// The request and its signer. Source: Kubernetes
/// `certificatesv1.CertificateSigningRequestSpec`.
#[derive(Default, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CertificateSigningRequestSpec {
    /// The certificate signing request in PEM.
    #[serde(deserialize_with = "or_null")]
    pub request: Bytes,
    /// The signer, such as `kubernetes.io/kube-apiserver-client`.
    #[serde(deserialize_with = "or_null")]
    pub signer_name: String,
    /// The key usages, such as `client auth`.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "is_default")]
    pub usages: Vec<String>,
    /// The requested lifetime of the certificate, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expiration_seconds: Option<i32>,
}

/// The answer to a request. Source: Kubernetes
/// `certificatesv1.CertificateSigningRequestStatus`.
#[derive(Default, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CertificateSigningRequestStatus {
    /// The certificate chain in PEM; empty until it is issued.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "is_default")]
    pub certificate: Bytes,
    /// Whether the request was approved, denied or failed.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "is_default")]
    pub conditions: Vec<CertificateSigningRequestCondition>,
}

/// A condition of a request. Source: Kubernetes
/// `certificatesv1.CertificateSigningRequestCondition`.
#[derive(Default, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CertificateSigningRequestCondition {
    /// `Approved`, `Denied` or `Failed`.
    #[serde(rename = "type", deserialize_with = "or_null")]
    pub condition_type: String,
    /// `True`, `False` or `Unknown`.
    #[serde(deserialize_with = "or_null")]
    pub status: String,
    /// The reason, in one word.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "is_default")]
    pub reason: String,
    /// The reason, in a sentence.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "is_default")]
    pub message: String,
}
