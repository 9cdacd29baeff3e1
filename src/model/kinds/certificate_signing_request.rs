//! Certificate signing requests, as an API server keeps them.

use serde::{Deserialize, Serialize};

use crate::model::{Bytes, Metadata, reading::absent::or_null};

/// A request to one of Kubernetes' signers, and its answer.
///
/// Source: Kubernetes `certificatesv1.CertificateSigningRequest`.
#[derive(Default, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CertificateSigningRequest {
    /// Name and labels. The object has no namespace.
    #[serde(deserialize_with = "or_null")]
    pub metadata: Metadata,
    /// What is to be signed, and by whom.
    #[serde(deserialize_with = "or_null")]
    pub spec: CertificateSigningRequestSpec,
    /// Whether it was approved, and the certificate.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "is_unanswered")]
    pub status: CertificateSigningRequestStatus,
}

/// What is to be signed. Source: Kubernetes
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
    #[serde(deserialize_with = "or_null", skip_serializing_if = "Vec::is_empty")]
    pub usages: Vec<String>,
    /// How long the certificate should live, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expiration_seconds: Option<i32>,
}

/// What the signer answered. Source: Kubernetes
/// `certificatesv1.CertificateSigningRequestStatus`.
#[derive(Default, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CertificateSigningRequestStatus {
    /// The certificate chain in PEM; empty until it is issued.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "Bytes::is_empty")]
    pub certificate: Bytes,
    /// Whether the request was approved, denied or failed.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<CertificateSigningRequestCondition>,
}

/// One thing that is so of a request. Source: Kubernetes
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
    /// Why, in one word.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Why, in a sentence.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "String::is_empty")]
    pub message: String,
}

fn is_unanswered(status: &CertificateSigningRequestStatus) -> bool {
    status.certificate.is_empty() && status.conditions.is_empty()
}
