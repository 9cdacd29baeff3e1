//! What a home says about itself and knows about its peers: `home.yaml`.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use liqo_auth::{
    consumer::PeerSettings,
    crypto::Fingerprint,
    model::{ApiServerUrl, ClusterId, NamespaceName, ProxyUrl},
};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

/// The settings of a home.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Settings {
    pub(crate) cluster_id: ClusterId,
    /// Where peers reach this cluster's API server.
    pub(crate) api_server: ApiServerUrl,
    /// By which CA peers know the API server, if it is another one than the CA
    /// that signs: in PEM.
    pub(crate) api_server_ca: Option<String>,
    /// Whether a person approves of each request before it is signed.
    pub(crate) require_approval: bool,
    pub(crate) peers: BTreeMap<ClusterId, Peer>,
}

/// What is wanted of, or known about, one peer.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Peer {
    pub(crate) proxy_url: Option<ProxyUrl>,
    pub(crate) remote_tenant_namespace: Option<NamespaceName>,
    pub(crate) provider_keys: Vec<Fingerprint>,
    pub(crate) publicly_trusted: bool,
    /// Whether the provider runs on EKS, and may give an AWS user's keys.
    pub(crate) accept_aws: bool,
    /// Whether the consumer may be let in without a handshake.
    pub(crate) tolerate_no_handshake: bool,
}

impl Settings {
    pub(crate) fn read(text: &[u8]) -> Result<Self> {
        let text = std::str::from_utf8(text)?;
        let written: Written = serde_saphyr::from_str(text)
            .map_err(|error| anyhow::anyhow!("{}", error.without_snippet()))?;
        written.parse()
    }

    pub(crate) fn write(&self) -> Result<Zeroizing<String>> {
        let peers = self
            .peers
            .iter()
            .map(|(peer, settings)| (peer.to_string(), WrittenPeer::of(settings)));
        let written = Written {
            cluster_id: self.cluster_id.to_string(),
            api_server: self.api_server.to_string(),
            api_server_ca: self.api_server_ca.clone(),
            require_approval: self.require_approval,
            peers: peers.collect(),
        };
        let options = serde_saphyr::ser_options! { compact_list_indent: true };
        Ok(Zeroizing::new(serde_saphyr::to_string_with_options(
            &written, options,
        )?))
    }
}

impl Peer {
    pub(crate) fn to_library(&self) -> PeerSettings {
        PeerSettings {
            proxy_url: self.proxy_url.clone(),
            remote_tenant_namespace: self.remote_tenant_namespace.clone(),
            provider_keys: self.provider_keys.clone(),
            publicly_trusted: self.publicly_trusted,
            accept_aws: self.accept_aws,
            ..PeerSettings::default()
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(rename = "clusterID")]
    cluster_id: String,
    #[serde(rename = "apiServer")]
    api_server: String,
    #[serde(
        rename = "apiServerCA",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    api_server_ca: Option<String>,
    #[serde(
        rename = "requireApproval",
        default,
        skip_serializing_if = "std::ops::Not::not"
    )]
    require_approval: bool,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    peers: BTreeMap<String, WrittenPeer>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WrittenPeer {
    #[serde(rename = "proxyURL", default, skip_serializing_if = "Option::is_none")]
    proxy_url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    remote_tenant_namespace: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    provider_keys: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    publicly_trusted: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    accept_aws: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    tolerate_no_handshake: bool,
}

impl Written {
    fn parse(self) -> Result<Settings> {
        let peer = |(peer, settings): (String, WrittenPeer)| {
            let id: ClusterId = peer.parse().context("peers")?;
            Ok((
                id,
                settings.parse().with_context(|| format!("peers.{peer}"))?,
            ))
        };
        Ok(Settings {
            cluster_id: self.cluster_id.parse().context("clusterID")?,
            api_server: self.api_server.parse().context("apiServer")?,
            api_server_ca: self.api_server_ca,
            require_approval: self.require_approval,
            peers: self.peers.into_iter().map(peer).collect::<Result<_>>()?,
        })
    }
}

impl WrittenPeer {
    fn of(peer: &Peer) -> Self {
        Self {
            proxy_url: peer.proxy_url.as_ref().map(ToString::to_string),
            remote_tenant_namespace: peer
                .remote_tenant_namespace
                .as_ref()
                .map(ToString::to_string),
            provider_keys: peer.provider_keys.iter().map(ToString::to_string).collect(),
            publicly_trusted: peer.publicly_trusted,
            accept_aws: peer.accept_aws,
            tolerate_no_handshake: peer.tolerate_no_handshake,
        }
    }

    fn parse(self) -> Result<Peer> {
        let keys = self
            .provider_keys
            .iter()
            .map(|key| key.parse().context("providerKeys"));
        Ok(Peer {
            proxy_url: self
                .proxy_url
                .map(|url| url.parse())
                .transpose()
                .context("proxyURL")?,
            remote_tenant_namespace: self
                .remote_tenant_namespace
                .map(|name| name.parse())
                .transpose()
                .context("remoteTenantNamespace")?,
            provider_keys: keys.collect::<Result<_>>()?,
            publicly_trusted: self.publicly_trusted,
            accept_aws: self.accept_aws,
            tolerate_no_handshake: self.tolerate_no_handshake,
        })
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
            require_approval: true,
            peers: BTreeMap::from([(
                "cl-b".parse().unwrap(),
                Peer {
                    proxy_url: Some("http://10.70.0.2:8118".parse().unwrap()),
                    remote_tenant_namespace: Some("tenants".parse().unwrap()),
                    provider_keys: vec![format!("SHA256:{}", "0a".repeat(32)).parse().unwrap()],
                    publicly_trusted: true,
                    accept_aws: true,
                    tolerate_no_handshake: true,
                },
            )]),
        };
        let text = settings.write().unwrap();
        assert_eq!(Settings::read(text.as_bytes()).unwrap(), settings);
    }

    #[test]
    fn a_misspelt_setting_is_refused() {
        let text = b"clusterID: cl-a\napiServer: https://a.example\nclusterid: cl-b\n";
        assert!(Settings::read(text).is_err());
    }
}
