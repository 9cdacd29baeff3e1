//! A credential, and the request for one.

use super::{AwsIdentityRequest, SigningRequest};
use crate::{
    crypto::{CertificateChain, RequestId},
    model::{AuthParams, AwsConfig, Bytes, Timestamp},
    verify::{self, Credentials},
};

/// What a holder authenticates by: a certificate, or the access key of an AWS
/// user with its secret part.
#[derive(Clone)]
pub(in crate::provider) struct Credential {
    shown: Credentials,
    aws_config: Option<AwsConfig>,
}

/// A request for a credential, as a backend gets it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum CredentialRequest {
    /// A certificate is to be signed.
    Certificate(SigningRequest),
    /// An AWS user is to be made.
    Aws(AwsIdentityRequest),
}

impl Credential {
    pub(in crate::provider) fn certificate(chain: CertificateChain) -> Self {
        Self {
            shown: Credentials::Certificate(chain),
            aws_config: None,
        }
    }

    /// An AWS user, if its names have the form that AWS gives them.
    pub(in crate::provider) fn aws(config: &AwsConfig) -> Option<Self> {
        Some(Self {
            shown: Credentials::Aws(verify::aws_user(config).ok()?),
            aws_config: Some(config.clone()),
        })
    }

    /// What may be shown of it.
    pub(in crate::provider) fn shown(&self) -> &Credentials {
        &self.shown
    }

    pub(in crate::provider) fn chain(&self) -> Option<&CertificateChain> {
        match &self.shown {
            Credentials::Certificate(chain) => Some(chain),
            Credentials::Aws(_) => None,
        }
    }

    /// When it ends by itself, if it does.
    pub(in crate::provider) fn valid_until(&self) -> Option<Timestamp> {
        self.chain().map(|chain| chain.leaf().not_after)
    }

    /// The address with the credential.
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

impl CredentialRequest {
    /// Names the request: the same as long as nothing about it changes.
    pub fn id(&self) -> RequestId {
        match self {
            Self::Certificate(request) => request.id,
            Self::Aws(request) => request.id,
        }
    }
}
