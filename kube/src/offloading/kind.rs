//! The two kinds that are made from slices.

use core::fmt;

use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, ObjectMeta},
    runtime::watcher,
};
use liqo_auth::model::names;
use serde_json::{Map, Value};

use super::types_of;

/// A kind that Liqo makes from accepted slices. Source: Liqo `offloadingv1beta1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MadeKind {
    VirtualNode,
    Quota,
}

/// A reference to a VirtualNode or a Quota.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MadeRef {
    pub(crate) kind: MadeKind,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl MadeKind {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::VirtualNode => "VirtualNode",
            Self::Quota => "Quota",
        }
    }

    pub(crate) const fn plural(self) -> &'static str {
        match self {
            Self::VirtualNode => "virtualnodes",
            Self::Quota => "quotas",
        }
    }

    pub(crate) fn resource(self) -> ApiResource {
        ApiResource {
            group: GROUP.to_owned(),
            version: VERSION.to_owned(),
            api_version: format!("{GROUP}/{VERSION}"),
            kind: self.as_str().to_owned(),
            plural: self.plural().to_owned(),
        }
    }

    /// Whether an object of this kind may exist that no watch shows. It is fetched before
    /// it is made, since Liqo's webhook denies a new VirtualNode whose node exists.
    pub(crate) const fn may_be_unwatched(self) -> bool {
        matches!(self, Self::VirtualNode)
    }

    /// The objects that a watch selects. Liqo's Quotas have no label, so all are selected.
    pub(super) fn selected(self) -> watcher::Config {
        let all = watcher::Config::default();
        match self {
            Self::VirtualNode => all.labels(names::RESOURCE_SLICE_NAME_LABEL),
            Self::Quota => all,
        }
    }

    /// All objects of this kind.
    pub(super) fn everywhere(self, client: &Client) -> Api<DynamicObject> {
        Api::all_with(client.clone(), &self.resource())
    }
}

impl MadeRef {
    /// The objects of this kind and namespace.
    pub(crate) fn neighbours(&self, client: &Client) -> Api<DynamicObject> {
        Api::namespaced_with(client.clone(), &self.namespace, &self.kind.resource())
    }

    /// The reference to an object of that kind.
    pub(super) fn of(kind: MadeKind, object: &DynamicObject) -> Self {
        let metadata = &object.metadata;
        Self {
            kind,
            namespace: metadata.namespace.clone().unwrap_or_default(),
            name: metadata.name.clone().unwrap_or_default(),
        }
    }

    /// A new object that has this place, and nothing else.
    pub(super) fn without_content(&self) -> DynamicObject {
        DynamicObject {
            types: Some(types_of(self.kind)),
            metadata: ObjectMeta {
                name: Some(self.name.clone()),
                namespace: Some(self.namespace.clone()),
                ..ObjectMeta::default()
            },
            data: Value::Object(Map::new()),
        }
    }
}

impl fmt::Display for MadeRef {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.kind.as_str();
        write!(formatter, "{kind} {}/{}", self.namespace, self.name)
    }
}

const GROUP: &str = "offloading.liqo.io";
const VERSION: &str = "v1beta1";
