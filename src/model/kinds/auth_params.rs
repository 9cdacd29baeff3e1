//! The parameters with which a consumer connects to its provider.

use serde::{Deserialize, Serialize};

use crate::model::{
    Bytes, SecretText,
    reading::absent::{is_default, or_null},
};

/// The certificate and the address that a provider gives to a consumer.
///
/// Source: Liqo `authv1beta1.AuthParams`.
#[derive(Default, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AuthParams {
    /// The CA certificates of the API server in PEM; empty if the server's
    /// certificate is publicly trusted.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "is_default")]
    pub ca: Bytes,
    /// The consumer's certificate chain in PEM.
    #[serde(
        rename = "signedCRT",
        deserialize_with = "or_null",
        skip_serializing_if = "is_default"
    )]
    pub signed_crt: Bytes,
    /// The URL of the provider's API server.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "is_default")]
    pub api_server: String,
    /// The URL of the proxy to the API server.
    #[serde(rename = "proxyURL", skip_serializing_if = "Option::is_none")]
    pub proxy_url: Option<String>,
    /// The AWS credentials, used instead of a certificate on EKS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aws_config: Option<AwsConfig>,
}

/// The fields of an [`AuthParams`] whose values are never shown.
pub(crate) const SECRET_FIELDS: [&str; 1] = ["awsSecretAccessKey"];

/// An AWS user and its access key, for a provider on EKS.
///
/// Source: Liqo `authv1beta1.AwsConfig`.
#[derive(Default, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AwsConfig {
    /// The ARN of the user.
    #[serde(deserialize_with = "or_null")]
    pub aws_user_arn: String,
    /// The public part of the access key.
    #[serde(rename = "awsAccessKeyID", deserialize_with = "or_null")]
    pub aws_access_key_id: String,
    /// The secret part of the access key.
    pub aws_secret_access_key: SecretText,
    /// The region of the cluster.
    #[serde(deserialize_with = "or_null")]
    pub aws_region: String,
    /// The name of the cluster.
    #[serde(deserialize_with = "or_null")]
    pub aws_cluster_name: String,
}
