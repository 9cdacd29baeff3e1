//! An AWS user in an Identity, for providers on EKS.

use core::ops::RangeInclusive;

use base64::{Engine, engine::general_purpose::STANDARD};

use crate::{
    error::{Error, PeerMisbehaved},
    model::{AwsConfig, Identity},
};

/// An AWS user. Every field has AWS's form. The secret part of the access key is
/// only in the Identity.
///
/// Source: Liqo `authv1beta1.AwsConfig`; AWS IAM and EKS API references.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AwsUser {
    /// The ARN, such as `arn:aws:iam::123456789012:user/liqo-x`.
    pub arn: String,
    /// The public part of the access key.
    pub access_key_id: String,
    /// The region of the cluster, such as `eu-west-1`.
    pub region: String,
    /// The name of the cluster in EKS.
    pub cluster: String,
}

/// A field that does not have AWS's form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed {
    /// The field's path in an Identity.
    pub(crate) field: &'static str,
    /// The expected form.
    pub(crate) expected: &'static str,
}

/// The user, if every field has AWS's form.
pub(crate) fn user(config: &AwsConfig) -> Result<AwsUser, Malformed> {
    let check = |holds: bool, field: &'static str, expected: &'static str| {
        holds.then_some(()).ok_or(Malformed { field, expected })
    };
    check(
        is_user_arn(&config.aws_user_arn),
        "spec.authParams.awsConfig.awsUserArn",
        "the ARN of an IAM user",
    )?;
    check(
        is_access_key_id(&config.aws_access_key_id),
        "spec.authParams.awsConfig.awsAccessKeyID",
        "the ID of an access key",
    )?;
    check(
        is_secret(config.aws_secret_access_key.expose()),
        "spec.authParams.awsConfig.awsSecretAccessKey",
        "a secret access key",
    )?;
    check(
        is_region(&config.aws_region),
        "spec.authParams.awsConfig.awsRegion",
        "the name of an AWS region",
    )?;
    check(
        is_cluster_name(&config.aws_cluster_name),
        "spec.authParams.awsConfig.awsClusterName",
        "the name of an EKS cluster",
    )?;
    Ok(AwsUser {
        arn: config.aws_user_arn.clone(),
        access_key_id: config.aws_access_key_id.clone(),
        region: config.aws_region.clone(),
        cluster: config.aws_cluster_name.clone(),
    })
}

/// Checks the AWS user of an Identity.
pub(super) fn check(config: &AwsConfig, identity: &Identity) -> Result<AwsUser, Error> {
    user(config).map_err(|Malformed { field, expected }| {
        Error::found_in(identity, field, PeerMisbehaved::AwsField { expected })
    })
}

/// Decodes a CA that is PEM in base64: EKS encodes its CA, and Liqo passes it on
/// unchanged. `None` if the CA is PEM already, or is not base64.
pub(super) fn certificate_authority(ca: &[u8]) -> Option<Vec<u8>> {
    if ca.starts_with(b"-----BEGIN ") {
        return None;
    }
    STANDARD.decode(ca.trim_ascii()).ok()
}

/// `arn:<partition>:iam::<account>:user/<path and name>`.
fn is_user_arn(arn: &str) -> bool {
    let parts: Vec<&str> = arn.splitn(6, ':').collect();
    let [prefix, partition, service, region, account, user] = parts.as_slice() else {
        return false;
    };
    let in_partition = |byte: u8| byte.is_ascii_lowercase() || byte == b'-';
    let in_name = |byte: u8| byte.is_ascii_alphanumeric() || b"+=,.@-_/".contains(&byte);
    *prefix == "arn"
        && (*partition == "aws" || partition.starts_with("aws-"))
        && is_made_of(partition, 3..=32, in_partition)
        && *service == "iam"
        && region.is_empty()
        && is_made_of(account, 12..=12, |byte| byte.is_ascii_digit())
        // A path has 512 characters at most, and a name 64.
        && user
            .strip_prefix("user/")
            .is_some_and(|name| is_made_of(name, 1..=576, in_name))
}

fn is_access_key_id(id: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
    is_made_of(id, 16..=128, is_allowed)
}

fn is_secret(secret: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
    is_made_of(secret, 16..=128, is_allowed)
}

/// Words with hyphens between them, and a number at the end.
fn is_region(region: &str) -> bool {
    let mut parts = region.split('-').rev();
    let number = parts.next().unwrap_or_default();
    let words: Vec<&str> = parts.collect();
    let is_word = |word: &&str| is_made_of(word, 1..=32, |byte| byte.is_ascii_lowercase());
    region.len() <= 32
        && is_made_of(number, 1..=2, |byte| byte.is_ascii_digit())
        && words.len() >= 2
        && words.iter().all(is_word)
}

fn is_cluster_name(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && is_made_of(name, 1..=100, is_allowed)
}

/// Whether the number of bytes of a text is in this range, and each byte is allowed.
fn is_made_of(text: &str, length: RangeInclusive<usize>, is_allowed: impl Fn(u8) -> bool) -> bool {
    length.contains(&text.len()) && text.bytes().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_the_form_that_aws_gives_them() {
        for (holds, text) in [
            (true, "arn:aws:iam::123456789012:user/liqo-Ab12"),
            (true, "arn:aws-us-gov:iam::123456789012:user/path/to/name"),
            (false, "arn:aws:iam::123456789012:role/liqo"),
            (false, "arn:aws:iam::12345678901:user/liqo"),
            (false, "arn:aws:sts::123456789012:user/liqo"),
            (false, "arn:aws:iam:eu:123456789012:user/liqo"),
            (false, "arn:aws:iam::123456789012:user/"),
            (false, "arn:aws:iam::123456789012:user/a b"),
            (false, "arn:awful:iam::123456789012:user/a"),
            (false, ""),
        ] {
            assert_eq!(is_user_arn(text), holds, "{text}");
        }
        for (holds, text) in [
            (true, "AKIAIOSFODNN7EXAMPLE"),
            (false, "AKIA"),
            (false, "akiaiosfodnn7example"),
        ] {
            assert_eq!(is_access_key_id(text), holds, "{text}");
        }
        for (holds, text) in [
            (true, "eu-west-1"),
            (true, "us-gov-east-1"),
            (false, "eu-west"),
            (false, "west-1"),
            (false, "eu--1"),
            (false, "EU-west-1"),
            (false, "eu-west-1.evil.example"),
        ] {
            assert_eq!(is_region(text), holds, "{text}");
        }
        for (holds, text) in [
            (true, "my_Cluster-1"),
            (false, "-x"),
            (false, "a b"),
            (false, ""),
        ] {
            assert_eq!(is_cluster_name(text), holds, "{text}");
        }
        assert!(is_secret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"));
        assert!(!is_secret("wJalrXUtnFEMI K7MDENG"));
    }

    #[test]
    fn the_ca_may_be_base64_twice() {
        let pem = b"-----BEGIN CERTIFICATE-----\n";
        assert_eq!(certificate_authority(pem), None);
        let text = STANDARD.encode(pem);
        assert_eq!(
            certificate_authority(text.as_bytes()).as_deref(),
            Some(&pem[..])
        );
        assert_eq!(certificate_authority(b"?"), None);
    }
}
