//! Liqo's objects that both sides use.

use sha2::{Digest, Sha256};

use super::AuthToken;
use crate::{
    error::{Error, LocalFault},
    machine::{View, view::only},
    model::{ClusterId, ForeignCluster, Hex, Metadata, Secret, names},
    policy::Policy,
};

/// The peer's ForeignCluster. Two of them are an error.
pub(super) fn foreign_cluster<'o>(view: &View<'o>) -> Result<Option<&'o ForeignCluster>, Error> {
    let peer = view.peer().as_str();
    only(view.every::<ForeignCluster>()?.filter(|cluster| {
        cluster.spec.cluster_identity.cluster_id == peer
            || (cluster.spec.cluster_identity.cluster_id.is_empty()
                && is_of(&cluster.metadata, view.peer()))
    }))
}

/// Whether Liqo's label assigns an object to the peer.
pub(super) fn is_of(metadata: &Metadata, peer: &ClusterId) -> bool {
    metadata.label(names::DISCOVERY_CLUSTER_ID_LABEL) == Some(peer.as_str())
}

/// The Secret with another cluster's token. Source: Liqo
/// `authenticationtoken.StoreInSecret`.
pub(super) fn remote_token(namespace: &str, peer: &ClusterId, token: &AuthToken) -> Secret {
    let labels = [
        (names::DISCOVERY_CLUSTER_ID_LABEL, peer.as_str()),
        (names::AUTH_TOKEN_LABEL, ""),
    ];
    let data = [(names::TOKEN, token.expose().as_bytes().into())];
    Secret::labelled(names::remote_token_secret(peer), namespace, labels, data)
}

/// The token in a Secret.
pub(super) fn token_in(secret: &Secret, policy: &Policy) -> Result<AuthToken, Error> {
    let token = secret.get(names::TOKEN).unwrap_or_default();
    AuthToken::parse(token, policy)
        .map_err(|error| Error::found_in(secret, "data.token", LocalFault::Token(error)))
}

/// The tenant namespace's name in Liqo 0.4 to 0.10: the cluster's name and the first
/// three bytes of the SHA-256 of its ID. Source: Liqo
/// `foreignclusterutils.UniqueName`.
pub(super) fn tenant_namespace(name: &str, id: &ClusterId) -> String {
    let digest = Sha256::digest(id.as_str());
    format!("liqo-tenant-{name}-{}", Hex::first(&digest, 3))
}
