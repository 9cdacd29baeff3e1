//! A store of objects in memory. It treats an object that is being deleted as an API
//! server does.

use std::collections::BTreeSet;

use liqo_auth::{
    crypto::Entropy,
    machine::{ApplyError, Effect, Objects, Part, Version},
    model::{Metadata, Object, ObjectRef, Secret, Timestamp},
};
use serde_json::{Value, json};

use crate::clusters::store;

#[test]
fn a_deletion_that_waits_for_finalizers_makes_a_new_version() {
    let mut objects = store::holding([with_finalizer()]);
    let before = version(&objects);
    objects.delete(&id(), Timestamp::EPOCH);
    let outdated = Effect::Delete {
        id: id(),
        version: before,
    };
    assert_eq!(objects.apply(&outdated), Err(ApplyError::Changed(id())));

    // A second deletion changes nothing.
    let during = version(&objects);
    objects.delete(&id(), Timestamp::from_unix(9).unwrap());
    assert_eq!(version(&objects), during);
    assert_eq!(stored(&objects).deletion_timestamp, Some(Timestamp::EPOCH));
}

#[test]
fn a_replacement_does_not_end_a_deletion() {
    let mut objects = store::holding([with_finalizer()]);
    objects.delete(&id(), Timestamp::EPOCH);
    let replace = |objects: &Objects, object: Object| Effect::Replace {
        object,
        version: version(objects),
    };
    objects.apply(&replace(&objects, with_finalizer())).unwrap();
    assert_eq!(stored(&objects).deletion_timestamp, Some(Timestamp::EPOCH));
    let last = Secret {
        metadata: named(),
        ..Secret::default()
    };
    objects.apply(&replace(&objects, last.into())).unwrap();
    assert_eq!(objects.iter().count(), 0, "the last finalizer is gone");
}

#[test]
fn a_patch_of_an_unreadable_object_changes_its_finalizers_only() {
    let objects = store::holding([unreadable()]);
    let patched = |patch: Value| {
        let mut objects = objects.clone();
        let version = version(&objects);
        let effect = Effect::Patch {
            id: id(),
            version,
            part: Part::Main,
            patch,
        };
        objects.apply(&effect).map(|()| stored(&objects).finalizers)
    };
    for (finalizers, left) in [
        (json!(["a"]), vec!["a".to_owned()]),
        (json!([]), vec![]),
        (json!(null), vec![]),
    ] {
        let patch = json!({ "metadata": { "finalizers": finalizers } });
        assert_eq!(patched(patch), Ok(left));
    }
    for patch in [
        json!({}),
        json!({ "metadata": {} }),
        json!({ "metadata": { "finalizers": 5 } }),
        json!({ "metadata": { "finalizers": [], "labels": { "a": "b" } } }),
        json!({ "metadata": { "finalizers": [] }, "data": {} }),
    ] {
        let refused = Err(ApplyError::Unreadable(id()));
        assert_eq!(patched(patch.clone()), refused, "{patch}");
    }
}

#[test]
fn two_stores_give_no_object_the_same_uid() {
    let uids: BTreeSet<String> = (0..2)
        .flat_map(|seed| {
            let mut objects = Objects::new(&Entropy::from_bytes([seed; 32]));
            (0..8)
                .map(|_| {
                    objects.insert(with_finalizer());
                    objects.remove(&id()).unwrap()
                })
                .map(|object| object.metadata().unwrap().uid.clone())
                .collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(uids.len(), 16, "{uids:?}");
}

/// RFC 9562, section 5.4.
#[test]
fn a_uid_is_a_uuid_of_version_4() {
    for seed in 0..16 {
        let mut objects = Objects::new(&Entropy::from_bytes([seed; 32]));
        objects.insert(with_finalizer());
        let uid = &stored(&objects).uid;
        let groups: Vec<&str> = uid.split('-').collect();
        let lengths: Vec<usize> = groups.iter().map(|group| group.len()).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12], "{uid}");
        assert!(groups[2].starts_with('4'), "{uid}");
        assert!(groups[3].starts_with(['8', '9', 'a', 'b']), "{uid}");
        let is_hex = |digit: char| digit.is_ascii_digit() || ('a'..='f').contains(&digit);
        assert!(groups.concat().chars().all(is_hex), "{uid}");
    }
}

#[test]
fn an_object_keeps_its_uid_in_another_store() {
    let mut one = store::holding([with_finalizer()]);
    let mut other = Objects::new(&Entropy::from_bytes([1; 32]));
    other.extend(one.remove(&id()));
    let uid = stored(&other).uid.clone();
    assert_eq!(uid, stored(&store::holding([with_finalizer()])).uid);
}

fn id() -> ObjectRef {
    with_finalizer().id()
}

fn named() -> Metadata {
    Metadata {
        name: "a".to_owned(),
        namespace: "liqo".to_owned(),
        ..Metadata::default()
    }
}

fn with_finalizer() -> Object {
    let mut secret = Secret {
        metadata: named(),
        ..Secret::default()
    };
    secret.metadata.finalizers = vec!["example.com/finalizer".to_owned()];
    secret.into()
}

fn unreadable() -> Object {
    Object::from_value(json!({
        "apiVersion": "v1", "kind": "Secret", "data": 5,
        "metadata": { "namespace": "liqo", "name": "a", "finalizers": ["a", "b"] },
    }))
}

/// The metadata of the only object.
fn stored(objects: &Objects) -> Metadata {
    match objects.iter().next().unwrap() {
        Object::Unreadable(unreadable) => unreadable.metadata.as_ref().clone(),
        object => object.metadata().unwrap().clone(),
    }
}

fn version(objects: &Objects) -> Version {
    let stored = stored(objects);
    Version {
        uid: stored.uid,
        resource_version: stored.resource_version,
    }
}
