//! Liqo's objects that both sides know.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::AuthToken;
use crate::{
    error::{Error, LocalFault},
    machine::View,
    model::{ClusterId, ForeignCluster, Metadata, Resource, Secret, names},
};

/// The peer's ForeignCluster; two of them are an error.
pub(super) fn foreign_cluster<'o>(view: &View<'o>) -> Result<Option<&'o ForeignCluster>, Error> {
    let peer = view.peer().as_str();
    only(view.every::<ForeignCluster>()?.filter(|cluster| {
        cluster.spec.cluster_identity.cluster_id == peer
            || (cluster.spec.cluster_identity.cluster_id.is_empty()
                && is_of(&cluster.metadata, view.peer()))
    }))
}

/// The peer that an object is about, by Liqo's label or by that of a record.
pub(super) fn labelled_peer(metadata: &Metadata) -> Option<ClusterId> {
    let labels = &metadata.labels;
    labels
        .get(names::DISCOVERY_CLUSTER_ID_LABEL)
        .or_else(|| labels.get(names::RECORD_PEER_LABEL))?
        .parse()
        .ok()
}

/// Whether Liqo's label says that an object is about the peer.
pub(super) fn is_of(metadata: &Metadata, peer: &ClusterId) -> bool {
    let label = metadata.labels.get(names::DISCOVERY_CLUSTER_ID_LABEL);
    label.map(String::as_str) == Some(peer.as_str())
}

/// The Secret with another cluster's token. Source: Liqo
/// `authenticationtoken.StoreInSecret`.
pub(super) fn remote_token(namespace: &str, peer: &ClusterId, token: &AuthToken) -> Secret {
    Secret {
        metadata: Metadata {
            name: names::remote_token_secret(peer),
            namespace: namespace.to_owned(),
            labels: BTreeMap::from([
                (
                    names::DISCOVERY_CLUSTER_ID_LABEL.to_owned(),
                    peer.to_string(),
                ),
                (names::AUTH_TOKEN_LABEL.to_owned(), String::new()),
            ]),
            ..Metadata::default()
        },
        data: BTreeMap::from([(names::TOKEN.to_owned(), token.expose().as_bytes().into())]),
        ..Secret::default()
    }
}

/// The tenant namespace as Liqo 0.4 to 0.10 names it: by the cluster's name
/// and the first three bytes of its ID's SHA-256. Source: Liqo
/// `foreignclusterutils.UniqueName`.
pub(super) fn tenant_namespace(name: &str, id: &ClusterId) -> String {
    let mut namespace = format!("liqo-tenant-{name}-");
    for byte in Sha256::digest(id.as_str()).iter().take(3) {
        namespace.push_str(&format!("{byte:02x}"));
    }
    namespace
}

/// The only object; two of them are an error.
pub(super) fn only<'o, K: Resource>(
    mut found: impl Iterator<Item = &'o K>,
) -> Result<Option<&'o K>, Error> {
    let Some(first) = found.next() else {
        return Ok(None);
    };
    match found.find(|other| other.id() != first.id()) {
        None => Ok(Some(first)),
        Some(other) => {
            let other = other.id().to_string();
            let id = Some(first.id());
            Err(Error::new(LocalFault::Ambiguous { other }, id, ""))
        }
    }
}
