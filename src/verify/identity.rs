//! An Identity, against the consumer that is to use it (rule 9).

use core::fmt;

use sha2::{Digest, Sha256};

use super::{check_name, check_names};
use crate::{
    crypto::{
        CaBundle, CertificateChain, ClientCertificateExpectation, Issuance, PublicKey, Subject,
        without_padding,
    },
    error::{Error, Fault, PeerIncompatible, PeerMisbehaved, PolicyRefusal, shortened},
    model::{
        ApiServerUrl, AuthParams, ClusterId, Identity, IdentityType, NamespaceName, ObjectRef,
        ProxyUrl, Resource, Timestamp, names,
    },
    policy::{Forms, Policy},
};

/// What an Identity has to be for.
#[derive(Debug, Clone, Copy)]
pub struct IdentityExpectation<'a> {
    /// The consumer: this cluster.
    pub consumer: &'a ClusterId,
    /// The provider that it has to be of.
    pub provider: &'a ClusterId,
    /// This cluster's key, which the certificate has to carry.
    pub key: &'a PublicKey,
    /// The present time.
    pub now: Timestamp,
    /// The proxy that was asked for, if one was.
    pub proxy_url: Option<&'a ProxyUrl>,
    /// The provider's tenant namespace, where it is not `liqo-tenant-<consumer>`.
    pub namespace: Option<&'a NamespaceName>,
    /// Whether the provider's certificate is publicly trusted, so that there
    /// may be no CA bundle.
    pub publicly_trusted: bool,
    /// API server and CA of the first time, if this is not it.
    pub pins: Option<&'a EndpointPins>,
}

/// An Identity that a consumer may use: there is no other way to make one.
#[derive(Debug, Clone)]
pub struct VerifiedIdentity {
    certificate: CertificateChain,
    api_server: ApiServerUrl,
    proxy_url: Option<ProxyUrl>,
    namespace: NamespaceName,
    issued_by_bundle: bool,
    pins: EndpointPins,
}

/// API server and CA of a provider, to be compared with later ones.
#[derive(Clone, PartialEq, Eq)]
pub struct EndpointPins {
    pub(crate) api_server: String,
    /// SHA-256 of the bundle as it came, without what pads it.
    pub(crate) ca: [u8; 32],
}

/// Verifies an Identity of a control plane: its names, its certificate, the
/// URLs, the CA bundle and the namespace in it.
///
/// The provider's commitment is not looked at: [`consumer`](crate::consumer)
/// does, which knows the nonce.
///
/// # Errors
/// [`PeerMisbehaved`], [`PeerIncompatible`] or [`PolicyRefusal`], at the field
/// that is wrong.
pub fn identity(
    identity: &Identity,
    expectation: &IdentityExpectation<'_>,
    policy: &Policy,
) -> Result<VerifiedIdentity, Error> {
    let id = identity.id();
    let provider = expectation.provider;
    check_names(
        &identity.metadata,
        &id,
        &names::identity_name(provider),
        provider,
    )?;
    check_name(
        &identity.spec.cluster_id,
        provider.as_str(),
        &id,
        "spec.clusterID",
    )?;
    let at = Identified { id };
    if identity.spec.identity_type != IdentityType::ControlPlane {
        let found = identity.spec.identity_type.to_string();
        return Err(at.field("spec.type", PeerIncompatible::IdentityType { found }));
    }
    let auth_params = &identity.spec.auth_params;
    if auth_params.signed_crt.is_empty() {
        return Err(at.field("spec.authParams.signedCRT", PeerIncompatible::NoCertificate));
    }
    if auth_params.aws_config.is_some() {
        return Err(at.field(
            "spec.authParams.awsConfig",
            PeerMisbehaved::MixedCredentials,
        ));
    }
    let api_server: ApiServerUrl = auth_params
        .api_server
        .parse()
        .map_err(|error| at.field("spec.authParams.apiServer", PeerMisbehaved::Url(error)))?;
    let proxy_url = check_proxy(auth_params, expectation, &at)?;
    let bundle = check_bundle(auth_params, expectation, policy, &at)?;
    let namespace = check_namespace(identity, expectation, policy, &at)?;
    let certificate = check_certificate(auth_params, expectation, policy, &at)?;
    let pins = provider_pins(auth_params);
    if let Some(first) = expectation.pins {
        first.check(&pins, &at)?;
    }
    let issued_by_bundle = bundle
        .as_ref()
        .is_none_or(|bundle| certificate.issued_by(bundle) != Issuance::No);
    Ok(VerifiedIdentity {
        certificate,
        api_server,
        proxy_url,
        namespace,
        issued_by_bundle,
        pins,
    })
}

/// The provider that an Identity says it is of: whose
/// [`View`](crate::view::View) to look at. Nothing is verified but the form of
/// the name.
///
/// # Errors
/// [`PeerMisbehaved::ClusterId`] if it is no cluster ID.
pub fn claimed_provider(identity: &Identity) -> Result<ClusterId, Error> {
    identity.spec.cluster_id.parse().map_err(|error| {
        Error::new(
            PeerMisbehaved::ClusterId(error),
            Some(identity.id()),
            "spec.clusterID",
        )
    })
}

impl VerifiedIdentity {
    /// The client certificate, with its intermediates.
    pub fn certificate(&self) -> &CertificateChain {
        &self.certificate
    }

    /// The provider's API server.
    pub fn api_server(&self) -> &ApiServerUrl {
        &self.api_server
    }

    /// The proxy to reach it by.
    pub fn proxy_url(&self) -> Option<&ProxyUrl> {
        self.proxy_url.as_ref()
    }

    /// The tenant namespace on the provider.
    pub fn namespace(&self) -> &NamespaceName {
        &self.namespace
    }

    /// Whether a CA of the bundle issued the certificate. A serving CA that did
    /// not is legal.
    pub fn issued_by_bundle(&self) -> bool {
        self.issued_by_bundle
    }

    /// What later Identities of this provider have to have in common with it.
    pub fn pins(&self) -> &EndpointPins {
        &self.pins
    }
}

fn provider_pins(auth_params: &AuthParams) -> EndpointPins {
    EndpointPins {
        api_server: auth_params.api_server.clone(),
        ca: Sha256::digest(without_padding(auth_params.ca.as_slice())).into(),
    }
}

impl EndpointPins {
    fn check(&self, present: &Self, at: &Identified) -> Result<(), Error> {
        if self.api_server != present.api_server {
            return Err(at.field("spec.authParams.apiServer", PeerMisbehaved::EndpointChanged));
        }
        if self.ca != present.ca {
            return Err(at.field("spec.authParams.ca", PeerMisbehaved::EndpointChanged));
        }
        Ok(())
    }
}

impl fmt::Debug for EndpointPins {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("EndpointPins")
            .field("api_server", &self.api_server)
            .finish_non_exhaustive()
    }
}

/// The Identity that is verified, for its errors.
struct Identified {
    id: ObjectRef,
}

impl Identified {
    fn field(&self, field: &'static str, fault: impl Into<Fault>) -> Error {
        Error::new(fault, Some(self.id.clone()), field)
    }
}

fn check_proxy(
    auth_params: &AuthParams,
    expectation: &IdentityExpectation<'_>,
    at: &Identified,
) -> Result<Option<ProxyUrl>, Error> {
    let proxy_url: Option<ProxyUrl> =
        match auth_params.proxy_url.as_deref() {
            None | Some("") => None,
            Some(url) => Some(url.parse().map_err(|error| {
                at.field("spec.authParams.proxyURL", PeerMisbehaved::Url(error))
            })?),
        };
    if proxy_url.as_ref() == expectation.proxy_url {
        Ok(proxy_url)
    } else {
        Err(at.field("spec.authParams.proxyURL", PeerMisbehaved::ProxyMismatch))
    }
}

fn check_bundle(
    auth_params: &AuthParams,
    expectation: &IdentityExpectation<'_>,
    policy: &Policy,
    at: &Identified,
) -> Result<Option<CaBundle>, Error> {
    if auth_params.ca.is_empty() {
        return if expectation.publicly_trusted {
            Ok(None)
        } else {
            Err(at.field("spec.authParams.ca", PolicyRefusal::NoCaBundle))
        };
    }
    CaBundle::from_pem(auth_params.ca.as_slice(), policy)
        .map(Some)
        .map_err(|error| at.field("spec.authParams.ca", PeerMisbehaved::CaBundle(error)))
}

/// Strict: the namespace expected. Compatible: any name of a namespace, for
/// providers whose tenant namespaces are named by hand.
fn check_namespace(
    identity: &Identity,
    expectation: &IdentityExpectation<'_>,
    policy: &Policy,
    at: &Identified,
) -> Result<NamespaceName, Error> {
    let found = identity.spec.namespace.as_deref().unwrap_or_default();
    let expected = match expectation.namespace {
        Some(namespace) => namespace.to_string(),
        None => names::tenant_namespace(expectation.consumer),
    };
    if found != expected && policy.forms() == Forms::Canonical {
        let found = shortened(found);
        return Err(at.field(
            "spec.namespace",
            PolicyRefusal::UnexpectedNamespace { expected, found },
        ));
    }
    found
        .parse()
        .map_err(|error| at.field("spec.namespace", PeerIncompatible::NamespaceName(error)))
}

fn check_certificate(
    auth_params: &AuthParams,
    expectation: &IdentityExpectation<'_>,
    policy: &Policy,
    at: &Identified,
) -> Result<CertificateChain, Error> {
    let wrong = |error| {
        at.field(
            "spec.authParams.signedCRT",
            PeerMisbehaved::Certificate(error),
        )
    };
    let chain =
        CertificateChain::from_pem(auth_params.signed_crt.as_slice(), policy).map_err(wrong)?;
    let client = ClientCertificateExpectation {
        subject: &Subject::control_plane(expectation.consumer),
        key: expectation.key,
        now: expectation.now,
    };
    chain.check_client(&client, policy).map_err(wrong)?;
    Ok(chain)
}
