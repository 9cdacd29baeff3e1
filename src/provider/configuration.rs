//! How a provider is configured.

use core::time::Duration;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    Approver, AwsIdentities, CsrSigner, LiqoClasses, Principals, Provider, ResourceSlicePolicy,
    handshake::ByHand,
    principals::{NotSet, is_well_known},
    record,
};
use crate::{
    crypto::{CaBundle, RecordKey, SigningKey},
    error::{ApiMisuse, Error, PolicyRefusal},
    model::{ApiServerUrl, Bytes, ClusterId, Kind, NamespaceName, ObjectRef, names},
    policy::Policy,
    verify,
};

/// The address of the provider's API server for its peers, and the CA by which they
/// verify it.
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

/// The signer of certificate requests.
pub(super) enum Signer {
    /// The embedder's own signer.
    Backend(Arc<dyn CsrSigner>),
    /// Kubernetes' signer, through CertificateSigningRequests in the view.
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
            principals: Arc::new(NotSet),
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

    /// Sets the cluster's own key, which proves the cluster's identity to its
    /// peers. Without a key, peers identify the cluster only by their own
    /// configuration.
    #[must_use]
    pub fn key(mut self, key: Arc<dyn SigningKey>) -> Self {
        self.0.key = Some(key);
        self
    }

    /// Sets the signer of certificate requests. Without a signer,
    /// [`Awaited::Credential`](crate::machine::Awaited::Credential) names the
    /// request at each look, and nothing is signed.
    #[must_use]
    pub fn signer(mut self, signer: Arc<dyn CsrSigner>) -> Self {
        self.0.signer = Some(Signer::Backend(signer));
        self
    }

    /// Uses Kubernetes' own signer (`kubernetes.io/kube-apiserver-client`). In
    /// three looks, the provider creates a CertificateSigningRequest, approves the
    /// version that it saw, and reads the certificate. The caller needs the rights
    /// to
    /// create, get, list, watch and delete CertificateSigningRequests, to
    /// update and patch their `/approval`, and `approve` on that signer.
    #[must_use]
    pub fn kubernetes_signer(mut self) -> Self {
        self.0.signer = Some(Signer::Kubernetes);
        self
    }

    /// Gives each peer, and each of its resource slices, an AWS user in place of a
    /// certificate. This is for a provider on EKS. The provider then asks no signer
    /// and renews nothing, since an access key does not expire.
    #[must_use]
    pub fn aws(mut self, identities: Arc<dyn AwsIdentities>) -> Self {
        self.0.aws = Some(identities);
        self
    }

    /// Which names are users or groups already. Without a look-up, no peer is let in:
    /// an empty [`NameTable`](super::NameTable) says that there are none besides the
    /// well-known ones.
    #[must_use]
    pub fn principals(mut self, principals: Arc<dyn Principals>) -> Self {
        self.0.principals = principals;
        self
    }

    /// Sets the policy that decides on the resources of slices; [`LiqoClasses`]
    /// without defaults unless set.
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

    /// The lifetime of a nonce; 24 hours unless set, since people may carry the
    /// nonce by hand.
    #[must_use]
    pub fn nonce_lifetime(mut self, lifetime: Duration) -> Self {
        self.0.nonce_lifetime = lifetime;
        self
    }

    /// Makes each new request of a peer wait for
    /// [`Provider::approve`](Provider::approve) before it is signed.
    #[must_use]
    pub fn require_approval(self) -> Self {
        self.approver(Arc::new(ByHand))
    }

    /// Sets the approver, which decides on each new request of a peer before it is
    /// signed. Without an approver, every verified request is approved.
    #[must_use]
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.0.approver = Some(approver);
        self
    }

    /// Accepts this peer without a handshake if its Tenant asks for that
    /// (`authzPolicy: TolerateNoHandshake`). Then only the name identifies the
    /// peer: anyone who can write a Tenant here can claim it. A Tenant that does
    /// not ask must complete the handshake.
    #[must_use]
    pub fn tolerate_no_handshake(mut self, peer: ClusterId) -> Self {
        self.0.tolerated.insert(peer);
        self
    }

    /// The certificate lifetime that the provider requests from the signer; 365
    /// days unless set. The Kubernetes API accepts no less than ten minutes
    /// ([`expiration_seconds`](super::SigningRequest::expiration_seconds)).
    #[must_use]
    pub fn certificate_lifetime(mut self, lifetime: Duration) -> Self {
        self.0.certificate_lifetime = lifetime;
        self
    }

    /// Builds the provider.
    pub fn build(self) -> Provider {
        Provider(Arc::new(self.0))
    }
}

impl Configuration {
    /// The policy for a peer. Only this side's configuration sets it.
    pub(super) fn policy(&self, peer: &ClusterId) -> &Policy {
        self.peer_policies.get(peer).unwrap_or(&self.policy)
    }

    /// The Secret that is the record of a peer.
    pub(super) fn record_id(&self, peer: &ClusterId) -> ObjectRef {
        ObjectRef::new(Kind::Secret, self.namespace.as_str(), record::name(peer))
    }

    /// Checks that the peer is another cluster.
    pub(super) fn check_other(&self, peer: &ClusterId) -> Result<(), Error> {
        if *peer == self.cluster_id {
            return Err(Error::new(ApiMisuse::OwnCluster, None, ""));
        }
        Ok(())
    }

    /// Checks that the peer is another cluster, and that its name is short enough
    /// and is no well-known principal.
    pub(super) fn check_peer(&self, peer: &ClusterId) -> Result<(), Error> {
        self.check_other(peer)?;
        verify::name_length(peer, self.policy(peer))?;
        if is_well_known(peer.as_str()) {
            return Err(name_taken(peer, None));
        }
        Ok(())
    }
}

/// The error for a cluster whose name is already a user or a group (rule 7).
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
