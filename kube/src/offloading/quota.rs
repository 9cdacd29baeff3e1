//! The Quota of a slice that a peer requested from this cluster.
//!
//! Source: Liqo `quotacreatorcontroller`.

use kube::api::DynamicObject;
use liqo_auth::{
    crypto::Subject,
    model::{ClusterId, Metadata, OwnerReference, ResourceSlice},
    provider::RecordedSlice,
};
use serde_json::{Map, Value, to_value};

use super::{MadeKind, MadeRef, change_spec};

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
    slice: Box<RecordedSlice>,
    user: String,
    enforcement: LimitsEnforcement,
}

impl WantedQuota {
    /// The Quota that Liqo makes from this slice. Without a grant on record, a Quota that
    /// is there only follows the cordon.
    pub(super) fn of(
        consumer: &ClusterId,
        slice: RecordedSlice,
        enforcement: LimitsEnforcement,
    ) -> Self {
        Self {
            user: Subject::resource_slice(&slice.slice.name, consumer)
                .common_name()
                .to_owned(),
            slice: Box::new(slice),
            enforcement,
        }
    }

    pub(super) const fn is_granted(&self) -> bool {
        self.slice.grant.is_some()
    }

    pub(super) fn id(&self) -> MadeRef {
        MadeRef {
            kind: MadeKind::Quota,
            namespace: self.slice.slice.namespace.clone(),
            name: self.user.clone(),
        }
    }

    pub(super) fn owner(&self) -> OwnerReference {
        OwnerReference::controller(&ResourceSlice {
            metadata: Metadata {
                name: self.slice.slice.name.clone(),
                uid: self.slice.uid.clone(),
                ..Metadata::default()
            },
            ..ResourceSlice::default()
        })
    }

    /// Sets what Liqo sets.
    pub(super) fn set(&self, quota: &mut DynamicObject) {
        change_spec(quota, |spec| self.set_spec(spec));
    }

    fn set_spec(&self, spec: &mut Map<String, Value>) {
        if let Some(grant) = &self.slice.grant {
            spec.insert("user".to_owned(), self.user.clone().into());
            let enforcement = self.enforcement.as_str().into();
            spec.insert("limitsEnforcement".to_owned(), enforcement);
            let resources = to_value(&grant.resources).unwrap_or_default();
            spec.insert("resources".to_owned(), resources);
        }
        if self.slice.cordoned {
            spec.insert("cordoned".to_owned(), true.into());
        } else {
            spec.remove("cordoned");
        }
    }
}
