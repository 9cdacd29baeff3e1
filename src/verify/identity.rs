//! Verifying an Identity for the consumer that uses it (rule 9).

use serde::{Deserialize, Serialize};
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
        ApiServerUrl, AuthParams, Bytes, ClusterId, Identity, IdentityType, NamespaceName,
        ProxyUrl, Timestamp, names,
    },
    policy::{Forms, Policy},
};

/// The expected content of an Identity.
#[derive(Debug, Clone, Copy)]
pub struct IdentityExpectation<'a> {
    /// The consumer: this cluster.
    pub consumer: &'a ClusterId,
    /// The provider that gave the Identity.
    pub provider: &'a ClusterId,
    /// This cluster's key. The certificate has to carry it.
    pub key: &'a PublicKey,
    /// The present time.
    pub now: Timestamp,
    /// The proxy that this cluster asked for.
    pub proxy_url: Option<&'a ProxyUrl>,
    /// The provider's tenant namespace, if it is not `liqo-tenant-<consumer>`.
    pub namespace: Option<&'a NamespaceName>,
    /// Whether the serving certificate of the provider is publicly trusted, so that
    /// the CA bundle may be missing.
    pub publicly_trusted: bool,
    /// API server and CA of the first Identity, if there was one.
    pub pins: Option<&'a EndpointPins>,
    /// The name of the resource slice that the Identity is for. `None` for the
    /// control plane.
    pub slice: Option<&'a str>,
    /// Whether AWS keys are accepted in place of a certificate.
    pub aws: bool,
}

impl<'a> IdentityExpectation<'a> {
    /// The Identity of the control plane, with a certificate, without a proxy, in
    /// the default tenant namespace. No earlier Identity is known.
    pub const fn new(
        consumer: &'a ClusterId,
        provider: &'a ClusterId,
        key: &'a PublicKey,
        now: Timestamp,
    ) -> Self {
        Self {
            consumer,
            provider,
            key,
            now,
            proxy_url: None,
            namespace: None,
            publicly_trusted: false,
            pins: None,
            slice: None,
            aws: false,
        }
    }
}

/// An Identity that a consumer may use. Only [`identity`] makes one.
#[derive(Debug, Clone)]
pub struct VerifiedIdentity {
    credentials: Credentials,
    api_server: ApiServerUrl,
    proxy_url: Option<ProxyUrl>,
    namespace: Option<NamespaceName>,
    bundle: Option<CaBundle>,
    pins: EndpointPins,
}

/// The credentials of an Identity: exactly one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Credentials {
    /// A client certificate, with its intermediates.
    Certificate(CertificateChain),
    /// An AWS user. Its keys are in the Identity.
    Aws(AwsUser),
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

/// Verifies an Identity: its names, its certificate, the URLs, the CA bundle and
/// the namespace.
///
/// The provider's commitment is not verified here, since this needs the nonce:
/// [`consumer`](crate::consumer) verifies it.
///
/// # Errors
/// [`PeerMisbehaved`], [`PeerIncompatible`] or [`PolicyRefusal`], at the field
/// that is wrong.
pub fn identity(
    identity: &Identity,
    expectation: &IdentityExpectation<'_>,
    policy: &Policy,
) -> Result<VerifiedIdentity, Error> {
    let slice = expectation.slice;
    let at = Identified(identity);
    check_whose(identity, expectation, &at)?;
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
    let credentials = match &auth_params.aws_config {
        Some(config) => Credentials::Aws(aws::check(config, identity)?),
        None => {
            let subject = match slice {
                None => Subject::control_plane(expectation.consumer),
                Some(slice) => Subject::resource_slice(slice, expectation.consumer),
            };
            let chain = check_certificate(auth_params, &subject, expectation, policy, &at)?;
            Credentials::Certificate(chain)
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
        bundle,
        pins,
    })
}

impl Credentials {
    /// The client certificate, with its intermediates. `None` if there are AWS keys
    /// instead.
    pub fn certificate(&self) -> Option<&CertificateChain> {
        match self {
            Self::Certificate(chain) => Some(chain),
            Self::Aws(_) => None,
        }
    }

    /// The end of the certificate. AWS keys have no end.
    pub fn valid_until(&self) -> Option<Timestamp> {
        self.certificate().map(|chain| chain.leaf().not_after)
    }

    /// Whether these AWS keys may replace `held`. The access key may change. User,
    /// cluster and region must stay the same. False for a certificate.
    pub(crate) fn continues(&self, held: &Self) -> bool {
        match (self, held) {
            (Self::Aws(new), Self::Aws(old)) => {
                (&new.arn, &new.cluster, &new.region) == (&old.arn, &old.cluster, &old.region)
            }
            _ => false,
        }
    }
}

impl VerifiedIdentity {
    /// The credentials.
    pub fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    /// The provider's API server.
    pub fn api_server(&self) -> &ApiServerUrl {
        &self.api_server
    }

    /// The proxy in front of the API server.
    pub fn proxy_url(&self) -> Option<&ProxyUrl> {
        self.proxy_url.as_ref()
    }

    /// The tenant namespace on the provider. `None` in the Identity of a resource
    /// slice.
    pub fn namespace(&self) -> Option<&NamespaceName> {
        self.namespace.as_ref()
    }

    /// Whether a CA of the bundle issued the certificate. True if there is no
    /// certificate or no bundle. The bundle may be right even if this is false: the
    /// serving CA and the client CA of an API server may differ. Each call verifies
    /// the signature of the certificate.
    pub fn issued_by_bundle(&self) -> bool {
        match (self.credentials.certificate(), &self.bundle) {
            (Some(chain), Some(bundle)) => chain.issued_by(bundle) != Issuance::No,
            _ => true,
        }
    }

    /// The pins for later Identities of this provider.
    pub fn pins(&self) -> &EndpointPins {
        &self.pins
    }
}

fn provider_pins(auth_params: &AuthParams) -> EndpointPins {
    EndpointPins {
        api_server: auth_params.api_server.clone(),
        ca: Bytes::from(Sha256::digest(without_padding(auth_params.ca.as_slice())).as_slice()),
    }
}

impl EndpointPins {
    fn check(&self, present: &Self, at: &Identified<'_>) -> Result<(), Error> {
        if self.api_server != present.api_server {
            return Err(at.field("spec.authParams.apiServer", PeerMisbehaved::EndpointChanged));
        }
        if self.ca != present.ca {
            return Err(at.field("spec.authParams.ca", PeerMisbehaved::EndpointChanged));
        }
        Ok(())
    }
}

/// The Identity that the errors name.
struct Identified<'a>(&'a Identity);

impl Identified<'_> {
    fn field(&self, field: &'static str, fault: impl Into<Fault>) -> Error {
        Error::found_in(self.0, field, fault)
    }
}

fn check_whose(
    identity: &Identity,
    expectation: &IdentityExpectation<'_>,
    at: &Identified<'_>,
) -> Result<(), Error> {
    let provider = expectation.provider;
    let slice = expectation.slice;
    let (name, expected) = match slice {
        None => (names::identity_name(provider), IdentityType::ControlPlane),
        Some(slice) => (
            names::resource_slice_identity_name(slice),
            IdentityType::ResourceSlice,
        ),
    };
    check_names(identity, &name, provider)?;
    if let Some(slice) = slice {
        let label = identity
            .metadata
            .labels
            .get(names::RESOURCE_SLICE_NAME_LABEL);
        check_name(
            label.map(String::as_str).unwrap_or_default(),
            slice,
            identity,
            "metadata.labels[liqo.io/resourceslice-name]",
        )?;
    }
    check_name(
        &identity.spec.cluster_id,
        provider.as_str(),
        identity,
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
    at: &Identified<'_>,
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
    at: &Identified<'_>,
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

/// The strict policy accepts the expected namespace only. The compatible policy
/// accepts any valid name of a namespace, since an administrator of the provider
/// may have chosen it.
fn check_namespace(
    identity: &Identity,
    expectation: &IdentityExpectation<'_>,
    policy: &Policy,
    at: &Identified<'_>,
) -> Result<NamespaceName, Error> {
    let found = identity.spec.namespace.as_deref().unwrap_or_default();
    let expected = match expectation.namespace {
        Some(namespace) => namespace.to_string(),
        None => names::tenant_namespace(expectation.consumer),
    };
    if found != expected && policy.forms == Forms::Canonical {
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

/// Checks that a slice's Identity names no namespace: its rights are not limited to
/// one.
fn check_no_namespace(
    identity: &Identity,
    at: &Identified<'_>,
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
    at: &Identified<'_>,
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
