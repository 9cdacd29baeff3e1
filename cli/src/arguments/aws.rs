//! The options about AWS users and their keys.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use liqo_auth::model::ClusterId;

use super::output_format::Output;

#[derive(Debug, Args)]
pub(crate) struct SetAwsUser {
    /// The cluster ID of the consumer
    #[arg(long, value_name = "ID")]
    pub(crate) remote_cluster_id: ClusterId,
    /// The user is for this resource slice, instead of the control plane
    #[arg(long, value_name = "NAME")]
    pub(crate) resourceslice: Option<String>,
    /// The ARN of the IAM user
    #[arg(long, value_name = "ARN")]
    pub(crate) user_arn: String,
    /// The ID of the user's access key
    #[arg(long, value_name = "KEY")]
    pub(crate) access_key_id: String,
    /// The file with the secret access key, since other users can see a command line; "-" for
    /// standard input
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub(crate) secret_access_key_file: PathBuf,
    /// The region of the EKS cluster
    #[arg(long, value_name = "REGION")]
    pub(crate) region: String,
    /// The name of the EKS cluster
    #[arg(long, value_name = "NAME")]
    pub(crate) eks_cluster: String,
}

#[derive(Debug, Args)]
pub(crate) struct GetAwsKeys {
    /// Only the keys of this consumer
    #[arg(long, value_name = "ID")]
    pub(crate) remote_cluster_id: Option<ClusterId>,
    /// Print the keys in a format for programs, or only their IDs
    #[arg(short, long, value_name = "FORMAT", value_parser = Output::<AwsKeyFormat>::parser())]
    pub(crate) output: Option<Output<AwsKeyFormat>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AwsKeyFormat {
    Json,
    Yaml,
    /// One key a line
    Name,
}

#[derive(Debug, Args)]
pub(crate) struct DeleteAwsKey {
    /// The ID of the access key
    #[arg(value_name = "KEY")]
    pub(crate) access_key_id: String,
    /// The cluster ID of the consumer that has or had the key
    #[arg(long, value_name = "ID")]
    pub(crate) remote_cluster_id: ClusterId,
}

pub(super) const EXAMPLES: &str = "\
Examples:
  liqo-auth init --home ./cl-provider --signer aws --api-server \"$URL\" --api-server-ca eks.crt
  liqo-auth set aws-user --home ./cl-provider --remote-cluster-id cl-consumer \\
      --user-arn arn:aws:iam::123456789012:user/cl-consumer --access-key-id \"$KEY\" \\
      --secret-access-key-file secret.txt --region eu-west-1 --eks-cluster cl-provider
  liqo-auth get aws-keys --home ./cl-provider
  aws iam delete-access-key --user-name cl-consumer --access-key-id \"$KEY\"
  liqo-auth delete aws-key \"$KEY\" --home ./cl-provider --remote-cluster-id cl-consumer";
