//! The objects of a list that has not ended yet.

use std::collections::BTreeMap;

use super::Collects;
use liqo_auth::{
    machine::{Mirror, Watch},
    model::{ClusterId, Kind, Namespace, Object, ObjectRef},
};
use serde_json::json;

/// Collects a list. The first objects of each namespace are kept as they are. The others pass a
/// mirror, as later those of all lists do, so that a list of what a peer wrote does not
/// take more memory while it is read than afterwards.
pub(crate) struct Listed {
    kind: Kind,
    first: Vec<Object>,
    others: Vec<ObjectRef>,
    numbers: BTreeMap<String, usize>,
    mirror: Mirror,
}

impl Listed {
    pub(crate) fn of(kind: Kind) -> Self {
        Self {
            kind,
            first: Vec::new(),
            others: Vec::new(),
            numbers: BTreeMap::new(),
            mirror: Mirror::new([Watch::all(kind), Watch::all(Kind::Namespace)]),
        }
    }
}

impl Collects<Object> for Listed {
    fn push(&mut self, object: Object) {
        let id = object.id();
        let namespaces = self.numbers.len();
        let number = self.numbers.entry(id.namespace.clone()).or_default();
        *number += 1;
        if *number <= FIRST {
            self.first.push(object);
            return;
        }
        if *number == FIRST + 1 {
            // Whose the namespace is, another watch says. Here, each has an owner of its own.
            let owner = format!("owner-{namespaces}").parse::<ClusterId>();
            if let Ok(owner) = owner {
                let mut namespace = Namespace::for_tenant(&owner);
                namespace.metadata.name = id.namespace.clone();
                let namespaces = Watch::all(Kind::Namespace);
                let _ = self.mirror.observe(&namespaces, namespace.into());
            }
        }
        // An object without a name is refused when the list is complete.
        match id.name.is_empty() {
            true => self.first.push(object),
            // More names than these are not kept in any case.
            false if *number > MOST => {}
            false => {
                let _ = self.mirror.observe(&Watch::all(self.kind), object);
                self.others.push(id);
            }
        }
    }

    fn take(&mut self) -> Vec<Object> {
        let Self {
            kind,
            mut first,
            others,
            mut mirror,
            ..
        } = core::mem::replace(self, Self::of(self.kind));
        let watch = Watch::all(kind);
        for id in others {
            match mirror.get(&id) {
                Some(object) => first.push(object.clone()),
                // The name of an object that is not kept.
                None => first.push(Object::from_value(json!({
                    "apiVersion": kind.api_version(),
                    "kind": kind.as_str(),
                    "metadata": { "namespace": id.namespace, "name": id.name },
                    "overLimit": 0,
                }))),
            }
            // It is held once, also now.
            let _ = mirror.forget(&watch, &id);
        }
        first
    }
}

/// So many objects of a kind in a namespace take no more memory than its budget.
const FIRST: usize = 8;
/// The most objects of a kind in a namespace of which the name is kept.
const MOST: usize = 20 * 1024;

#[cfg(test)]
mod tests {
    use liqo_auth::model::ObjectError;

    use super::*;

    fn slice(namespace: &str, number: usize, bytes: usize) -> Object {
        Object::from_value(json!({
            "apiVersion": Kind::ResourceSlice.api_version(),
            "kind": "ResourceSlice",
            "metadata": { "namespace": namespace, "name": format!("s{number:05}"), "uid": "u" },
            "spec": { "class": "A".repeat(bytes) },
        }))
    }

    /// The numbers of the objects that are whole, that are reduced, and of which only the name
    /// is known.
    fn taken(listed: &mut Listed) -> [usize; 3] {
        let mut numbers = [0; 3];
        for object in listed.take() {
            let at = match object.as_unreadable().map(|found| &found.reason) {
                None => 0,
                Some(ObjectError::OverBudget { bytes: 0, .. }) => 2,
                Some(_) => 1,
            };
            numbers[at] += 1;
        }
        numbers
    }

    #[test]
    fn a_list_holds_no_more_of_a_namespace_than_a_mirror() {
        let mut listed = Listed::of(Kind::ResourceSlice);
        for number in 0..40 {
            for namespace in ["elsewhere", "liqo-tenant-rome"] {
                listed.push(slice(namespace, number, 250_000));
            }
            if number == 7 {
                assert_eq!(listed.mirror.len(), 0);
            }
        }
        let [whole, reduced, names] = taken(&mut listed);
        assert_eq!(names, 0);
        assert_eq!(reduced, 2 * (40 - FIRST - 16));
        assert_eq!(whole, 2 * (FIRST + 16));
        assert_eq!(taken(&mut listed), [0, 0, 0]);
    }

    #[test]
    fn the_names_of_the_others_are_kept_up_to_a_number() {
        let mut listed = Listed::of(Kind::ResourceSlice);
        let most = 4096;
        for number in 0..FIRST + most + 10 {
            listed.push(slice("elsewhere", number, 0));
        }
        let [whole, reduced, names] = taken(&mut listed);
        assert_eq!((whole + reduced, names), (FIRST + most, 10));
        listed.numbers.insert("elsewhere".to_owned(), MOST - 1);
        listed.push(slice("elsewhere", 0, 0));
        listed.push(slice("elsewhere", 1, 0));
        assert_eq!(listed.others.len(), 1);
    }

    #[test]
    fn an_object_without_a_name_is_in_the_list() {
        let mut listed = Listed::of(Kind::ResourceSlice);
        for number in 0..=FIRST {
            listed.push(slice("elsewhere", number, 0));
        }
        let nameless = json!({
            "apiVersion": Kind::ResourceSlice.api_version(),
            "kind": "ResourceSlice",
            "metadata": { "namespace": "elsewhere" },
        });
        listed.push(Object::from_value(nameless));
        assert_eq!(listed.take().len(), FIRST + 2);
    }
}
