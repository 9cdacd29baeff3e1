//! The identity that a foreign cluster gave.

use sha2::{Digest, Sha256};

use super::look::{Look, Plan};
use crate::model::{AuthStatus, Hex, ObjectRef, Secret, SecretBytes, names};

/// A stored identity.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AcceptedIdentity {
    /// The Secret with the kubeconfig, under the key `kubeconfig`.
    pub kubeconfig_secret: ObjectRef,
    /// The text of the kubeconfig.
    pub kubeconfig: SecretBytes,
}

impl Look<'_> {
    /// Stores the identity. Liqo lets the API server choose the end of the Secret's
    /// name. Here, the peer's ID determines the name, so that two identities cannot
    /// exist.
    pub(super) fn store(
        &self,
        kubeconfig: SecretBytes,
        namespace: Option<String>,
        plan: &mut Plan<'_>,
    ) {
        let peer = self.peer();
        let digest = Sha256::digest(peer.as_str());
        let suffix = Hex::first(&digest, 5);
        let name = format!("{}{suffix}", names::REMOTE_IDENTITY_PREFIX);
        let annotation = namespace.map(|namespace| {
            let name = names::REMOTE_TENANT_NAMESPACE_ANNOTATION.to_owned();
            (name, namespace)
        });
        let labels = [
            (names::DISCOVERY_CLUSTER_ID_LABEL, peer.as_str()),
            (names::REMOTE_IDENTITY_LABEL, ""),
        ];
        let own = self.configuration.namespace();
        let data = [(names::KUBECONFIG, kubeconfig)];
        let mut secret = Secret::labelled(name, own, labels, data);
        secret.metadata.annotations.extend(annotation);
        plan.create(secret);
        self.set_status(AuthStatus::Accepted, plan);
    }
}
