//! Verifying an Identity for the consumer that uses it (rule 9).

use super::{
    aws::{self, AwsUser},
    check_name, check_names,
    endpoint::{EndpointExpectation, EndpointPins, endpoint},
};
use crate::{
    crypto::{
        CaBundle, CertificateChain, CertificateError, ClientCertificateExpectation, Issuance,
        PublicKey, Subject,
    },
    error::{Error, Fault, PeerIncompatible, PeerMisbehaved, PolicyRefusal, shortened},
    model::{
        ApiServerUrl, AuthParams, ClusterId, Identity, IdentityType, NamespaceName, ProxyUrl,
        Timestamp, names,
    },
    policy::{Addresses, Forms, Policy},
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

/// An Identity that a consumer may use. Only [`identity`] makes one. A value with a changed
/// field is not verified any more.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct VerifiedIdentity {
    /// The credentials.
    pub credentials: Credentials,
    /// The provider's API server.
    pub api_server: ApiServerUrl,
    /// The proxy in front of the API server.
    pub proxy_url: Option<ProxyUrl>,
    /// The tenant namespace on the provider. `None` in the Identity of a resource
    /// slice.
    pub namespace: Option<NamespaceName>,
    bundle: Option<CaBundle>,
    /// The pins for later Identities of this provider.
    pub pins: EndpointPins,
    /// The addresses to which a program may connect that looks up the name of the API
    /// server, or of the proxy if there is one.
    pub addresses: Addresses,
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
    Check {
        identity,
        auth_params: &identity.spec.auth_params,
        expectation,
        policy,
    }
    .identity()
}

/// An Identity that is being verified.
struct Check<'a> {
    identity: &'a Identity,
    auth_params: &'a AuthParams,
    expectation: &'a IdentityExpectation<'a>,
    policy: &'a Policy,
}

impl Check<'_> {
    fn identity(&self) -> Result<VerifiedIdentity, Error> {
        let (auth_params, expectation) = (self.auth_params, self.expectation);
        self.whose()?;
        let aws = "spec.authParams.awsConfig";
        match (&auth_params.aws_config, auth_params.signed_crt.is_empty()) {
            (Some(_), false) => return Err(self.wrong(aws, PeerMisbehaved::MixedCredentials)),
            (Some(_), true) if !expectation.aws => {
                return Err(self.wrong(aws, PolicyRefusal::AwsNotAccepted));
            }
            (None, true) => {
                let fault = PeerIncompatible::NoCertificate;
                return Err(self.wrong("spec.authParams.signedCRT", fault));
            }
            _ => {}
        }
        let expected = EndpointExpectation {
            proxy_url: expectation.proxy_url,
            publicly_trusted: expectation.publicly_trusted,
        };
        let wrong = |(fault, field): (Fault, _)| self.wrong(field, fault);
        let endpoint = endpoint(auth_params, expected, self.policy).map_err(wrong)?;
        let namespace = self.namespace()?;
        let credentials = match &auth_params.aws_config {
            Some(config) => Credentials::Aws(aws::check(config, self.identity)?),
            None => Credentials::Certificate(self.certificate()?),
        };
        if let Some(first) = expectation.pins {
            first.check(&endpoint.pins).map_err(wrong)?;
        }
        Ok(VerifiedIdentity {
            credentials,
            api_server: endpoint.api_server,
            proxy_url: endpoint.proxy_url,
            namespace,
            bundle: endpoint.bundle,
            pins: endpoint.pins,
            addresses: self.policy.addresses.clone(),
        })
    }

    fn wrong(&self, field: &'static str, fault: impl Into<Fault>) -> Error {
        Error::found_in(self.identity, field, fault)
    }

    fn whose(&self) -> Result<(), Error> {
        let (identity, provider) = (self.identity, self.expectation.provider);
        let (name, expected) = match self.expectation.slice {
            None => (names::identity_name(provider), IdentityType::ControlPlane),
            Some(slice) => {
                let name = names::resource_slice_identity_name(slice);
                (name, IdentityType::ResourceSlice)
            }
        };
        check_names(identity, &name, provider)?;
        if let Some(slice) = self.expectation.slice {
            let label = identity.metadata.label(names::RESOURCE_SLICE_NAME_LABEL);
            let field = "metadata.labels[liqo.io/resourceslice-name]";
            check_name(label.unwrap_or_default(), slice, identity, field)?;
        }
        let cluster_id = &identity.spec.cluster_id;
        check_name(cluster_id, provider.as_str(), identity, "spec.clusterID")?;
        if identity.spec.identity_type != expected {
            let found = identity.spec.identity_type.to_string();
            return Err(self.wrong("spec.type", PeerIncompatible::IdentityType { found }));
        }
        Ok(())
    }

    /// The strict policy accepts the expected namespace only. The compatible policy
    /// accepts any valid name of a namespace, since an administrator of the provider
    /// may have chosen it. A slice's Identity does not name a namespace: its rights are
    /// not limited to one.
    fn namespace(&self) -> Result<Option<NamespaceName>, Error> {
        let field = "spec.namespace";
        let found = self.identity.spec.namespace.as_deref().unwrap_or_default();
        let is_of_slice = self.expectation.slice.is_some();
        let expected = match self.expectation.namespace {
            _ if is_of_slice => String::new(),
            Some(namespace) => namespace.to_string(),
            None => names::tenant_namespace(self.expectation.consumer),
        };
        if found != expected && (is_of_slice || self.policy.forms == Forms::Canonical) {
            let found = shortened(found);
            let refusal = PolicyRefusal::UnexpectedNamespace { expected, found };
            return Err(self.wrong(field, refusal));
        }
        if is_of_slice {
            return Ok(None);
        }
        let wrong = |error| self.wrong(field, PeerIncompatible::NamespaceName(error));
        found.parse().map(Some).map_err(wrong)
    }

    fn certificate(&self) -> Result<CertificateChain, Error> {
        let field = "spec.authParams.signedCRT";
        let wrong = |error| self.wrong(field, fault_of(error));
        let pem = self.auth_params.signed_crt.as_slice();
        let chain = CertificateChain::from_pem(pem, self.policy).map_err(wrong)?;
        let IdentityExpectation {
            consumer, key, now, ..
        } = *self.expectation;
        let subject = &match self.expectation.slice {
            None => Subject::control_plane(consumer),
            Some(slice) => Subject::resource_slice(slice, consumer),
        };
        let client = ClientCertificateExpectation { subject, key, now };
        chain.check_client(&client, self.policy).map_err(wrong)?;
        Ok(chain)
    }
}

/// An honest provider's certificate may be outside of its time, or answer an earlier request.
fn fault_of(error: CertificateError) -> Fault {
    match error {
        CertificateError::Expired { not_after, now } => {
            PeerIncompatible::CertificateExpired { not_after, now }.into()
        }
        CertificateError::NotYetValid { not_before, now } => {
            PeerIncompatible::CertificateNotYetValid { not_before, now }.into()
        }
        CertificateError::Key { expected, found } => {
            PeerIncompatible::CertificateKey { expected, found }.into()
        }
        error => PeerMisbehaved::Certificate(error).into(),
    }
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

    /// The last second in which the certificate is valid. `None` for AWS keys, which do
    /// not expire.
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
}
