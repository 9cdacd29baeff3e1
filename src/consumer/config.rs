//! A consumer's configuration as data.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::PeerSettings;
use crate::{
    model::{ClusterId, NamespaceName},
    policy::Policy,
};

/// A consumer's configuration as data. [`read_document`] reads it and refuses
/// unknown fields.
///
/// | field | value | if left out |
/// |---|---|---|
/// | `clusterID` | the name of this cluster | an error |
/// | `key` | the name by which the embedder finds this cluster's key | none |
/// | `namespace` | the namespace of the records | `liqo` |
/// | `policy` | a [`Policy`] | strict |
/// | `peers` | a map from the name of a provider to its [`PeerSettings`] | none |
///
/// A [`Policy`] has `forms` (`canonical` or `compatible`) and `limits`, whose names
/// are those of [`Limits`](crate::policy::Limits). [`PeerSettings`] have `proxyURL`,
/// `remoteTenantNamespace`, `providerKeys`, `acceptUnprovenProvider`,
/// `publiclyTrusted`, `policy`, `acceptAws`, `signSlicesMadeByAnyone` and `renewal`
/// (`byEvidence`, `byProvider`, `byConsumer` or `byHand`).
///
/// [`read_document`]: crate::model::read_document
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use liqo_auth::{
///     Consumer, Machine,
///     consumer::ConsumerConfig,
///     crypto::{Entropy, KeyPair, OneKey},
///     model::read_document,
/// };
///
/// let config: ConsumerConfig = read_document(br#"{
///     "clusterID": "cl-consumer",
///     "key": "liqo/authentication-keys",
///     "peers": { "cl-provider": { "proxyURL": "http://10.70.0.2:8118", "renewal": "byHand" } }
/// }"#)?;
/// assert_eq!(config.key.as_deref(), Some("liqo/authentication-keys"));
/// let key = KeyPair::from_entropy(&Entropy::from_bytes([7; 32]));
/// let consumer = Consumer::new(config, Arc::new(OneKey(Arc::new(key))));
/// assert_eq!(consumer.cluster_id().as_str(), "cl-consumer");
/// # Ok::<(), liqo_auth::model::DocumentError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct ConsumerConfig {
    /// The name of this cluster.
    #[serde(rename = "clusterID")]
    pub cluster_id: ClusterId,
    /// The name by which the embedder finds this cluster's key. The key itself
    /// is never a part of the configuration.
    #[serde(default)]
    pub key: Option<String>,
    /// The namespace of the consumer's own records.
    #[serde(default)]
    pub namespace: Option<NamespaceName>,
    /// The policy for all peers.
    #[serde(default)]
    pub policy: Policy,
    /// The settings of each provider.
    #[serde(default)]
    pub peers: BTreeMap<ClusterId, PeerSettings>,
}

impl ConsumerConfig {
    /// The configuration of the cluster with this name. Every other setting has its
    /// default, as in a document without this field.
    pub fn new(cluster_id: ClusterId) -> Self {
        Self {
            cluster_id,
            key: None,
            namespace: None,
            policy: Policy::strict(),
            peers: BTreeMap::new(),
        }
    }
}
