//! The VirtualNode of a slice that this cluster requested.
//!
//! Source: Liqo `virtualnodecreatorcontroller`, and `MutateVirtualNode` of its offloading
//! `forge`. Liqo's webhook for VirtualNodes sets the rest: the deployment of the virtual
//! kubelet, `createNode` and `disableNetworkCheck`. It takes the template in
//! `vkOptionsTemplateRef`, or else Liqo's default template.

use kube::api::DynamicObject;
use liqo_auth::{
    machine::{View, replication},
    model::{
        Identity, IdentityType, Resource, ResourceSlice, ResourceSliceConditionType, Secret, names,
    },
};
use serde_json::{Map, Value, to_value};

use super::{MadeKind, MadeRef, change_spec, fields_of, is_accepted, set_or_remove};

#[derive(Debug, Clone)]
pub(crate) struct WantedVirtualNode {
    slice: Box<ResourceSlice>,
    provider: String,
    kubeconfig_secret: String,
}

impl WantedVirtualNode {
    /// The VirtualNode that Liqo makes from this slice, if it makes one: the slice asks for
    /// it, the provider has accepted both parts, and its kubeconfig exists.
    pub(super) fn of(view: &View<'_>, slice: &ResourceSlice) -> Option<Self> {
        let replicated = slice.metadata.labels.get(names::REPLICATED_LABEL);
        let is_own = replication::is_shared_with(&slice.metadata, view.peer())
            && replicated.is_none_or(|replicated| replicated != names::TRUE);
        let is_ready = is_accepted(slice, ResourceSliceConditionType::Authentication)
            && is_accepted(slice, ResourceSliceConditionType::Resources);
        if !is_own || !is_ready || !asks_for_it(slice) {
            return None;
        }
        let mut identities = view.objects().filter_map(Identity::from_object);
        let identity = identities.find(|identity| {
            let label = identity
                .metadata
                .labels
                .get(names::RESOURCE_SLICE_NAME_LABEL);
            identity.metadata.namespace == slice.metadata.namespace
                && identity.spec.identity_type == IdentityType::ResourceSlice
                && identity.spec.cluster_id == view.peer().as_str()
                && label.is_some_and(|name| *name == slice.metadata.name)
        })?;
        let reference = identity.status.kubeconfig_secret_ref.as_ref()?;
        let mut secrets = view.objects().filter_map(Secret::from_object);
        let exists = secrets.any(|secret| {
            secret.metadata.namespace == identity.metadata.namespace
                && secret.metadata.name == reference.name
        });
        exists.then(|| Self {
            slice: Box::new(slice.clone()),
            provider: identity.spec.cluster_id.clone(),
            kubeconfig_secret: reference.name.clone(),
        })
    }

    pub(super) fn id(&self) -> MadeRef {
        MadeRef {
            kind: MadeKind::VirtualNode,
            namespace: self.slice.metadata.namespace.clone(),
            name: self.slice.metadata.name.clone(),
        }
    }

    pub(super) fn slice(&self) -> &ResourceSlice {
        &self.slice
    }

    /// Sets what Liqo sets.
    pub(super) fn set(&self, node: &mut DynamicObject) {
        let labels = node.metadata.labels.get_or_insert_default();
        for (label, value) in [
            (names::REMOTE_CLUSTER_ID_LABEL, &self.provider),
            (names::RESOURCE_SLICE_NAME_LABEL, &self.slice.metadata.name),
        ] {
            labels.insert(label.to_owned(), value.clone());
        }
        change_spec(node, |spec| self.set_spec(spec));
    }

    fn set_spec(&self, spec: &mut Map<String, Value>) {
        let status = &self.slice.status;
        let provider = Value::from(self.provider.clone());
        let mut labels = fields_of(spec.get_mut("labels"));
        labels.insert(names::REMOTE_CLUSTER_ID_LABEL.to_owned(), provider.clone());
        for (label, value) in &status.node_labels {
            labels.insert(label.clone(), value.clone().into());
        }
        spec.insert("labels".to_owned(), labels.into());
        spec.insert("clusterID".to_owned(), provider);

        let mut secret = Map::new();
        secret.insert("name".to_owned(), self.kubeconfig_secret.clone().into());
        spec.insert("kubeconfigSecretRef".to_owned(), secret.into());

        // Go's encoding keeps an empty `resourceQuota`.
        let mut quota = Map::new();
        set_or_remove(&mut quota, "hard", to_value(&status.resources));
        spec.insert("resourceQuota".to_owned(), quota.into());

        for (field, offered) in [
            ("storageClasses", to_value(&status.storage_classes)),
            ("ingressClasses", to_value(&status.ingress_classes)),
            (
                "loadBalancerClasses",
                to_value(&status.load_balancer_classes),
            ),
        ] {
            set_or_remove(spec, field, offered);
        }

        // Liqo keeps an earlier selector if the provider has none any more.
        if !status.node_selector.is_empty() {
            let mut patch = fields_of(spec.get_mut("offloadingPatch"));
            set_or_remove(&mut patch, "nodeSelector", to_value(&status.node_selector));
            spec.insert("offloadingPatch".to_owned(), patch.into());
        }
    }
}

/// Whether the slice's annotation asks for a VirtualNode.
fn asks_for_it(slice: &ResourceSlice) -> bool {
    let annotations = &slice.metadata.annotations;
    let asked = annotations.get(names::CREATE_VIRTUAL_NODE_ANNOTATION);
    asked.is_some_and(|asked| !asked.is_empty() && !asked.eq_ignore_ascii_case("false"))
}
