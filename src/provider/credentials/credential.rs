//! A credential, and the request for one.

use super::{AwsIdentityRequest, Holding, SigningRequest, aws, certificate};
use crate::{
    crypto::{CertificateChain, RequestId},
    error::Error,
    model::{AuthParams, AwsConfig, Bytes, Timestamp},
    provider::record::Plan,
    verify::{self, Credentials},
};

/// What a holder authenticates by: a certificate, or the access key of an AWS
/// user with its secret part.
#[derive(Clone)]
pub(in crate::provider) struct Credential {
    shown: Credentials,
    /// The credential as an Identity carries it, without an address.
    carried: AuthParams,
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
    /// The credential on record for exactly this holder's request, if it can
    /// still be used.
    pub(super) fn in_force(holding: &Holding<'_>) -> Option<Self> {
        if holding.look.configuration.aws.is_some() {
            aws::in_force(holding)
        } else {
            certificate::in_force(holding)
        }
    }

    pub(in crate::provider) fn certificate(chain: CertificateChain) -> Self {
        let carried = AuthParams {
            signed_crt: Bytes::from(chain.pem()),
            ..AuthParams::default()
        };
        Self {
            shown: Credentials::Certificate(chain),
            carried,
        }
    }

    /// An AWS user, if its names have the form that AWS gives them.
    pub(in crate::provider) fn aws(config: &AwsConfig) -> Option<Self> {
        Some(Self {
            shown: Credentials::Aws(verify::aws_user(config).ok()?),
            carried: AuthParams {
                aws_config: Some(config.clone()),
                ..AuthParams::default()
            },
        })
    }

    /// What may be shown of it.
    pub(in crate::provider) fn shown(&self) -> &Credentials {
        &self.shown
    }

    pub(in crate::provider) fn chain(&self) -> Option<&CertificateChain> {
        self.shown.certificate()
    }

    /// When it ends by itself, if it does.
    pub(in crate::provider) fn valid_until(&self) -> Option<Timestamp> {
        self.chain().map(|chain| chain.leaf().not_after)
    }

    /// The address with the credential.
    pub(in crate::provider) fn added_to(&self, address: AuthParams) -> AuthParams {
        AuthParams {
            ca: address.ca,
            api_server: address.api_server,
            proxy_url: address.proxy_url,
            ..self.carried.clone()
        }
    }
}

impl CredentialRequest {
    /// The request for the holder's next credential.
    pub(super) fn of(holding: &Holding<'_>) -> Self {
        if holding.look.configuration.aws.is_some() {
            Self::Aws(aws::request(holding))
        } else {
            Self::Certificate(certificate::request(holding))
        }
    }

    /// Asks for the credential, and stores what comes.
    ///
    /// # Errors
    /// What the backend reports, or what is wrong with its answer.
    pub(in crate::provider) fn ask(
        &self,
        holding: &Holding<'_>,
        plan: &mut Plan<'_>,
    ) -> Result<(), Error> {
        match self {
            Self::Certificate(request) => certificate::ask(holding, request, None, plan).map(drop),
            Self::Aws(request) => aws::ask(holding, request, plan),
        }
    }

    /// Names the request: the same as long as nothing about it changes.
    pub fn id(&self) -> RequestId {
        match self {
            Self::Certificate(request) => request.id,
            Self::Aws(request) => request.id,
        }
    }
}
