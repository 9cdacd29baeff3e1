//! What the consumer's objects show of a replication.

use kube::{
    Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use liqo_auth::{
    machine::{Effect, Part, Version, View, replication},
    model::{Kind, Metadata, Object, ObjectRef, Resource, Secret, SecretBytes, names},
};
use serde_json::json;

use crate::{Error, config_of, controller::events::tenant_namespace, error::with_sources};

/// The consumer's identity from a provider, and the objects that wait for the provider.
#[derive(Default)]
pub(super) struct Originals {
    /// `None` if the kubeconfig does not exist, or is being deleted.
    pub(super) identity: Option<Identity>,
    pub(super) held: Vec<Held>,
    /// Whether the identity is not verified.
    is_refused: bool,
}

/// The kubeconfig of the control plane.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Identity {
    secret: ObjectRef,
    kubeconfig: SecretBytes,
    /// The provider's tenant namespace for this cluster.
    pub(super) namespace: String,
    has_aws_key: bool,
}

/// An object that is being deleted, and that the finalizer of Liqo's replicator keeps. This
/// library sets no such finalizer; Liqo's replicator may have run before.
pub(super) struct Held {
    pub(super) id: ObjectRef,
    version: Version,
    /// The finalizers of others.
    others: Vec<String>,
}

impl Originals {
    pub(super) fn of(view: &View<'_>) -> Self {
        let namespace = tenant_namespace(view);
        let name = names::kubeconfig_secret(&names::identity_name(view.peer()));
        let is_kubeconfig =
            |metadata: &Metadata| metadata.namespace == namespace && metadata.name == name;
        let mut secrets = view.objects().filter_map(Secret::from_object);
        let secret = secrets.find(|secret| is_kubeconfig(&secret.metadata));
        let held = view.objects().filter_map(|object| {
            let metadata = object.metadata()?;
            let held = Held::by_finalizer(object, metadata)?;
            let waits = match held.id.kind {
                Kind::ResourceSlice | Kind::Renew => {
                    metadata.namespace == namespace
                        && replication::is_shared_with(metadata, view.peer())
                }
                Kind::Secret => is_kubeconfig(metadata),
                _ => false,
            };
            waits.then_some(held)
        });
        Self {
            identity: secret.and_then(Identity::of),
            held: held.collect(),
            is_refused: false,
        }
    }

    /// Whether nothing is left to replicate.
    pub(super) fn is_over(&self) -> bool {
        self.identity.is_none() && self.held.is_empty()
    }

    /// Notes that the consumer's side has not verified the identity.
    pub(super) fn refuse_identity(&mut self) {
        self.is_refused = self.identity.is_some();
    }

    /// The identity, if the consumer's side has verified it.
    pub(super) fn verified(&self) -> Option<&Identity> {
        self.identity.as_ref().filter(|_| !self.is_refused)
    }
}

impl Identity {
    fn of(secret: &Secret) -> Option<Self> {
        let metadata = &secret.metadata;
        if metadata.deletion_timestamp.is_some() {
            return None;
        }
        let annotation = names::REMOTE_TENANT_NAMESPACE_ANNOTATION;
        Some(Self {
            secret: secret.id(),
            kubeconfig: secret.data.get(names::KUBECONFIG)?.clone(),
            namespace: metadata.annotations.get(annotation)?.clone(),
            has_aws_key: secret.get(names::AWS_ACCESS_KEY_ID).is_some(),
        })
    }

    /// The Secret of the kubeconfig.
    pub(super) fn secret(&self) -> &ObjectRef {
        &self.secret
    }

    /// What a client needs.
    ///
    /// # Errors
    /// [`Error::Setup`] if the kubeconfig cannot be used.
    pub(super) async fn config(&self) -> Result<Config, Error> {
        if self.has_aws_key {
            return Err(self.unusable("an AWS access key cannot be used for the replication"));
        }
        let text = str::from_utf8(self.kubeconfig.expose());
        let text = text.map_err(|error| self.unusable(with_sources(&error)))?;
        let kubeconfig = Kubeconfig::from_yaml(text);
        let kubeconfig = kubeconfig.map_err(|error| self.unusable(with_sources(&error)))?;
        let options = KubeConfigOptions::default();
        let config = config_of(kubeconfig, &options).await;
        config.map_err(|error| self.unusable(with_sources(&error)))
    }

    pub(super) fn unusable(&self, problem: impl Into<String>) -> Error {
        Error::Setup {
            object: self.secret.clone(),
            problem: problem.into(),
        }
    }
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
    pub(super) fn release(&self) -> Effect {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_identity_has_its_proxy_or_is_refused() {
        let with_proxy = |url: &str| {
            let kubeconfig = json!({
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "milan",
                "contexts": [{ "name": "milan", "context": { "cluster": "milan" } }],
                "clusters": [{
                    "name": "milan",
                    "cluster": { "server": "https://10.80.0.3:6443", "proxy-url": url },
                }],
            });
            Identity {
                secret: ObjectRef::new(Kind::Secret, "liqo-tenant-milan", "kubeconfig"),
                kubeconfig: kubeconfig.to_string().as_bytes().into(),
                namespace: "liqo-tenant-rome".to_owned(),
                has_aws_key: false,
            }
        };
        let config = with_proxy("http://10.70.0.2:8118").config().await.unwrap();
        let proxy = config.proxy_url.map(|url| url.to_string());
        assert_eq!(proxy.as_deref(), Some("http://10.70.0.2:8118/"));
        let refused = with_proxy("socks5://10.70.0.2:1080").config().await;
        let error = refused.unwrap_err().to_string();
        for says in ["liqo-tenant-milan/kubeconfig", "socks5://10.70.0.2:1080"] {
            assert!(error.contains(says), "{error}");
        }
    }
}
