//! A kubeconfig that an administrator has made, in place of an Identity.
//!
//! Liqo's replicator logs in by each Secret that is labelled as the kubeconfig of a control
//! plane. Whoever may write Secrets in the tenant namespace could make one. So such a kubeconfig
//! counts if this cluster's settings name the digest of its text, and there is no Identity.

use crate::{
    consumer::look::Look,
    crypto::{Certificate, CertificateChain, Fingerprint},
    error::{Error, Fault, LocalFault, PeerIncompatible, PolicyRefusal},
    machine::Notice,
    model::{
        AuthParams, IdentityType, Kubeconfig, NamespaceName, ObjectRef, Resource, Secret,
        Timestamp, UserCredential, names,
    },
    policy::Addresses,
    verify::{self, EndpointExpectation, EndpointPins},
};

/// A kubeconfig that an administrator has made for a provider, in place of an Identity. The
/// settings [name it](crate::consumer::PeerSettings::kubeconfig_digest).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct KubeconfigByHand {
    /// The Secret with the kubeconfig, under the key `kubeconfig`.
    pub secret: ObjectRef,
    /// What the kubeconfig says. Its credential is a certificate with its key, or a token.
    pub kubeconfig: Kubeconfig,
    /// The API server and the CA, which are those of the resource slices as well.
    pub pins: EndpointPins,
    /// The addresses to which a program may connect that looks up the name of the API
    /// server, or of the proxy if there is one.
    pub addresses: Addresses,
    /// The tenant namespace on the provider.
    pub namespace: NamespaceName,
    /// The certificate. `None` for a token, and for a certificate that cannot be read.
    pub certificate: Option<Certificate>,
    /// When the certificate expires. `None` for a token, and for a certificate that cannot be
    /// read.
    pub valid_until: Option<Timestamp>,
}

impl Look<'_> {
    /// The stored kubeconfig that the settings name, if there is no Identity.
    ///
    /// # Errors
    /// The kubeconfig cannot be used.
    pub(crate) fn kubeconfig_by_hand(&self) -> Result<Option<KubeconfigByHand>, Error> {
        let (None, Some(digest)) = (self.observed.identity, self.settings().kubeconfig_digest)
        else {
            return Ok(None);
        };
        let mut stored = self.kubeconfigs_by_hand();
        let named = stored.find(|(_, text)| Fingerprint::of(text) == digest);
        named
            .map(|(secret, text)| self.check_by_hand(secret, text))
            .transpose()
    }

    /// The notice about a kubeconfig that may be an administrator's, and that the settings do
    /// not name.
    pub(crate) fn unnamed_kubeconfig(&self) -> Option<Notice> {
        let (secret, text) = self.kubeconfigs_by_hand().next()?;
        Some(Notice::KubeconfigNotNamed {
            secret: secret.id(),
            digest: Fingerprint::of(text),
        })
    }

    /// The Secrets that Liqo takes for the kubeconfig of the control plane, and that no Identity
    /// of this library's has.
    fn kubeconfigs_by_hand(&self) -> impl Iterator<Item = (&Secret, &[u8])> {
        let here = self.observed.namespace_name();
        let of_identity = names::kubeconfig_secret(&names::identity_name(self.peer()));
        let control_plane = IdentityType::ControlPlane.to_string();
        let labels = [
            (names::REMOTE_CLUSTER_ID_LABEL, self.peer().to_string()),
            (names::IDENTITY_TYPE_LABEL, control_plane),
        ];
        self.view.readable::<Secret>().filter_map(move |secret| {
            let metadata = &secret.metadata;
            let is_candidate = metadata.namespace == here
                && metadata.name != of_identity
                && metadata.deletion_timestamp.is_none()
                && labels
                    .iter()
                    .all(|(label, value)| metadata.label(label) == Some(value));
            let text = is_candidate.then(|| secret.get(names::KUBECONFIG))??;
            (!text.is_empty()).then_some((secret, text))
        })
    }

    fn check_by_hand(&self, secret: &Secret, text: &[u8]) -> Result<KubeconfigByHand, Error> {
        let wrong = |fault: Fault| Error::found_in(secret, "data.kubeconfig", fault);
        // The reader's error may quote the text.
        let kubeconfig = Kubeconfig::read(text, Kubeconfig::LONGEST);
        let kubeconfig = kubeconfig.map_err(|_| wrong(unusable(OTHER_FORM)))?;
        let pins = self.endpoint_by_hand(&kubeconfig).map_err(wrong)?;
        let record = self.observed.record();
        if let Some(first) = record.and_then(|record| record.endpoint.as_ref()) {
            first.check(&pins).map_err(|(fault, _)| wrong(fault))?;
        }
        let namespace = match &self.settings().remote_tenant_namespace {
            Some(namespace) => namespace.clone(),
            None => verify::default_namespace(self.configuration.cluster_id())?,
        };
        let certificate = self.credential_by_hand(&kubeconfig).map_err(wrong)?;
        Ok(KubeconfigByHand {
            valid_until: certificate.as_ref().map(|it| it.not_after),
            certificate,
            secret: secret.id(),
            kubeconfig,
            pins,
            addresses: self.policy().addresses.clone(),
            namespace,
        })
    }

    fn endpoint_by_hand(&self, kubeconfig: &Kubeconfig) -> Result<EndpointPins, Fault> {
        let auth_params = AuthParams {
            api_server: kubeconfig.server.clone(),
            ca: kubeconfig.certificate_authority.clone(),
            proxy_url: kubeconfig.proxy_url.clone(),
            ..AuthParams::default()
        };
        let settings = self.settings();
        let expectation = EndpointExpectation {
            proxy_url: settings.proxy_url.as_ref(),
            publicly_trusted: settings.publicly_trusted,
        };
        let endpoint = verify::endpoint(&auth_params, expectation, self.policy());
        match endpoint {
            Ok(endpoint) => Ok(endpoint.pins),
            Err((fault @ Fault::Policy(PolicyRefusal::AddressRefused { .. }), _)) => Err(fault),
            // No peer has made it.
            Err((Fault::PeerMisbehaved(fault), _)) => Err(unusable(&fault.to_string())),
            Err((Fault::PeerIncompatible(fault), _)) => Err(unusable(&fault.to_string())),
            Err((fault, _)) => Err(unusable(&fault.to_string())),
        }
    }

    /// The credential, if it is a certificate that can be read.
    fn credential_by_hand(&self, kubeconfig: &Kubeconfig) -> Result<Option<Certificate>, Fault> {
        let certificate = match &kubeconfig.credential {
            UserCredential::KeyData { certificate, .. } if !certificate.is_empty() => certificate,
            UserCredential::Token(_) => return Ok(None),
            _ => return Err(unusable(OTHER_CREDENTIAL)),
        };
        let chain = CertificateChain::from_pem(certificate.as_slice(), self.policy()).ok();
        let certificate = chain.map(|chain| chain.leaf().clone());
        match certificate {
            Some(Certificate { not_after, .. }) if not_after < self.now => {
                let now = self.now;
                Err(PeerIncompatible::CertificateExpired { not_after, now }.into())
            }
            certificate => Ok(certificate),
        }
    }
}

fn unusable(reason: &str) -> Fault {
    let reason = reason.to_owned();
    LocalFault::KubeconfigUnusable { reason }.into()
}

const OTHER_FORM: &str =
    "it does not consist of one cluster, one user and one context with the fields that Liqo writes";
const OTHER_CREDENTIAL: &str = "it contains neither a certificate with its key nor a token";
