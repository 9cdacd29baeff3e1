//! What a peer was given to authenticate by: a certificate, or the access key
//! of an AWS user.

use crate::{
    crypto::CertificateChain,
    model::{AuthParams, AwsConfig, Bytes, Timestamp},
    verify::{self, Credentials},
};

/// One of them, never both; of an AWS user with the secret part of its key.
#[derive(Clone)]
pub(in crate::provider) struct Credential {
    credentials: Credentials,
    aws_config: Option<AwsConfig>,
}

impl Credential {
    pub(in crate::provider) fn certificate(chain: CertificateChain) -> Self {
        Self {
            credentials: Credentials::Certificate(chain),
            aws_config: None,
        }
    }

    /// An AWS user, if its names have the form that AWS gives them.
    pub(in crate::provider) fn aws(config: &AwsConfig) -> Option<Self> {
        Some(Self {
            credentials: Credentials::Aws(verify::aws_user(config).ok()?),
            aws_config: Some(config.clone()),
        })
    }

    pub(in crate::provider) fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    pub(in crate::provider) fn chain(&self) -> Option<&CertificateChain> {
        match &self.credentials {
            Credentials::Certificate(chain) => Some(chain),
            Credentials::Aws(_) => None,
        }
    }

    pub(in crate::provider) fn valid_until(&self) -> Option<Timestamp> {
        self.chain().map(|chain| chain.leaf().not_after())
    }

    /// The address with the credentials.
    pub(in crate::provider) fn added_to(&self, address: AuthParams) -> AuthParams {
        AuthParams {
            signed_crt: self
                .chain()
                .map(|chain| Bytes::from(chain.pem()))
                .unwrap_or_default(),
            aws_config: self.aws_config.clone(),
            ..address
        }
    }
}
