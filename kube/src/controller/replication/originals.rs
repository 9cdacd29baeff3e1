//! What the consumer's objects show of a replication.

use kube::Config;
use liqo_auth::{
    consumer::{KubeconfigByHand, Phase, Status, StoredIdentity},
    machine::{Effect, Part, Version, View, replication},
    model::{IdentityType, Kind, Kubeconfig, Metadata, Object, ObjectRef, Resource, Secret, names},
    policy::Addresses,
};
use serde_json::json;

use crate::{Error, config_of_identity, controller::events::tenant_namespace};

/// The consumer's identity from a provider, and the objects that wait for the provider.
#[derive(Default)]
pub(in crate::controller) struct Originals {
    /// Whether a Secret with a kubeconfig exists and is not being deleted. Its content does not
    /// count, since a peer may write it.
    has_kubeconfig: bool,
    /// The identity, if the consumer's side has verified it at this look.
    pub(super) verified: Option<Identity>,
    pub(in crate::controller) held: Vec<Held>,
}

/// The verified identity of the control plane.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Identity {
    secret: ObjectRef,
    kubeconfig: Kubeconfig,
    /// The addresses to which a client may connect.
    pub(super) addresses: Addresses,
    /// The provider's tenant namespace for this cluster.
    pub(super) namespace: String,
}

/// An object that is being deleted, and that the finalizer of Liqo's replicator keeps. This
/// library does not set such a finalizer; Liqo's replicator may have run before.
pub(in crate::controller) struct Held {
    pub(super) id: ObjectRef,
    version: Version,
    /// The finalizers of others.
    others: Vec<String>,
}

impl Originals {
    pub(in crate::controller) fn of(view: &View<'_>) -> Self {
        let namespace = tenant_namespace(view);
        let name = names::kubeconfig_secret(&names::identity_name(view.peer()));
        let mut secrets = view.objects().filter_map(Secret::from_object);
        let held = view.objects().filter_map(|object| {
            let metadata = object.metadata();
            let held = Held::by_finalizer(object, metadata)?;
            let waits = match held.id.kind {
                Kind::ResourceSlice | Kind::Renew => {
                    metadata.namespace == namespace
                        && replication::is_shared_with(metadata, view.peer())
                }
                Kind::Secret => metadata.namespace == namespace && metadata.name == name,
                _ => false,
            };
            waits.then_some(held)
        });
        Self {
            has_kubeconfig: secrets.any(|secret| {
                secret.metadata.deletion_timestamp.is_none()
                    && (secret.metadata.name == name
                        || secret.metadata.namespace == namespace && is_of_control_plane(secret))
            }),
            verified: None,
            held: held.collect(),
        }
    }

    /// The same with the identity that the consumer's side has verified at the same look.
    pub(super) fn at(mut self, status: &Status) -> Self {
        if self.has_kubeconfig {
            self.verified = match &status.phase {
                Phase::Authenticated(stored) => Identity::of(stored),
                Phase::KubeconfigByHand(by_hand) => Some(Identity::by_hand(by_hand)),
                _ => None,
            };
        }
        self
    }

    /// Whether nothing is left to replicate.
    pub(super) fn is_over(&self) -> bool {
        !self.has_kubeconfig && self.held.is_empty()
    }
}

impl Identity {
    fn of(stored: &StoredIdentity) -> Option<Self> {
        let identity = &stored.accepted.identity;
        Some(Self {
            secret: stored.kubeconfig_secret.clone(),
            kubeconfig: stored.kubeconfig.clone(),
            addresses: identity.addresses.clone(),
            namespace: identity.namespace.as_ref()?.to_string(),
        })
    }

    fn by_hand(made: &KubeconfigByHand) -> Self {
        Self {
            secret: made.secret.clone(),
            kubeconfig: made.kubeconfig.clone(),
            addresses: made.addresses.clone(),
            namespace: made.namespace.to_string(),
        }
    }

    /// The Secret of the kubeconfig.
    pub(super) fn secret(&self) -> &ObjectRef {
        &self.secret
    }

    /// What a client needs.
    ///
    /// # Errors
    /// Those of [`config_of_identity`].
    pub(super) fn config(&self) -> Result<Config, Error> {
        config_of_identity(&self.kubeconfig)
    }

    pub(super) fn unusable(&self, problem: impl Into<String>) -> Error {
        Error::Setup {
            object: self.secret.clone(),
            problem: problem.into(),
        }
    }
}

/// Whether Liqo takes the Secret for the kubeconfig of the control plane.
fn is_of_control_plane(secret: &Secret) -> bool {
    let identity_type = secret.metadata.labels.get(names::IDENTITY_TYPE_LABEL);
    identity_type.is_some_and(|it| *it == IdentityType::ControlPlane.to_string())
}

impl Held {
    fn by_finalizer(object: &Object, metadata: &Metadata) -> Option<Self> {
        let finalizers = &metadata.finalizers;
        metadata.deletion_timestamp.as_ref()?;
        let own = match object.id().kind {
            Kind::Secret => FINALIZER_OF_KUBECONFIG,
            _ => FINALIZER_OF_ORIGINAL,
        };
        let others = finalizers.iter().filter(|finalizer| *finalizer != own);
        let others: Vec<String> = others.cloned().collect();
        (others.len() < finalizers.len()).then(|| Self {
            id: object.id(),
            version: Version {
                uid: metadata.uid.clone(),
                resource_version: metadata.resource_version.clone(),
            },
            others,
        })
    }

    /// Removes the finalizer of the replicator.
    pub(in crate::controller) fn release(&self) -> Effect {
        Effect::Patch {
            id: self.id.clone(),
            version: self.version.clone(),
            part: Part::Main,
            patch: json!({ "metadata": { "finalizers": self.others } }),
        }
    }
}

/// The finalizer of Liqo's crd-replicator on slices and Renews.
const FINALIZER_OF_ORIGINAL: &str = "crdreplicator.liqo.io/resource";
/// Its finalizer on the kubeconfig.
const FINALIZER_OF_KUBECONFIG: &str = "crdreplicator.liqo.io/operator";
