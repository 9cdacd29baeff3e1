//! How a provider is configured.

use core::time::Duration;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    Approver, AwsIdentities, CsrSigner, LiqoClasses, NameTable, Principals, Provider,
    ResourceSlicePolicy, handshake::ByHand, principals::is_well_known, record,
};
use crate::{
    crypto::{CaBundle, RecordKey, SigningKey},
    error::{ApiMisuse, Error, PolicyRefusal},
    model::{ApiServerUrl, Bytes, ClusterId, Kind, NamespaceName, ObjectRef, names},
    policy::Policy,
    verify,
};

/// Where peers reach the provider's API server, and by which CA they know it.
#[derive(Debug, Clone)]
pub struct Endpoint {
    api_server: ApiServerUrl,
    ca: Bytes,
}

/// Configures a [`Provider`]; made by [`Provider::builder`].
pub struct ProviderBuilder(Configuration);

pub(super) struct Configuration {
    pub(super) cluster_id: ClusterId,
    pub(super) endpoint: Endpoint,
    pub(super) record_key: RecordKey,
    pub(super) key: Option<Arc<dyn SigningKey>>,
    pub(super) signer: Option<Signer>,
    pub(super) aws: Option<Arc<dyn AwsIdentities>>,
    pub(super) principals: Arc<dyn Principals>,
    pub(super) slice_policy: Arc<dyn ResourceSlicePolicy>,
    pub(super) policy: Policy,
    pub(super) peer_policies: BTreeMap<ClusterId, Policy>,
    pub(super) namespace: String,
    pub(super) nonce_lifetime: Duration,
    pub(super) certificate_lifetime: Duration,
    pub(super) approver: Option<Arc<dyn Approver>>,
    pub(super) tolerated: BTreeSet<ClusterId>,
}

/// Who signs certificate requests.
pub(super) enum Signer {
    /// The embedder's own signer.
    Backend(Arc<dyn CsrSigner>),
    /// Kubernetes' signer, by CertificateSigningRequests in the view.
    Kubernetes,
}

impl Endpoint {
    /// An API server; no bundle means that its certificate is publicly trusted.
    pub fn new(api_server: ApiServerUrl, ca: Option<&CaBundle>) -> Self {
        Self {
            api_server,
            ca: ca
                .map(|bundle| Bytes::from(bundle.pem()))
                .unwrap_or_default(),
        }
    }

    /// The API server's URL.
    pub fn api_server(&self) -> &ApiServerUrl {
        &self.api_server
    }

    pub(crate) fn ca(&self) -> Bytes {
        self.ca.clone()
    }
}

impl ProviderBuilder {
    pub(super) fn new(cluster_id: ClusterId, endpoint: Endpoint, record_key: RecordKey) -> Self {
        Self(Configuration {
            cluster_id,
            endpoint,
            record_key,
            key: None,
            signer: None,
            aws: None,
            principals: Arc::new(NameTable::default()),
            slice_policy: Arc::new(LiqoClasses::default()),
            policy: Policy::strict(),
            peer_policies: BTreeMap::new(),
            namespace: names::LIQO_NAMESPACE.to_owned(),
            nonce_lifetime: ONE_DAY,
            certificate_lifetime: ONE_YEAR,
            approver: None,
            tolerated: BTreeSet::new(),
        })
    }

    /// The cluster's own key, by which it proves to its peers who it is.
    /// Without one, peers know it by their configuration only.
    #[must_use]
    pub fn key(mut self, key: Arc<dyn SigningKey>) -> Self {
        self.0.key = Some(key);
        self
    }

    /// Who signs certificate requests. Without a signer,
    /// [`Awaited::Credential`](crate::machine::Awaited::Credential) names the
    /// request at each look, and nothing is signed.
    #[must_use]
    pub fn signer(mut self, signer: Arc<dyn CsrSigner>) -> Self {
        self.0.signer = Some(Signer::Backend(signer));
        self
    }

    /// Has requests signed by Kubernetes' own signer
    /// (`kubernetes.io/kube-apiserver-client`): the provider makes a
    /// CertificateSigningRequest, approves it at the version that it saw, and
    /// takes the certificate, in three looks. The caller needs the rights to
    /// create, get, list, watch and delete CertificateSigningRequests, to
    /// update and patch their `/approval`, and `approve` on that signer.
    #[must_use]
    pub fn kubernetes_signer(mut self) -> Self {
        self.0.signer = Some(Signer::Kubernetes);
        self
    }

    /// Gives each peer an AWS user in place of a certificate: for a provider on
    /// EKS. So do its resource slices. No signer is asked then, and nothing is
    /// renewed, since an access key does not end by itself.
    #[must_use]
    pub fn aws(mut self, identities: Arc<dyn AwsIdentities>) -> Self {
        self.0.aws = Some(identities);
        self
    }

    /// Which names are users or groups already. Without a look-up, only the
    /// well-known ones are.
    #[must_use]
    pub fn principals(mut self, principals: Arc<dyn Principals>) -> Self {
        self.0.principals = principals;
        self
    }

    /// Who decides on the resources of slices: Liqo's own decision, without
    /// defaults, unless set.
    #[must_use]
    pub fn slices(mut self, policy: Arc<dyn ResourceSlicePolicy>) -> Self {
        self.0.slice_policy = policy;
        self
    }

    /// The policy for all peers; [`Policy::strict`] unless set.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.0.policy = policy;
        self
    }

    /// The policy for one peer.
    #[must_use]
    pub fn policy_for(mut self, peer: ClusterId, policy: Policy) -> Self {
        self.0.peer_policies.insert(peer, policy);
        self
    }

    /// The namespace of the provider's own records, to which no peer has
    /// access; `liqo` unless set.
    #[must_use]
    pub fn namespace(mut self, namespace: &NamespaceName) -> Self {
        self.0.namespace = namespace.to_string();
        self
    }

    /// How long a nonce may be signed; 24 hours unless set, since people carry
    /// it.
    #[must_use]
    pub fn nonce_lifetime(mut self, lifetime: Duration) -> Self {
        self.0.nonce_lifetime = lifetime;
        self
    }

    /// Has each new request of a peer wait for
    /// [`Provider::approve`](Provider::approve) before it is signed.
    #[must_use]
    pub fn require_approval(self) -> Self {
        self.approver(Arc::new(ByHand))
    }

    /// Who approves of a peer's new request before it is signed. Without one,
    /// a verified request is approved.
    #[must_use]
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.0.approver = Some(approver);
        self
    }

    /// Takes this peer without a handshake, if its Tenant asks for that
    /// (`authzPolicy: TolerateNoHandshake`): by its name alone, which anyone
    /// can claim who can write a Tenant here. A Tenant that does not ask is held
    /// to the handshake.
    #[must_use]
    pub fn tolerate_no_handshake(mut self, peer: ClusterId) -> Self {
        self.0.tolerated.insert(peer);
        self
    }

    /// The certificate lifetime that is asked of the signer; 365 days unless
    /// set. The Kubernetes API takes no less than ten minutes
    /// ([`expiration_seconds`](super::SigningRequest::expiration_seconds)).
    #[must_use]
    pub fn certificate_lifetime(mut self, lifetime: Duration) -> Self {
        self.0.certificate_lifetime = lifetime;
        self
    }

    /// The provider.
    pub fn build(self) -> Provider {
        Provider(Arc::new(self.0))
    }
}

impl Configuration {
    /// The policy for a peer: this side's configuration, never the peer's word.
    pub(super) fn policy(&self, peer: &ClusterId) -> &Policy {
        self.peer_policies.get(peer).unwrap_or(&self.policy)
    }

    /// The Secret that is the record of a peer.
    pub(super) fn record_id(&self, peer: &ClusterId) -> ObjectRef {
        ObjectRef::new(Kind::Secret, self.namespace.as_str(), record::name(peer))
    }

    /// That the peer is another cluster.
    pub(super) fn check_other(&self, peer: &ClusterId) -> Result<(), Error> {
        if *peer == self.cluster_id {
            return Err(Error::new(ApiMisuse::OwnCluster, None, ""));
        }
        Ok(())
    }

    /// That the peer may be one: another cluster, of a name that is short enough
    /// and no well-known principal.
    pub(super) fn check_peer(&self, peer: &ClusterId) -> Result<(), Error> {
        self.check_other(peer)?;
        verify::name_length(peer, self.policy(peer))?;
        if is_well_known(peer.as_str()) {
            return Err(name_taken(peer, None));
        }
        Ok(())
    }
}

/// That the name of a cluster is a principal already (rule 7).
pub(super) fn name_taken(peer: &ClusterId, object: Option<ObjectRef>) -> Error {
    let name = peer.to_string();
    Error::new(PolicyRefusal::NameTaken { name }, object, "spec.clusterID")
}

impl core::fmt::Debug for ProviderBuilder {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter
            .debug_struct("ProviderBuilder")
            .field("cluster_id", &self.0.cluster_id)
            .finish_non_exhaustive()
    }
}

const ONE_DAY: Duration = Duration::from_secs(24 * 60 * 60);
const ONE_YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
