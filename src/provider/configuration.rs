//! How a provider is configured.

use std::sync::Arc;

use super::{
    Approver, AwsIdentities, CsrSigner, LiqoClasses, Principals, Provider, ProviderConfig,
    ResourceSlicePolicy,
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
    pub(super) api_server: ApiServerUrl,
    pub(super) ca: Option<CaBundle>,
}

/// Joins a [`ProviderConfig`] with its keys and backends. [`Provider::builder`] and
/// [`ProviderConfig::builder`] make this builder.
#[derive(Debug)]
pub struct ProviderBuilder(Configuration);

pub(super) struct Configuration {
    pub(super) settings: ProviderConfig,
    pub(super) record_key: RecordKey,
    pub(super) key: Option<Arc<dyn SigningKey>>,
    pub(super) signer: Option<Arc<dyn CsrSigner>>,
    pub(super) aws: Option<Arc<dyn AwsIdentities>>,
    pub(super) principals: Arc<dyn Principals>,
    pub(super) slice_policy: Arc<dyn ResourceSlicePolicy>,
    pub(super) approver: Option<Arc<dyn Approver>>,
}

impl Endpoint {
    /// An API server; no bundle means that its certificate is publicly trusted.
    pub fn new(api_server: ApiServerUrl, ca: Option<&CaBundle>) -> Self {
        let ca = ca.cloned();
        Self { api_server, ca }
    }

    /// The API server's URL.
    pub fn api_server(&self) -> &ApiServerUrl {
        &self.api_server
    }

    /// The CA bundle; empty if there is none.
    #[cfg(feature = "legacy")]
    pub(crate) fn ca(&self) -> Bytes {
        ca_bytes(self.ca.as_ref())
    }
}

impl ProviderBuilder {
    pub(super) fn new(settings: ProviderConfig, record_key: RecordKey) -> Self {
        Self(Configuration {
            settings,
            record_key,
            key: None,
            signer: None,
            aws: None,
            principals: Arc::new(NotSet),
            slice_policy: Arc::new(LiqoClasses::default()),
            approver: None,
        })
    }

    /// Changes the configuration's data: policies, lifetimes, the namespace, single
    /// peers.
    #[must_use]
    pub fn configure(mut self, change: impl FnOnce(&mut ProviderConfig)) -> Self {
        change(&mut self.0.settings);
        self
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
    /// request at each step, and nothing is signed. This signer is not asked if
    /// [Kubernetes' own signer](ProviderConfig::kubernetes_signer) signs.
    #[must_use]
    pub fn signer(mut self, signer: Arc<dyn CsrSigner>) -> Self {
        self.0.signer = Some(signer);
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

    /// Sets the look-up of the names that are already users or groups. Without a
    /// look-up, every peer is refused. An empty [`NameTable`](super::NameTable)
    /// means that only the well-known names are taken.
    #[must_use]
    pub fn principals(mut self, principals: Arc<dyn Principals>) -> Self {
        self.0.principals = principals;
        self
    }

    /// Sets the policy that decides on the resources of slices. The default is
    /// [`LiqoClasses`] without configured resources.
    #[must_use]
    pub fn slices(mut self, policy: Arc<dyn ResourceSlicePolicy>) -> Self {
        self.0.slice_policy = policy;
        self
    }

    /// Sets the approver, which decides on each new request of a peer before it is
    /// signed. Without an approver, every verified request is approved. The approver
    /// is not asked if [an administrator decides](ProviderConfig::require_approval).
    #[must_use]
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.0.approver = Some(approver);
        self
    }

    /// Builds the provider.
    pub fn build(self) -> Provider {
        Provider(Arc::new(self.0))
    }
}

impl Configuration {
    pub(super) fn cluster_id(&self) -> &ClusterId {
        &self.settings.cluster_id
    }

    /// The policy for a peer. Only this side's configuration sets it.
    pub(super) fn policy(&self, peer: &ClusterId) -> &Policy {
        let of_peer = self.settings.peers.get(peer);
        let of_peer = of_peer.and_then(|settings| settings.policy.as_ref());
        of_peer.unwrap_or(&self.settings.policy)
    }

    /// Whether a verified request is signed only after an approval.
    pub(super) fn needs_approval(&self) -> bool {
        self.settings.require_approval || self.approver.is_some()
    }

    /// The namespace of the provider's own records.
    pub(super) fn namespace(&self) -> &str {
        let namespace = self.settings.namespace.as_ref();
        namespace.map_or(names::LIQO_NAMESPACE, NamespaceName::as_str)
    }

    /// The CA bundle of the API server; empty if there is none.
    pub(super) fn ca(&self) -> Bytes {
        ca_bytes(self.settings.api_server_ca.as_ref())
    }

    /// The Secret that is the record of a peer.
    pub(super) fn record_id(&self, peer: &ClusterId) -> ObjectRef {
        ObjectRef::new(Kind::Secret, self.namespace(), record::name(peer))
    }

    /// Checks that the peer is another cluster.
    pub(super) fn check_other(&self, peer: &ClusterId) -> Result<(), Error> {
        if peer == self.cluster_id() {
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

fn ca_bytes(ca: Option<&CaBundle>) -> Bytes {
    ca.map(|bundle| Bytes::from(bundle.pem()))
        .unwrap_or_default()
}

/// The error for a cluster whose name is already a user or a group (rule 7).
pub(super) fn name_taken(peer: &ClusterId, object: Option<ObjectRef>) -> Error {
    let name = peer.to_string();
    Error::new(PolicyRefusal::NameTaken { name }, object, "spec.clusterID")
}

impl core::fmt::Debug for Configuration {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter
            .debug_struct("Configuration")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
