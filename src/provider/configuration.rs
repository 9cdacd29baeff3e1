//! How a provider is configured.

use core::time::Duration;
use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Deserializer, de::Error as _};

use super::{
    Approver, AwsIdentities, CsrSigner, LiqoClasses, Principals, Provider, ResourceSlicePolicy,
    caps,
    principals::{NotSet, is_well_known},
};
use crate::{
    crypto::{CaBundle, ClientCas, RecordKey, SigningKey},
    error::{ApiMisuse, Error, PolicyRefusal},
    model::{ApiServerUrl, Bytes, ClusterId, Kind, NamespaceName, ObjectRef, Quantity, names},
    policy::Policy,
    verify,
};

/// The configuration of a provider, as data.
/// [`read_document`](crate::model::read_document) reads it and refuses unknown
/// fields.
///
/// | field | value | if left out |
/// |---|---|---|
/// | `clusterID` | the name of this cluster | an error |
/// | `apiServer` | the URL by which peers reach this cluster's API server | an error |
/// | `apiServerCA` | the CA certificates of the API server, in PEM | its certificate is publicly trusted |
/// | `clientCAs` | the CA certificates by which the API server lets clients in, in PEM; a text that cannot be read is as none | unknown |
/// | `recordKey` | the name by which the embedder finds the record key | none |
/// | `key` | the name by which the embedder finds this cluster's key | none |
/// | `kubernetesSigner` | whether Kubernetes' own signer signs the certificates | `false` |
/// | `requireApproval` | whether each request waits for an administrator | `false` |
/// | `adoptFromLiqo` | whether a running peering of Liqo goes on without a new handshake | `false` |
/// | `adoptUpTo` | how much of each resource that Liqo has granted a slice then keeps | 4 CPU, 8Gi of memory, 110 pods, 20Gi of ephemeral storage |
/// | `nonceLifetimeSeconds` | the lifetime of a nonce | a day |
/// | `invitationsLapse` | whether a first invitation ends with its nonce | `false` |
/// | `certificateLifetimeSeconds` | the lifetime that a certificate request asks for | 365 days |
/// | `namespace` | the namespace of the records | `liqo` |
/// | `policy` | a [`Policy`], as in [`ConsumerConfig`](crate::consumer::ConsumerConfig) | strict |
/// | `peers` | a map from the name of a consumer to its [`ConsumerSettings`] | none |
///
/// [`ConsumerSettings`] have `policy`, `tolerateNoHandshake` and `keepRecord`.
///
/// # Examples
/// ```
/// use liqo_auth::{Machine, crypto::RecordKey, model::read_document, provider::ProviderConfig};
///
/// let config: ProviderConfig = read_document(br#"{
///     "clusterID": "cl-provider",
///     "apiServer": "https://172.19.0.3:6443",
///     "recordKey": "liqo/record-key",
///     "requireApproval": true,
///     "peers": { "cl-consumer": { "policy": { "forms": "compatible" } } }
/// }"#)?;
/// assert_eq!(config.record_key.as_deref(), Some("liqo/record-key"));
/// let provider = config.builder(RecordKey::new([1; 32])?).build();
/// assert_eq!(provider.cluster_id().as_str(), "cl-provider");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct ProviderConfig {
    /// The name of this cluster.
    #[serde(rename = "clusterID")]
    pub cluster_id: ClusterId,
    /// The URL by which peers reach this cluster's API server.
    pub api_server: ApiServerUrl,
    /// The CA certificates by which peers verify the API server; `None` if its
    /// certificate is publicly trusted.
    #[serde(default, rename = "apiServerCA", deserialize_with = "ca_bundle")]
    pub api_server_ca: Option<CaBundle>,
    /// The CAs by which the API server lets clients in, or more than these: `client-ca-file` in
    /// the ConfigMap `extension-apiserver-authentication` of `kube-system`. `None` if they are
    /// unknown, as with an authentication configuration of the API server's own.
    ///
    /// If none of them has issued a certificate on record, its renewal is due at once. If the
    /// signer's next certificate is not by one of them either, the provider keeps it, and
    /// does not sign again for this set: [`Renewal::Denied`](super::Renewal::Denied) says so. A
    /// peer that is drained or refused, and a slice that is denied, get no such renewal. An
    /// algorithm that this build cannot verify decides nothing.
    #[serde(default, rename = "clientCAs", deserialize_with = "readable_ca_bundle")]
    pub client_cas: Option<CaBundle>,
    /// The name by which the embedder finds the record key. The key itself is
    /// never a part of the configuration.
    #[serde(default)]
    pub record_key: Option<String>,
    /// The name by which the embedder finds this cluster's key, for
    /// [`ProviderBuilder::key`].
    #[serde(default)]
    pub key: Option<String>,
    /// Whether Kubernetes' own signer (`kubernetes.io/kube-apiserver-client`) signs.
    /// In three steps, the provider creates a CertificateSigningRequest, approves
    /// the version that it has read, and reads the certificate. The caller needs the
    /// rights to create, get, list, watch and delete CertificateSigningRequests, to
    /// update and patch their `/approval`, and `approve` on that signer.
    #[serde(default)]
    pub kubernetes_signer: bool,
    /// Whether each new request of a peer waits for
    /// [`Provider::approve`](super::Provider::approve) before it is signed.
    #[serde(default)]
    pub require_approval: bool,
    /// Whether a running peering that Liqo made goes on without a new handshake. A peering
    /// runs if the peer has all bindings of Liqo, and the status of its Tenant has a valid
    /// certificate for the Tenant's key. A peer that is on record is never adopted. The
    /// embedder asserts that no peer can write the status of a Tenant. With Liqo's roles,
    /// no peer can.
    #[serde(default)]
    pub adopt_from_liqo: bool,
    /// How much of each resource a slice keeps of what Liqo has granted it, if its peering is
    /// adopted; by default, as much as Liqo grants if a slice asks for nothing. What goes
    /// beyond waits for [`Provider::confirm_slice`](super::Provider::confirm_slice). Without
    /// any cap, no slice keeps anything, and the [policy](ProviderBuilder::slices) decides on
    /// each slice as on a new one. So it does for classes other than Liqo's.
    #[serde(
        default = "caps::liqos_resources",
        deserialize_with = "caps::deserialize"
    )]
    pub adopt_up_to: BTreeMap<String, Quantity>,
    /// The lifetime of a nonce; 24 hours by default, since people may carry the nonce
    /// by hand.
    #[serde(
        default = "one_day",
        rename = "nonceLifetimeSeconds",
        deserialize_with = "seconds"
    )]
    pub nonce_lifetime: Duration,
    /// Whether a first invitation ends with its nonce: a peer that has not used the nonce is
    /// [over](super::Phase::Ended), and the next step deletes nonce and record. By default, the
    /// invitation lasts as long as its Secret, and the nonce is made anew: in a cluster, the
    /// peer's programs read it there.
    #[serde(default)]
    pub invitations_lapse: bool,
    /// How long a peering that has ended may begin again with its nonce: the nonce serves again
    /// for the pinned key and a new Tenant, at least while it is valid. `None`, the default: a
    /// nonce serves once. Liqo keeps a nonce and its signature when a peering ends, and its
    /// `liqoctl authenticate` takes them again. A nonce never serves again after a drain, a
    /// denial, a release or a succession of the key, or an
    /// [end for good](super::Provider::end_for_good), and an approver decides anew.
    #[serde(
        default,
        rename = "peerAgainSeconds",
        deserialize_with = "maybe_seconds"
    )]
    pub peer_again: Option<Duration>,
    /// The certificate lifetime that the provider requests from the signer; 365 days
    /// by default. The Kubernetes API does not accept less than ten minutes
    /// ([`expiration_seconds`](super::SigningRequest::expiration_seconds)).
    #[serde(
        default = "one_year",
        rename = "certificateLifetimeSeconds",
        deserialize_with = "seconds"
    )]
    pub certificate_lifetime: Duration,
    /// The namespace of the provider's own records, to which no peer has access;
    /// `liqo` by default.
    #[serde(default)]
    pub namespace: Option<NamespaceName>,
    /// The policy for all peers; [`Policy::strict`] by default.
    #[serde(default)]
    pub policy: Policy,
    /// The settings of single peers.
    #[serde(default)]
    pub peers: BTreeMap<ClusterId, ConsumerSettings>,
}

/// The settings for one consumer, as data.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct ConsumerSettings {
    /// The policy for this consumer; `None` if the provider's policy applies.
    pub policy: Option<Policy>,
    /// Whether the provider accepts this consumer without a handshake if its Tenant
    /// asks for that (`authzPolicy: TolerateNoHandshake`). Then only the name
    /// identifies the consumer: anyone who can write a Tenant on this cluster can
    /// claim this name. A Tenant that does not ask for this needs the handshake.
    pub tolerate_no_handshake: bool,
    /// Whether the record of this consumer outlives an ended peering. Without this
    /// setting, the record is deleted when no certificate or access key of the consumer
    /// can be valid any more, and the consumer is [uninvited](super::Phase::Uninvited)
    /// again. With it, the phase stays [`Ended`](super::Phase::Ended) until
    /// [`Provider::invite`](super::Provider::invite). A program that itself invites
    /// uninvited consumers must use this setting for these consumers.
    pub keep_record: bool,
}

impl ProviderConfig {
    /// The configuration of the cluster with this name. Its peers reach its API server
    /// at `endpoint`. Every other setting has its default, as in a document that
    /// omits the setting.
    pub(super) fn new(cluster_id: ClusterId, endpoint: Endpoint) -> Self {
        Self {
            cluster_id,
            api_server: endpoint.api_server,
            api_server_ca: endpoint.ca,
            client_cas: None,
            record_key: None,
            key: None,
            kubernetes_signer: false,
            require_approval: false,
            adopt_from_liqo: false,
            adopt_up_to: caps::liqos_resources(),
            nonce_lifetime: one_day(),
            invitations_lapse: false,
            peer_again: None,
            certificate_lifetime: one_year(),
            namespace: None,
            policy: Policy::strict(),
            peers: BTreeMap::new(),
        }
    }

    /// A builder with this configuration and the record key that
    /// [`record_key`](Self::record_key) names. Set the backends on the builder.
    pub fn builder(self, record_key: RecordKey) -> ProviderBuilder {
        ProviderBuilder(Configuration {
            settings: self,
            client_cas: None,
            record_key,
            key: None,
            signer: None,
            aws: None,
            principals: Arc::new(NotSet),
            slice_policy: Arc::new(LiqoClasses::default()),
            approver: None,
        })
    }
}

fn one_day() -> Duration {
    Duration::from_secs(24 * 60 * 60)
}

fn one_year() -> Duration {
    Duration::from_secs(365 * 24 * 60 * 60)
}

fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    u64::deserialize(deserializer).map(Duration::from_secs)
}

fn maybe_seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    Ok(Option::deserialize(deserializer)?.map(Duration::from_secs))
}

fn ca_bundle<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<CaBundle>, D::Error> {
    let pem = String::deserialize(deserializer)?;
    CaBundle::from_pem(pem.as_bytes(), &Policy::compatible())
        .map(Some)
        .map_err(|error| {
            D::Error::custom(format_args!(
                "found text without valid CA certificates, expected CA certificates in PEM: \
                 {error}"
            ))
        })
}

fn readable_ca_bundle<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<CaBundle>, D::Error> {
    // The API server writes this text, and no administrator can shorten it.
    let pem = Option::<String>::deserialize(deserializer)?.unwrap_or_default();
    Ok(CaBundle::from_pem(pem.as_bytes(), &Policy::compatible()).ok())
}

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

#[derive(derive_more::Debug)]
#[debug("Configuration {{ settings: {settings:?}, .. }}")]
pub(crate) struct Configuration {
    pub(super) settings: ProviderConfig,
    pub(super) client_cas: Option<ClientCas>,
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
    #[cfg(feature = "legacy")]
    pub(crate) fn api_server(&self) -> &ApiServerUrl {
        &self.api_server
    }

    /// The CA bundle; empty if there is none.
    #[cfg(feature = "legacy")]
    pub(crate) fn ca(&self) -> Bytes {
        ca_bytes(self.ca.as_ref())
    }
}

impl ProviderBuilder {
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
    /// certificate. This is for a provider on EKS. The provider then does not ask a signer
    /// and does not renew anything, since an access key does not expire.
    #[must_use]
    pub fn aws(mut self, identities: Arc<dyn AwsIdentities>) -> Self {
        self.0.aws = Some(identities);
        self
    }

    /// Sets the look-up of the names that are already users or groups. Without a
    /// look-up, no new peer and no new slice is accepted. An empty
    /// [`NameTable`](super::NameTable) means that only the well-known names are taken.
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
    pub fn build(mut self) -> Provider {
        self.0.client_cas = self.0.settings.client_cas.as_ref().map(ClientCas::of);
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

    /// Whether the record of an ended peering stays.
    pub(crate) fn keeps_record(&self, peer: &ClusterId) -> bool {
        let of_peer = self.settings.peers.get(peer);
        of_peer.is_some_and(|settings| settings.keep_record)
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
        ObjectRef::new(Kind::Secret, self.namespace(), names::provider_record(peer))
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
