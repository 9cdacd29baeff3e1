//! The parameters with which a consumer connects to its provider.

use crate::model::{Bytes, SecretText, reading::absent::api_types};

api_types! {
    /// The certificate and the address that a provider gives to a consumer.
    ///
    /// Source: Liqo `authv1beta1.AuthParams`.
    pub struct AuthParams {
        /// The CA certificates of the API server in PEM; empty if the server's
        /// certificate is publicly trusted.
        pub ca: Bytes,
        /// The consumer's certificate chain in PEM.
        #[serde(rename = "signedCRT")]
        pub signed_crt: Bytes,
        /// The URL of the provider's API server.
        pub api_server: String,
        /// The URL of the proxy to the API server.
        #[serde(rename = "proxyURL")]
        pub proxy_url: Option<String>,
        /// The AWS credentials, used instead of a certificate on EKS.
        pub aws_config: Option<AwsConfig>,
    }
}

/// The fields of an [`AuthParams`] whose values are never shown.
pub(crate) const SECRET_FIELDS: [&str; 1] = ["awsSecretAccessKey"];

api_types! {
    /// An AWS user and its access key, for a provider on EKS.
    ///
    /// Source: Liqo `authv1beta1.AwsConfig`.
    pub struct AwsConfig {
        /// The ARN of the user.
        always pub aws_user_arn: String,
        /// The public part of the access key.
        #[serde(rename = "awsAccessKeyID")]
        always pub aws_access_key_id: String,
        /// The secret part of the access key.
        always pub aws_secret_access_key: SecretText,
        /// The region of the cluster.
        always pub aws_region: String,
        /// The name of the cluster.
        always pub aws_cluster_name: String,
    }
}
