//! The VirtualNodes and Quotas that the API server has, as their watches show them.

use std::collections::{BTreeMap, BTreeSet};

use kube::api::DynamicObject;
use liqo_auth::model::{Kind, ObjectRef};

use super::{MadeChange, MadeKind, MadeRef, NotServed, types_of};
use crate::watching::Change;

/// What the watches have shown, and what was written since.
#[derive(Default)]
pub(crate) struct Known {
    objects: BTreeMap<MadeRef, DynamicObject>,
    /// The last write of each object. An event of the object removes the entry.
    written: BTreeMap<MadeRef, Written>,
    lists: BTreeMap<MadeKind, Listing>,
}

/// A write: the version that it replaced, if any, and the content.
#[derive(PartialEq)]
struct Written {
    version: Option<String>,
    object: DynamicObject,
}

/// Whether the objects of a kind have been listed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Listing {
    #[default]
    Awaited,
    Complete,
    /// The cluster does not serve the kind.
    NotServed,
}

/// The slices that a change concerns.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Affected {
    All,
    Slices(BTreeSet<ObjectRef>),
}

impl Known {
    /// Takes a change. Returns the slices whose objects it may concern.
    pub(crate) fn take(&mut self, kind: MadeKind, change: MadeChange) -> Affected {
        match change {
            Ok(Change::Listed(objects)) => {
                self.forget_all(kind);
                for object in objects {
                    self.put(kind, object);
                }
                self.lists.insert(kind, Listing::Complete);
                Affected::All
            }
            Err(NotServed) => {
                let before = self.lists.insert(kind, Listing::NotServed);
                if before == Some(Listing::NotServed) {
                    return Affected::Slices(BTreeSet::new());
                }
                self.forget_all(kind);
                Affected::All
            }
            Ok(Change::Seen(object)) => {
                let mut slices = slices_of(kind, &object);
                let before = self.put(kind, *object);
                slices.extend(before.iter().flat_map(|object| slices_of(kind, object)));
                Affected::Slices(slices)
            }
            Ok(Change::Left(object)) => {
                let id = MadeRef::of(kind, &object);
                let mut slices = slices_of(kind, &object);
                let before = self.objects.remove(&id);
                slices.extend(before.iter().flat_map(|object| slices_of(kind, object)));
                self.written.remove(&id);
                Affected::Slices(slices)
            }
        }
    }

    pub(crate) fn listing(&self, kind: MadeKind) -> Listing {
        self.lists.get(&kind).copied().unwrap_or_default()
    }

    pub(crate) fn get(&self, id: &MadeRef) -> Option<&DynamicObject> {
        self.objects.get(id)
    }

    /// Notes a write before it is sent. False if the same write of the same version was
    /// sent already: its event is still under way, or there is none, since a webhook turns
    /// the content into the stored one.
    pub(crate) fn note(
        &mut self,
        id: &MadeRef,
        present: Option<&DynamicObject>,
        object: &DynamicObject,
    ) -> bool {
        let write = Written {
            version: present.and_then(|present| present.metadata.resource_version.clone()),
            object: object.clone(),
        };
        if self.written.get(id) == Some(&write) {
            return false;
        }
        self.written.insert(id.clone(), write);
        true
    }

    /// Forgets a write that was not carried out.
    pub(crate) fn not_written(&mut self, id: &MadeRef) {
        self.written.remove(id);
    }

    /// Takes the present state of an object. Returns the earlier one.
    fn put(&mut self, kind: MadeKind, mut object: DynamicObject) -> Option<DynamicObject> {
        object.types = Some(types_of(kind));
        let id = MadeRef::of(kind, &object);
        self.written.remove(&id);
        self.objects.insert(id, object)
    }

    fn forget_all(&mut self, kind: MadeKind) {
        self.objects.retain(|id, _| id.kind != kind);
        self.written.retain(|id, _| id.kind != kind);
    }
}

/// The slices that an object may be made from. A VirtualNode has the name of its slice.
fn slices_of(kind: MadeKind, object: &DynamicObject) -> BTreeSet<ObjectRef> {
    let MadeRef {
        namespace, name, ..
    } = MadeRef::of(kind, object);
    let owners = object.metadata.owner_references.iter().flatten();
    let slice = Kind::ResourceSlice.as_str();
    let owners = owners.filter(|owner| owner.kind == slice);
    let named = (kind == MadeKind::VirtualNode).then_some(name);
    let slices = owners.map(|owner| owner.name.clone()).chain(named);
    let slices = slices.map(|slice| ObjectRef::new(Kind::ResourceSlice, &namespace, slice));
    slices.collect()
}
