//! The identity that was received.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::look::{Look, Plan};
use crate::model::{
    AuthStatus, Metadata, ObjectRef, Resource, Secret, SecretBytes, Timestamp, names,
};

/// An identity that is stored.
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
    /// Stores the identity. Liqo has the API server choose the end of the
    /// Secret's name; here the peer's ID does, so that there are never two.
    pub(super) fn store(
        &self,
        kubeconfig: SecretBytes,
        namespace: Option<String>,
        now: Timestamp,
        plan: &mut Plan<'_>,
    ) {
        let peer = self.peer();
        let mut name = names::REMOTE_IDENTITY_PREFIX.to_owned();
        for byte in Sha256::digest(peer.as_str()).iter().take(5) {
            name.push_str(&format!("{byte:02x}"));
        }
        let annotation = namespace.map(|namespace| {
            let name = names::REMOTE_TENANT_NAMESPACE_ANNOTATION.to_owned();
            (name, namespace)
        });
        plan.create(Secret {
            metadata: Metadata {
                name,
                namespace: self.configuration.settings.namespace.clone(),
                labels: BTreeMap::from([
                    (
                        names::DISCOVERY_CLUSTER_ID_LABEL.to_owned(),
                        peer.to_string(),
                    ),
                    (names::REMOTE_IDENTITY_LABEL.to_owned(), String::new()),
                ]),
                annotations: annotation.into_iter().collect(),
                ..Metadata::default()
            },
            data: BTreeMap::from([(names::KUBECONFIG.to_owned(), kubeconfig)]),
            ..Secret::default()
        });
        self.set_status(AuthStatus::Accepted, now, plan);
    }
}
