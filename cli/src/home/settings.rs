//! The settings of a home, for itself and for its peers: `home.yaml`.

use core::ops::Not;
use std::collections::BTreeMap;

use anyhow::Result;
use clap::ValueEnum;
use ipnet::IpNet;
use liqo_auth::{
    consumer::PeerSettings,
    crypto::{CaBundle, Fingerprint},
    model::{
        ApiServerUrl, ClusterId, DocumentError, NamespaceName, ProxyUrl, StorageClass,
        read_document,
    },
    policy::{Addresses, Policy},
    provider::ProviderConfig,
};
use liqo_auth_kube::ProviderKeys;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::{
    lifetimes::{self, Lifetime},
    slices::{self, SlicePolicy, Slices},
};
use crate::values::{
    key_algorithm::KeyAlgorithm, policy_name::PolicyName, renewal_name::RenewalName,
};

/// The settings of a home.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Settings {
    #[serde(rename = "clusterID")]
    pub(crate) cluster_id: ClusterId,
    /// The URL of this cluster's API server, as peers reach it.
    pub(crate) api_server: ApiServerUrl,
    /// The CA of the API server's certificate (PEM), if it is not the CA that signs
    /// for peers.
    #[serde(
        rename = "apiServerCA",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub(crate) api_server_ca: Option<String>,
    /// Whether only the cluster itself reaches the URL.
    #[serde(skip)]
    pub(crate) is_internal: bool,
    /// Whether a person approves each request before it is signed.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub(crate) require_approval: bool,
    /// For how many days after its end a peering may begin again with its nonce. With 0, never.
    /// If this is left out, never in a home; on a cluster, while the nonce is valid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) peer_again_days: Option<u16>,
    /// How long a nonce is valid.
    #[serde(
        default,
        deserialize_with = "lifetimes::of_nonces",
        skip_serializing_if = "Option::is_none"
    )]
    pub(crate) nonce_lifetime: Option<Lifetime>,
    /// The life of a certificate that is asked of the signer.
    #[serde(
        default,
        deserialize_with = "lifetimes::of_certificates",
        skip_serializing_if = "Option::is_none"
    )]
    pub(crate) certificate_lifetime: Option<Lifetime>,
    /// Who signs for peers.
    #[serde(default, skip_serializing_if = "Signer::is_home")]
    pub(crate) signer: Signer,
    /// Whether the home stands for a real cluster, to which a person carries the changes.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub(crate) for_cluster: bool,
    /// Whether each new provider gets a key of its own. If this is left out, none does in a
    /// home; on a cluster, those do that are consumers as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key_per_provider: Option<bool>,
    /// Which addresses the API servers of providers may have.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub(crate) addresses: Addresses,
    /// The addresses of the cluster's own Services, at which no provider is.
    #[serde(skip)]
    pub(crate) service_ranges: Vec<IpNet>,
    /// The CAs by which the cluster's API server lets clients in, or more than these. None if they
    /// are unknown.
    #[serde(skip)]
    pub(crate) client_cas: Option<CaBundle>,
    /// The storage classes of the cluster.
    #[serde(skip)]
    pub(crate) storage_classes: Vec<StorageClass>,
    /// What the resource slices of consumers get.
    #[serde(default, skip_serializing_if = "Slices::is_usual")]
    pub(crate) slices: Slices,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) peers: BTreeMap<ClusterId, Peer>,
}

fn is_usual(addresses: &Addresses) -> bool {
    *addresses == Addresses::default()
}

/// Who signs the requests of a home's peers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Signer {
    /// The home itself, with the key of its CA
    #[default]
    Home,
    /// The real cluster's own signer: a person carries each request and its certificate
    Kubernetes,
    /// Nobody: AWS users take the place of certificates, and a person enters each one
    Aws,
}

impl Signer {
    fn is_home(&self) -> bool {
        *self == Self::Home
    }
}

/// The settings for one peer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Peer {
    #[serde(rename = "proxyURL", skip_serializing_if = "Option::is_none")]
    pub(crate) proxy_url: Option<ProxyUrl>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) remote_tenant_namespace: Option<NamespaceName>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) provider_keys: Vec<Fingerprint>,
    /// Whether the provider may leave out the proof that its nonce promised.
    #[serde(skip_serializing_if = "Not::not")]
    pub(crate) accept_unproven_provider: bool,
    #[serde(skip_serializing_if = "Not::not")]
    pub(crate) publicly_trusted: bool,
    /// Whether the provider runs on EKS. Its Identity may then carry an AWS user's
    /// keys.
    #[serde(skip_serializing_if = "Not::not")]
    pub(crate) accept_aws: bool,
    /// Which forms of the peer's messages are accepted, if not those of `--policy`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) policy: Option<PolicyName>,
    /// Whether running controllers invite the consumer for its first peering.
    #[serde(skip_serializing_if = "Not::not")]
    pub(crate) invite: bool,
    /// Whether the consumer may be let in without a handshake.
    #[serde(skip_serializing_if = "Not::not")]
    pub(crate) tolerate_no_handshake: bool,
    /// Who renews the certificates from the provider.
    #[serde(skip_serializing_if = "RenewalName::is_usual")]
    pub(crate) renewal: RenewalName,
    /// Whether the provider gets a key of its own, if it is not as for the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) key_per_provider: Option<bool>,
    /// Whether slices for the provider are signed that the provider may have made.
    #[serde(skip_serializing_if = "Not::not")]
    pub(crate) sign_slices_made_by_anyone: bool,
    /// The digest of the kubeconfig that an administrator has made for the provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kubeconfig_digest: Option<Fingerprint>,
    /// What the consumer's resource slices get, if it is not as for the others.
    #[serde(
        deserialize_with = "slices::of_peer",
        skip_serializing_if = "Slices::is_usual"
    )]
    pub(crate) slices: Slices,
}

/// The settings in a cluster's ConfigMap. The rest follows from the cluster itself and
/// from the kubeconfig.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct OnCluster {
    /// The URL of the API server, as peers reach it, if it is not the kubeconfig's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) api_server: Option<ApiServerUrl>,
    /// The CA of the API server's certificate (PEM), if it is not the cluster's own.
    #[serde(rename = "apiServerCA", skip_serializing_if = "Option::is_none")]
    pub(super) api_server_ca: Option<String>,
    /// Whether a public CA signed the API server's certificate, so that peers need no CA. If
    /// neither this nor a CA is said, peers get the cluster's own CA.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) publicly_trusted: Option<bool>,
    #[serde(skip_serializing_if = "Not::not")]
    pub(super) require_approval: bool,
    /// For how many days after its end a peering may begin again with its nonce.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) peer_again_days: Option<u16>,
    /// How long a nonce is valid.
    #[serde(
        deserialize_with = "lifetimes::of_nonces",
        skip_serializing_if = "Option::is_none"
    )]
    pub(super) nonce_lifetime: Option<Lifetime>,
    /// The life of a certificate that is asked of the signer.
    #[serde(
        deserialize_with = "lifetimes::of_certificates",
        skip_serializing_if = "Option::is_none"
    )]
    pub(super) certificate_lifetime: Option<Lifetime>,
    /// The algorithm of the cluster's key pair, if it is not made yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) key_algorithm: Option<KeyAlgorithm>,
    /// Who signs for peers, if it is not the cluster's own signer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) signer: Option<Signer>,
    /// Whether each new provider gets a key of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) key_per_provider: Option<bool>,
    /// Which addresses the API servers of providers may have.
    #[serde(skip_serializing_if = "is_usual")]
    pub(super) addresses: Addresses,
    /// What the resource slices of consumers get.
    #[serde(skip_serializing_if = "Slices::is_usual")]
    pub(super) slices: Slices,
    /// The settings for peers. Their place is the Secret ([`OfPeers`]).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) peers: BTreeMap<ClusterId, Peer>,
}

/// The settings for peers in a cluster's Secret. They have the form of those in a home.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct OfPeers {
    pub(super) peers: BTreeMap<ClusterId, Peer>,
}

impl OfPeers {
    pub(super) fn read(text: &[u8]) -> Result<Self, DocumentError> {
        read_document(text)
    }

    pub(super) fn write(&self) -> Result<Zeroizing<String>> {
        to_yaml(self)
    }
}

impl OnCluster {
    pub(super) fn read(text: &[u8]) -> Result<Self, DocumentError> {
        read_document(text)
    }

    pub(super) fn write(&self) -> Result<Zeroizing<String>> {
        to_yaml(self)
    }
}

impl Settings {
    /// Sets the lifetimes that are said. The others are the library's.
    pub(crate) fn set_lifetimes(&self, config: &mut ProviderConfig) {
        if let Some(said) = &self.nonce_lifetime {
            config.nonce_lifetime = said.duration();
        }
        if let Some(said) = &self.certificate_lifetime {
            config.certificate_lifetime = said.duration();
        }
    }

    /// The policy with the addresses that these settings allow.
    pub(crate) fn with_addresses(&self, policy: &Policy) -> Policy {
        let mut policy = policy.clone();
        policy.addresses = self.addresses.clone();
        let refused = &mut policy.addresses.refused;
        refused.extend(self.service_ranges.iter().copied());
        policy
    }

    /// The library's settings for a provider.
    pub(crate) fn of_provider(&self, provider: &ClusterId) -> PeerSettings {
        let said = self.peers.get(provider);
        let mut settings = said.map(Peer::to_library).unwrap_or_default();
        let policy = settings.policy.take();
        settings.policy = policy.map(|policy| self.with_addresses(&policy));
        settings
    }

    /// The decision on the resource slices of consumers.
    pub(crate) fn slice_policy(&self) -> SlicePolicy {
        let of_peers = self.peers.iter();
        let of_peers = of_peers.map(|(peer, settings)| (peer, &settings.slices));
        SlicePolicy::new(&self.slices, of_peers, &self.storage_classes)
    }

    /// Tells the controllers' key store which new providers get keys of their own.
    pub(crate) fn choose_keys(&self, keys: &ProviderKeys) {
        let of_peers = self.peers.iter();
        let of_peers = of_peers.filter_map(|(id, peer)| Some((id.clone(), peer.key_per_provider?)));
        keys.set(self.key_per_provider, of_peers.collect());
    }

    /// Whether a new provider gets a key of its own. None if nothing is said.
    pub(crate) fn key_for(&self, provider: &ClusterId) -> Option<bool> {
        let of_peer = self.peers.get(provider);
        of_peer
            .and_then(|peer| peer.key_per_provider)
            .or(self.key_per_provider)
    }

    pub(crate) fn read(text: &[u8]) -> Result<Self, DocumentError> {
        read_document(text)
    }

    pub(crate) fn write(&self) -> Result<Zeroizing<String>> {
        to_yaml(self)
    }
}

fn to_yaml(settings: &impl Serialize) -> Result<Zeroizing<String>> {
    let options = serde_saphyr::ser_options! { compact_list_indent: true };
    let text = serde_saphyr::to_string_with_options(settings, options)?;
    Ok(Zeroizing::new(text))
}

impl Peer {
    fn to_library(&self) -> PeerSettings {
        PeerSettings {
            proxy_url: self.proxy_url.clone(),
            remote_tenant_namespace: self.remote_tenant_namespace.clone(),
            provider_keys: self.provider_keys.clone(),
            accept_unproven_provider: self.accept_unproven_provider,
            publicly_trusted: self.publicly_trusted,
            accept_aws: self.accept_aws,
            sign_slices_made_by_anyone: self.sign_slices_made_by_anyone,
            kubeconfig_digest: self.kubeconfig_digest,
            policy: self.policy.map(PolicyName::policy),
            renewal: self.renewal.scheme(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_come_back_as_they_went() {
        let settings = Settings {
            cluster_id: "cl-a".parse().unwrap(),
            api_server: "https://172.19.0.3:6443".parse().unwrap(),
            api_server_ca: Some(
                "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n".to_owned(),
            ),
            is_internal: false,
            require_approval: true,
            peer_again_days: Some(30),
            nonce_lifetime: None,
            certificate_lifetime: None,
            signer: Signer::Kubernetes,
            for_cluster: true,
            key_per_provider: Some(true),
            addresses: Addresses {
                allowed: vec!["127.0.0.0/8".parse().unwrap()],
                refused: vec!["10.96.0.0/12".parse().unwrap()],
            },
            service_ranges: Vec::new(),
            client_cas: None,
            storage_classes: Vec::new(),
            slices: read_document(b"adoptUpTo: {cpu: 2}").unwrap(),
            peers: BTreeMap::from([(
                "cl-b".parse().unwrap(),
                Peer {
                    proxy_url: Some("http://10.70.0.2:8118".parse().unwrap()),
                    remote_tenant_namespace: Some("tenants".parse().unwrap()),
                    provider_keys: vec![format!("SHA256:{}", "0a".repeat(32)).parse().unwrap()],
                    accept_unproven_provider: true,
                    publicly_trusted: true,
                    accept_aws: true,
                    policy: Some(PolicyName::Compatible),
                    invite: true,
                    tolerate_no_handshake: true,
                    renewal: RenewalName::ByHand,
                    key_per_provider: Some(false),
                    sign_slices_made_by_anyone: true,
                    kubeconfig_digest: Some(format!("SHA256:{}", "0b".repeat(32)).parse().unwrap()),
                    slices: read_document(b"caps: {cpu: 4}").unwrap(),
                },
            )]),
        };
        let text = settings.write().unwrap();
        assert_eq!(Settings::read(text.as_bytes()).unwrap(), settings);
    }

    #[test]
    fn what_a_takeover_keeps_is_said_for_all_peers() {
        let text = |peer: &str| {
            format!(
                "clusterID: cl-a\napiServer: https://a.example\npeers: {{cl-b: {{slices: {peer}}}}}\n"
            )
        };
        assert!(Settings::read(text("{caps: {cpu: 2}}").as_bytes()).is_ok());
        let error = Settings::read(text("{adoptUpTo: {cpu: 2}}").as_bytes()).unwrap_err();
        assert!(error.to_string().contains("for all peers"), "{error}");
    }

    #[test]
    fn a_misspelt_setting_is_refused() {
        let text = b"clusterID: cl-a\napiServer: https://a.example\nclusterid: cl-b\n";
        assert!(Settings::read(text).is_err());
    }
}
