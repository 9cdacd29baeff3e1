//! An Identity, against the consumer that is to use it (rule 9).

use core::fmt;

use sha2::{Digest, Sha256};

use super::{
    aws::{self, AwsUser},
    check_name, check_names,
};
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
    /// Whether AWS keys are taken in place of a certificate.
    pub aws: bool,
}

/// An Identity that a consumer may use: there is no other way to make one.
#[derive(Debug, Clone)]
pub struct VerifiedIdentity {
    credentials: Credentials,
    api_server: ApiServerUrl,
    proxy_url: Option<ProxyUrl>,
    namespace: Option<NamespaceName>,
    issued_by_bundle: bool,
    pins: EndpointPins,
}

/// What an Identity authenticates by: one of them, never both.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Credentials {
    /// A client certificate, with its intermediates.
    Certificate(CertificateChain),
    /// An AWS user, whose keys are in the Identity.
    Aws(AwsUser),
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
    verify(identity, None, expectation, policy)
}

/// Verifies an Identity of a resource slice of that name: as that of a control
/// plane, but for the slice's subject, and with no namespace in it.
///
/// # Errors
/// As [`identity`].
pub fn slice_identity(
    identity: &Identity,
    slice: &str,
    expectation: &IdentityExpectation<'_>,
    policy: &Policy,
) -> Result<VerifiedIdentity, Error> {
    verify(identity, Some(slice), expectation, policy)
}

fn verify(
    identity: &Identity,
    slice: Option<&str>,
    expectation: &IdentityExpectation<'_>,
    policy: &Policy,
) -> Result<VerifiedIdentity, Error> {
    let at = Identified { id: identity.id() };
    check_whose(identity, slice, expectation, &at)?;
    let auth_params = &identity.spec.auth_params;
    match (&auth_params.aws_config, auth_params.signed_crt.is_empty()) {
        (Some(_), false) => {
            return Err(at.field(
                "spec.authParams.awsConfig",
                PeerMisbehaved::MixedCredentials,
            ));
        }
        (Some(_), true) if !expectation.aws => {
            return Err(at.field("spec.authParams.awsConfig", PolicyRefusal::AwsNotAccepted));
        }
        (None, true) => {
            return Err(at.field("spec.authParams.signedCRT", PeerIncompatible::NoCertificate));
        }
        _ => {}
    }
    let api_server: ApiServerUrl = auth_params
        .api_server
        .parse()
        .map_err(|error| at.field("spec.authParams.apiServer", PeerMisbehaved::Url(error)))?;
    let proxy_url = check_proxy(auth_params, expectation, &at)?;
    let bundle = check_bundle(auth_params, expectation, policy, &at)?;
    let namespace = match slice {
        None => Some(check_namespace(identity, expectation, policy, &at)?),
        Some(_) => check_no_namespace(identity, &at)?,
    };
    let (credentials, issued_by_bundle) = match &auth_params.aws_config {
        Some(config) => (Credentials::Aws(aws::check(config, &at.id)?), true),
        None => {
            let subject = match slice {
                None => Subject::control_plane(expectation.consumer),
                Some(slice) => Subject::resource_slice(slice, expectation.consumer),
            };
            let chain = check_certificate(auth_params, &subject, expectation, policy, &at)?;
            let issued_by_bundle = bundle
                .as_ref()
                .is_none_or(|bundle| chain.issued_by(bundle) != Issuance::No);
            (Credentials::Certificate(chain), issued_by_bundle)
        }
    };
    let pins = provider_pins(auth_params);
    if let Some(first) = expectation.pins {
        first.check(&pins, &at)?;
    }
    Ok(VerifiedIdentity {
        credentials,
        api_server,
        proxy_url,
        namespace,
        issued_by_bundle,
        pins,
    })
}

/// The provider that an Identity says it is of: whose
/// [`View`](crate::machine::View) to look at. Nothing is verified but the form of
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
    /// What it authenticates by.
    pub fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    /// The client certificate, with its intermediates; none where there are
    /// AWS keys instead.
    pub fn certificate(&self) -> Option<&CertificateChain> {
        match &self.credentials {
            Credentials::Certificate(chain) => Some(chain),
            Credentials::Aws(_) => None,
        }
    }

    /// When the certificate expires; AWS keys do not.
    pub fn valid_until(&self) -> Option<Timestamp> {
        self.certificate().map(|chain| chain.leaf().not_after())
    }

    /// The provider's API server.
    pub fn api_server(&self) -> &ApiServerUrl {
        &self.api_server
    }

    /// The proxy to reach it by.
    pub fn proxy_url(&self) -> Option<&ProxyUrl> {
        self.proxy_url.as_ref()
    }

    /// The tenant namespace on the provider; none in the identity of a resource
    /// slice.
    pub fn namespace(&self) -> Option<&NamespaceName> {
        self.namespace.as_ref()
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

fn check_whose(
    identity: &Identity,
    slice: Option<&str>,
    expectation: &IdentityExpectation<'_>,
    at: &Identified,
) -> Result<(), Error> {
    let provider = expectation.provider;
    let (name, expected) = match slice {
        None => (names::identity_name(provider), IdentityType::ControlPlane),
        Some(slice) => (
            names::resource_slice_identity_name(slice),
            IdentityType::ResourceSlice,
        ),
    };
    check_names(&identity.metadata, &at.id, &name, provider)?;
    if let Some(slice) = slice {
        let label = identity
            .metadata
            .labels
            .get(names::RESOURCE_SLICE_NAME_LABEL);
        check_name(
            label.map(String::as_str).unwrap_or_default(),
            slice,
            &at.id,
            "metadata.labels[liqo.io/resourceslice-name]",
        )?;
    }
    check_name(
        &identity.spec.cluster_id,
        provider.as_str(),
        &at.id,
        "spec.clusterID",
    )?;
    if identity.spec.identity_type != expected {
        let found = identity.spec.identity_type.to_string();
        return Err(at.field("spec.type", PeerIncompatible::IdentityType { found }));
    }
    Ok(())
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
    let decoded = match &auth_params.aws_config {
        Some(_) => aws::certificate_authority(auth_params.ca.as_slice()),
        None => None,
    };
    let pem = decoded.as_deref().unwrap_or(auth_params.ca.as_slice());
    CaBundle::from_pem(pem, policy)
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

/// The rights of a resource slice's identity are not those of one namespace.
fn check_no_namespace(
    identity: &Identity,
    at: &Identified,
) -> Result<Option<NamespaceName>, Error> {
    match identity.spec.namespace.as_deref() {
        None | Some("") => Ok(None),
        Some(found) => Err(at.field(
            "spec.namespace",
            PolicyRefusal::UnexpectedNamespace {
                expected: String::new(),
                found: shortened(found),
            },
        )),
    }
}

fn check_certificate(
    auth_params: &AuthParams,
    subject: &Subject,
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
        subject,
        key: expectation.key,
        now: expectation.now,
    };
    chain.check_client(&client, policy).map_err(wrong)?;
    Ok(chain)
}
