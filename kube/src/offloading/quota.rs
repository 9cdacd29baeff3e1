//! The Quota of a slice that a peer requested from this cluster.
//!
//! Source: Liqo `quotacreatorcontroller`.

use kube::api::DynamicObject;
use liqo_auth::{
    crypto::Subject,
    machine::replication,
    model::{ClusterId, ResourceSlice, ResourceSliceConditionType, names},
};
use serde_json::{Map, Value, to_value};

use super::{MadeKind, MadeRef, change_spec, is_accepted};

/// How strictly Liqo's webhook enforces a Quota on the pods that a consumer offloads.
/// Source: Liqo `offloadingv1beta1.LimitsEnforcement`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LimitsEnforcement {
    /// The pods need limits and requests, and both are equal.
    Hard,
    /// The pods need requests.
    Soft,
    /// The pods need neither. This is Liqo's default.
    #[default]
    None,
}

impl LimitsEnforcement {
    /// The text in a Quota.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hard => "Hard",
            Self::Soft => "Soft",
            Self::None => "None",
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct WantedQuota {
    slice: Box<ResourceSlice>,
    user: String,
    enforcement: LimitsEnforcement,
}

impl WantedQuota {
    /// The Quota that Liqo makes from this slice, if it makes one: the slice is a replica
    /// from that consumer, and its resources are accepted.
    pub(super) fn of(
        consumer: &ClusterId,
        slice: &ResourceSlice,
        enforcement: LimitsEnforcement,
    ) -> Option<Self> {
        let is_replica = replication::is_replica_of(&slice.metadata, consumer)
            && slice.spec.consumer_cluster_id.as_deref() == Some(consumer.as_str());
        let is_ready = is_accepted(slice, ResourceSliceConditionType::Resources);
        (is_replica && is_ready).then(|| Self {
            slice: Box::new(slice.clone()),
            user: Subject::resource_slice(&slice.metadata.name, consumer)
                .common_name()
                .to_owned(),
            enforcement,
        })
    }

    pub(super) fn id(&self) -> MadeRef {
        MadeRef {
            kind: MadeKind::Quota,
            namespace: self.slice.metadata.namespace.clone(),
            name: self.user.clone(),
        }
    }

    pub(super) fn slice(&self) -> &ResourceSlice {
        &self.slice
    }

    /// Sets what Liqo sets.
    pub(super) fn set(&self, quota: &mut DynamicObject) {
        change_spec(quota, |spec| self.set_spec(spec));
    }

    fn set_spec(&self, spec: &mut Map<String, Value>) {
        spec.insert("user".to_owned(), self.user.clone().into());
        let enforcement = self.enforcement.as_str().into();
        spec.insert("limitsEnforcement".to_owned(), enforcement);
        let resources = to_value(&self.slice.status.resources).unwrap_or_default();
        spec.insert("resources".to_owned(), resources);
        if is_cordoned(&self.slice) {
            spec.insert("cordoned".to_owned(), true.into());
        } else {
            spec.remove("cordoned");
        }
    }
}

/// Whether an annotation cordons the slice or its tenant. The provider's side sets both
/// from its records, so that a peer cannot remove them for good.
fn is_cordoned(slice: &ResourceSlice) -> bool {
    let annotations = &slice.metadata.annotations;
    let both = [names::CORDON_ANNOTATION, names::CORDON_TENANT_ANNOTATION];
    both.iter().any(|annotation| {
        let value = annotations.get(*annotation);
        value.is_some_and(|value| !["false", "False", "0"].contains(&value.as_str()))
    })
}
