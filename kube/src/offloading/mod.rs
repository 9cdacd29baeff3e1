//! The objects that Liqo makes from accepted resource slices while its authentication
//! module runs: a VirtualNode at the consumer, and a Quota at the provider.
//!
//! [`quotas`] and [`virtual_nodes`] name them for one peer, and [`Wanted::object`] gives their
//! content. All are pure. What may be made is the word of this side's records and of what it
//! has verified, since a peer may write the slices and the Secrets of its tenant namespace.
//! [`Known`] holds the objects that the API server has.

mod kind;
mod known;
mod quota;
mod virtual_node;
mod watching;

use std::sync::{Mutex, MutexGuard, PoisonError};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{DynamicObject, TypeMeta};
use liqo_auth::{
    Consumer, Provider,
    error::Error as LibraryError,
    machine::View,
    model::{
        self, ResourceSlice, ResourceSliceConditionStatus, ResourceSliceConditionType, Timestamp,
    },
};
use serde_json::{Map, Value};

pub use self::quota::LimitsEnforcement;

pub(crate) use self::{
    kind::{MadeKind, MadeRef},
    known::{Affected, Known, Listing},
    watching::{MadeChange, NotServed, follow},
};

use self::{quota::WantedQuota, virtual_node::WantedVirtualNode};
use crate::Error;

#[cfg(test)]
mod tests;

/// The kinds that a controller makes, and what it knows about their objects.
pub(crate) struct Offloading {
    pub(crate) kinds: Vec<MadeKind>,
    pub(crate) enforcement: LimitsEnforcement,
    known: Mutex<Known>,
}

impl Offloading {
    pub(crate) fn new(
        kinds: impl IntoIterator<Item = MadeKind>,
        enforcement: LimitsEnforcement,
    ) -> Self {
        Self {
            kinds: kinds.into_iter().collect(),
            enforcement,
            known: Mutex::default(),
        }
    }

    pub(crate) fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An object that Liqo would make from an accepted slice.
#[derive(Debug, Clone)]
pub(crate) enum Wanted {
    VirtualNode(WantedVirtualNode),
    Quota(WantedQuota),
}

/// The Quotas for the slices that a peer has requested from this cluster.
///
/// # Errors
/// The peer's record cannot be read.
pub(crate) fn quotas(
    provider: &Provider,
    view: &View<'_>,
    enforcement: LimitsEnforcement,
) -> Result<Vec<Wanted>, LibraryError> {
    let slices = provider.recorded_slices(view)?.into_iter();
    let quotas = slices.map(|slice| WantedQuota::of(view.peer(), slice, enforcement));
    Ok(quotas.map(Wanted::Quota).collect())
}

/// The VirtualNodes for the slices that this cluster has requested from a provider.
///
/// # Errors
/// As [`Consumer::look`].
pub(crate) fn virtual_nodes(
    consumer: &Consumer,
    view: &View<'_>,
    now: Timestamp,
) -> Result<Vec<Wanted>, LibraryError> {
    let nodes = WantedVirtualNode::all(consumer, view, now)?.into_iter();
    Ok(nodes.map(Wanted::VirtualNode).collect())
}

impl Wanted {
    pub(crate) fn id(&self) -> MadeRef {
        match self {
            Self::VirtualNode(node) => node.id(),
            Self::Quota(quota) => quota.id(),
        }
    }

    /// Whether the object is made if it is missing. Otherwise only a present one is changed.
    pub(crate) const fn is_made(&self) -> bool {
        match self {
            Self::VirtualNode(_) => true,
            Self::Quota(quota) => quota.is_granted(),
        }
    }

    /// The object with its wanted content. What Liqo does not set stays as it is in the
    /// present object.
    ///
    /// # Errors
    /// [`Error::Controlled`] if the present object has another controller.
    pub(crate) fn object(&self, present: Option<&DynamicObject>) -> Result<DynamicObject, Error> {
        let id = self.id();
        let mut object = present.cloned().unwrap_or_else(|| id.without_content());
        match self {
            Self::VirtualNode(node) => node.set(&mut object),
            Self::Quota(quota) => quota.set(&mut object),
        }
        let controlled = set_controller(&mut object, &self.owner());
        controlled.map_err(|controller| Error::Controlled {
            object: id.to_string(),
            controller,
        })?;
        Ok(object)
    }

    fn owner(&self) -> model::OwnerReference {
        match self {
            Self::VirtualNode(node) => node.owner(),
            Self::Quota(quota) => quota.owner(),
        }
    }
}

/// Whether the provider has accepted this part of the slice.
fn is_accepted(slice: &ResourceSlice, part: ResourceSliceConditionType) -> bool {
    let condition = slice.status.condition(part);
    condition.is_some_and(|it| it.status == ResourceSliceConditionStatus::Accepted)
}

/// Makes the slice the object's controller, as controller-runtime's
/// `SetControllerReference` does. If the object has another controller, the result is that
/// controller's kind and name.
fn set_controller(
    object: &mut DynamicObject,
    wanted: &model::OwnerReference,
) -> Result<(), String> {
    let owners = object.metadata.owner_references.get_or_insert_default();
    let group = |version: &str| version.split('/').next().map(str::to_owned);
    let own_group = group(&wanted.api_version);
    let is_slice = |owner: &OwnerReference| {
        owner.kind == wanted.kind
            && owner.name == wanted.name
            && group(&owner.api_version) == own_group
    };
    let mut others = owners.iter().filter(|owner| !is_slice(owner));
    if let Some(other) = others.find(|owner| owner.controller == Some(true)) {
        return Err(format!("{} {}", other.kind, other.name));
    }
    let reference = OwnerReference {
        api_version: wanted.api_version.clone(),
        block_owner_deletion: wanted.block_owner_deletion,
        controller: wanted.controller,
        kind: wanted.kind.clone(),
        name: wanted.name.clone(),
        uid: wanted.uid.clone(),
    };
    match owners.iter_mut().find(|owner| is_slice(owner)) {
        Some(owner) => *owner = reference,
        None => owners.push(reference),
    }
    Ok(())
}

/// Changes the object's spec.
fn change_spec(object: &mut DynamicObject, change: impl FnOnce(&mut Map<String, Value>)) {
    let mut spec = fields_of(object.data.get_mut("spec"));
    change(&mut spec);
    if let Value::Object(content) = &mut object.data {
        content.insert("spec".to_owned(), spec.into());
    }
}

/// The fields of a value, taken out of it; none if it is no map.
fn fields_of(value: Option<&mut Value>) -> Map<String, Value> {
    match value.map(Value::take) {
        Some(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

/// Sets a field, or removes it if the value is empty, since Go's encoding leaves empty
/// fields out.
fn set_or_remove(fields: &mut Map<String, Value>, field: &str, value: serde_json::Result<Value>) {
    let value = value.unwrap_or_default();
    let is_empty = match &value {
        Value::Array(items) => items.is_empty(),
        Value::Object(entries) => entries.is_empty(),
        other => other.is_null(),
    };
    if is_empty {
        fields.remove(field);
    } else {
        fields.insert(field.to_owned(), value);
    }
}

/// The types of an object, which the items of a list may lack.
fn types_of(kind: MadeKind) -> TypeMeta {
    let resource = kind.resource();
    TypeMeta {
        api_version: resource.api_version,
        kind: resource.kind,
    }
}
