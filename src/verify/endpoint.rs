//! Verifying where credentials lead: the API server, the proxy in front of it, and the CA
//! bundle.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::aws;
use crate::{
    crypto::{CaBundle, without_padding},
    error::{Fault, PeerIncompatible, PeerMisbehaved, PolicyRefusal},
    model::{ApiServerUrl, AuthParams, Bytes, ProxyUrl},
    policy::Policy,
};

/// The expected endpoint.
#[derive(Clone, Copy)]
pub(crate) struct EndpointExpectation<'a> {
    /// The proxy that this cluster asked for.
    pub(crate) proxy_url: Option<&'a ProxyUrl>,
    /// Whether the CA bundle may be missing.
    pub(crate) publicly_trusted: bool,
}

/// The endpoint of verified credentials.
pub(crate) struct Endpoint {
    pub(crate) api_server: ApiServerUrl,
    pub(crate) proxy_url: Option<ProxyUrl>,
    pub(crate) bundle: Option<CaBundle>,
    pub(crate) pins: EndpointPins,
}

/// API server and CA of a provider. Every later Identity must contain the same.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, derive_more::Debug)]
#[debug("EndpointPins {{ api_server: {api_server:?}, .. }}")]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EndpointPins {
    pub(crate) api_server: String,
    /// SHA-256 of the bundle without its padding.
    pub(crate) ca: Bytes,
}

/// What is wrong, and the field of an Identity with it.
pub(crate) type Wrong = (Fault, &'static str);

/// Verifies the endpoint of these parameters.
pub(crate) fn endpoint(
    auth_params: &AuthParams,
    expectation: EndpointExpectation<'_>,
    policy: &Policy,
) -> Result<Endpoint, Wrong> {
    Check {
        auth_params,
        expectation,
        policy,
    }
    .endpoint()
}

/// An endpoint that is being verified.
struct Check<'a> {
    auth_params: &'a AuthParams,
    expectation: EndpointExpectation<'a>,
    policy: &'a Policy,
}

impl Check<'_> {
    fn endpoint(&self) -> Result<Endpoint, Wrong> {
        let api_server = self.auth_params.api_server.parse();
        let api_server =
            api_server.map_err(|error| wrong(API_SERVER, PeerMisbehaved::Url(error)))?;
        let proxy_url = self.proxy()?;
        self.address(&api_server, proxy_url.as_ref())?;
        let bundle = self.bundle()?;
        Ok(Endpoint {
            api_server,
            proxy_url,
            bundle,
            pins: pins_of(self.auth_params),
        })
    }

    fn proxy(&self) -> Result<Option<ProxyUrl>, Wrong> {
        let text = self.auth_params.proxy_url.as_deref();
        let url = text.filter(|url| !url.is_empty()).map(str::parse);
        let url = url
            .transpose()
            .map_err(|error| wrong(PROXY_URL, PeerMisbehaved::Url(error)))?;
        if url.as_ref() == self.expectation.proxy_url {
            Ok(url)
        } else {
            Err(wrong(PROXY_URL, PeerIncompatible::ProxyMismatch))
        }
    }

    /// Behind a proxy, only the address of the proxy counts: the proxy looks up the API server
    /// in its own network.
    fn address(
        &self,
        api_server: &ApiServerUrl,
        proxy_url: Option<&ProxyUrl>,
    ) -> Result<(), Wrong> {
        let (address, field) = match proxy_url {
            Some(proxy) => (proxy.address(), PROXY_URL),
            None => (api_server.address(), API_SERVER),
        };
        match address {
            Some(address) if !self.policy.addresses.allow(address) => {
                Err(wrong(field, PolicyRefusal::AddressRefused { address }))
            }
            _ => Ok(()),
        }
    }

    fn bundle(&self) -> Result<Option<CaBundle>, Wrong> {
        let ca = self.auth_params.ca.as_slice();
        if ca.is_empty() {
            return match self.expectation.publicly_trusted {
                true => Ok(None),
                false => Err(wrong(CA, PolicyRefusal::NoCaBundle)),
            };
        }
        let aws_config = self.auth_params.aws_config.as_ref();
        let decoded = aws_config.and_then(|_| aws::certificate_authority(ca));
        let bundle = CaBundle::from_pem(decoded.as_deref().unwrap_or(ca), self.policy);
        let wrong = |error| wrong(CA, PeerMisbehaved::CaBundle(error));
        bundle.map(Some).map_err(wrong)
    }
}

impl EndpointPins {
    /// Checks that later credentials lead to the same API server, with the same CA.
    pub(crate) fn check(&self, later: &Self) -> Result<(), Wrong> {
        let field = if self.api_server != later.api_server {
            API_SERVER
        } else if self.ca != later.ca {
            CA
        } else {
            return Ok(());
        };
        Err(wrong(field, PeerIncompatible::EndpointChanged))
    }
}

fn wrong(field: &'static str, fault: impl Into<Fault>) -> Wrong {
    (fault.into(), field)
}

fn pins_of(auth_params: &AuthParams) -> EndpointPins {
    EndpointPins {
        api_server: auth_params.api_server.clone(),
        ca: Bytes::from(Sha256::digest(without_padding(auth_params.ca.as_slice())).as_slice()),
    }
}

const API_SERVER: &str = "spec.authParams.apiServer";
const PROXY_URL: &str = "spec.authParams.proxyURL";
const CA: &str = "spec.authParams.ca";
