//! A credential, and the request for one.

use super::{AwsIdentityRequest, HolderContext, SigningRequest, aws, certificate};
use crate::{
    crypto::{CertificateChain, RequestId, without_padding},
    error::Error,
    model::{AuthParams, AwsConfig, Bytes},
    provider::records::Plan,
    verify::{self, Credentials},
};

/// The credential with which a holder authenticates: a certificate, or the access
/// key of an AWS user with its secret part.
#[derive(Clone)]
#[non_exhaustive]
pub struct Credential {
    /// The public parts of the credential.
    pub shown: Credentials,
    /// The credential as an Identity carries it, without an address.
    carried: AuthParams,
}

/// A request for a credential, as a backend gets it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum CredentialRequest {
    /// A request for a certificate.
    Certificate(SigningRequest),
    /// A request for an AWS user.
    Aws(AwsIdentityRequest),
}

impl Credential {
    /// The recorded credential for exactly this holder's request, if it can still be
    /// used.
    pub(super) fn in_force(context: &HolderContext<'_>) -> Option<Self> {
        if context.look.configuration.aws.is_some() {
            aws::in_force(context)
        } else {
            certificate::in_force(context)
        }
    }

    pub(crate) fn certificate(chain: CertificateChain) -> Self {
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
    pub(crate) fn aws(config: &AwsConfig) -> Option<Self> {
        Some(Self {
            shown: Credentials::Aws(verify::aws_user(config).ok()?),
            carried: AuthParams {
                aws_config: Some(config.clone()),
                ..AuthParams::default()
            },
        })
    }

    /// The address with the credential.
    pub(crate) fn added_to(&self, address: AuthParams) -> AuthParams {
        AuthParams {
            ca: address.ca,
            api_server: address.api_server,
            proxy_url: address.proxy_url,
            ..self.carried.clone()
        }
    }

    /// The address with the credential, in place of `present`. If only the padding of
    /// the CA differs, the present CA stays: Liqo pads the CA, and the padding alone
    /// does not cause a write.
    pub(crate) fn in_place_of(
        &self,
        present: Option<&AuthParams>,
        address: AuthParams,
    ) -> AuthParams {
        let mut wanted = self.added_to(address);
        if let Some(present) = present
            && without_padding(present.ca.as_slice()) == without_padding(wanted.ca.as_slice())
        {
            wanted.ca.clone_from(&present.ca);
        }
        wanted
    }
}

impl CredentialRequest {
    /// The request for the holder's next credential.
    pub(super) fn of(context: &HolderContext<'_>) -> Self {
        if context.look.configuration.aws.is_some() {
            Self::Aws(aws::request(context))
        } else {
            Self::Certificate(certificate::request(context))
        }
    }

    /// Requests the credential from the backend, and stores it.
    ///
    /// # Errors
    /// The backend's error, or an error in its answer.
    pub(crate) fn ask(
        &self,
        context: &HolderContext<'_>,
        plan: &mut Plan<'_>,
    ) -> Result<(), Error> {
        match self {
            Self::Certificate(request) => certificate::ask(context, request, None, plan).map(drop),
            Self::Aws(request) => aws::ask(context, request, plan),
        }
    }

    /// The ID of the request. It does not change while the request does not change.
    pub fn id(&self) -> RequestId {
        match self {
            Self::Certificate(request) => request.id,
            Self::Aws(request) => request.id,
        }
    }
}
