//! The VirtualNode of a slice that this cluster requested.
//!
//! Source: Liqo `virtualnodecreatorcontroller`, and `MutateVirtualNode` of its offloading
//! `forge`. Liqo's webhook for VirtualNodes sets the rest: the deployment of the virtual
//! kubelet, `createNode` and `disableNetworkCheck`. It takes the template in
//! `vkOptionsTemplateRef`, or else Liqo's default template.

use std::collections::BTreeMap;

use kube::api::DynamicObject;
use liqo_auth::{
    Consumer, Error,
    consumer::SlicePhase,
    machine::View,
    model::{
        ObjectRef, OwnerReference, Resource, ResourceSlice, ResourceSliceConditionType, Timestamp,
        names,
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
    /// The VirtualNodes that Liqo makes: of the slices for which this side wants one, whose
    /// two parts the provider has accepted, and whose Identity and kubeconfig this side has
    /// verified. Such a slice has a request by this cluster's key.
    pub(super) fn all(
        consumer: &Consumer,
        view: &View<'_>,
        now: Timestamp,
    ) -> Result<Vec<Self>, Error> {
        let slices = view.objects().filter_map(ResourceSlice::from_object);
        let accepted = slices.filter(|slice| {
            is_accepted(slice, ResourceSliceConditionType::Authentication)
                && is_accepted(slice, ResourceSliceConditionType::Resources)
        });
        let accepted: BTreeMap<ObjectRef, &ResourceSlice> =
            accepted.map(|slice| (slice.id(), slice)).collect();
        if accepted.is_empty() {
            return Ok(Vec::new());
        }
        let own = consumer.look(view, now)?.slices.into_iter();
        let nodes = own.filter(|slice| slice.virtual_node).filter_map(|own| {
            match (accepted.get(&own.slice), own.phase) {
                (Some(slice), SlicePhase::Held(stored)) => Some(Self {
                    slice: Box::new((*slice).clone()),
                    provider: view.peer().to_string(),
                    kubeconfig_secret: stored.kubeconfig_secret.name,
                }),
                _ => None,
            }
        });
        Ok(nodes.collect())
    }

    pub(super) fn id(&self) -> MadeRef {
        MadeRef {
            kind: MadeKind::VirtualNode,
            namespace: self.slice.metadata.namespace.clone(),
            name: self.slice.metadata.name.clone(),
        }
    }

    pub(super) fn owner(&self) -> OwnerReference {
        OwnerReference::controller(&*self.slice)
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
