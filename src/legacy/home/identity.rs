//! The identity that was received.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::{Home, record::status};
use crate::{
    machine::Step,
    model::{
        AuthStatus, ClusterId, ForeignCluster, Metadata, ObjectRef, Resource, Secret, SecretBytes,
        Timestamp, names,
    },
};

/// The identity is stored.
#[derive(Debug, Clone, Copy)]
pub struct Held<'o> {
    secret: &'o Secret,
    cluster: &'o ForeignCluster,
}

impl<'o> Held<'o> {
    pub(super) fn new(secret: &'o Secret, cluster: &'o ForeignCluster) -> Self {
        Self { secret, cluster }
    }

    /// Where the kubeconfig is: a Secret with the key `kubeconfig`.
    pub fn kubeconfig_secret(&self) -> ObjectRef {
        self.secret.id()
    }

    /// The text of the kubeconfig.
    pub fn kubeconfig(&self) -> &'o [u8] {
        self.secret.get(names::KUBECONFIG).unwrap_or_default()
    }

    /// What is left to do: to say so.
    pub(super) fn maintain(&self, now: Timestamp) -> Step {
        let effect = status(self.cluster, AuthStatus::Accepted, now);
        Step {
            effects: effect.into_iter().collect(),
            ..Step::default()
        }
    }
}

impl Home {
    /// The Secret that carries it. Liqo has the API server choose the end of
    /// its name; here the peer's ID does, so that there are never two.
    pub(super) fn identity_secret(
        &self,
        peer: &ClusterId,
        kubeconfig: SecretBytes,
        namespace: Option<String>,
    ) -> Secret {
        let mut name = names::REMOTE_IDENTITY_PREFIX.to_owned();
        for byte in Sha256::digest(peer.as_str()).iter().take(5) {
            name.push_str(&format!("{byte:02x}"));
        }
        let annotation = namespace.map(|namespace| {
            let name = names::REMOTE_TENANT_NAMESPACE_ANNOTATION.to_owned();
            (name, namespace)
        });
        Secret {
            metadata: Metadata {
                name,
                namespace: self.0.namespace.clone(),
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
        }
    }
}
