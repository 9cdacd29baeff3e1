//! The identity that a foreign cluster gave.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::look::{Look, Plan};
use crate::model::{
    AuthStatus, Hex, Metadata, ObjectRef, Resource, Secret, SecretBytes, Timestamp, names,
};

/// A stored identity.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AcceptedIdentity {
    /// The Secret with the kubeconfig, under the key `kubeconfig`.
    pub kubeconfig_secret: ObjectRef,
    /// The text of the kubeconfig.
    pub kubeconfig: SecretBytes,
}

impl AcceptedIdentity {
    pub(super) fn new(secret: &Secret) -> Self {
        Self {
            kubeconfig_secret: secret.id(),
            kubeconfig: secret.get(names::KUBECONFIG).unwrap_or_default().into(),
        }
    }
}

impl Look<'_> {
    /// Stores the identity. Liqo lets the API server choose the end of the Secret's
    /// name. Here, the peer's ID determines the name, so that two identities cannot
    /// exist.
    pub(super) fn store(
        &self,
        kubeconfig: SecretBytes,
        namespace: Option<String>,
        now: Timestamp,
        plan: &mut Plan<'_>,
    ) {
        let peer = self.peer();
        let digest = Sha256::digest(peer.as_str());
        let name = format!(
            "{}{}",
            names::REMOTE_IDENTITY_PREFIX,
            Hex::first(&digest, 5)
        );
        let annotation = namespace.map(|namespace| {
            let name = names::REMOTE_TENANT_NAMESPACE_ANNOTATION.to_owned();
            (name, namespace)
        });
        plan.create(Secret {
            metadata: Metadata {
                annotations: annotation.into_iter().collect(),
                ..Metadata::labelled(
                    name,
                    self.configuration.settings.namespace.as_str(),
                    [
                        (names::DISCOVERY_CLUSTER_ID_LABEL, peer.as_str()),
                        (names::REMOTE_IDENTITY_LABEL, ""),
                    ],
                )
            },
            data: BTreeMap::from([(names::KUBECONFIG.to_owned(), kubeconfig)]),
            ..Secret::default()
        });
        self.set_status(AuthStatus::Accepted, now, plan);
    }
}
