//! A store of objects in memory. It treats an object that is being deleted as an API
//! server does.

use std::collections::BTreeSet;

use liqo_auth::{
    crypto::Entropy,
    machine::{ApplyError, Effect, Objects, Part, Version},
    model::{Metadata, Object, ObjectRef, Secret, Timestamp},
};
use liqo_auth_rehearsal::check_store;
use serde_json::{Value, json};

use crate::clusters::store;

#[test]
fn objects_in_memory_are_kept_as_a_store_must() {
    check_store(&mut store::empty()).unwrap();
}

#[test]
fn a_deletion_that_waits_for_finalizers_makes_a_new_version() {
    let mut objects = store::holding([with_finalizer()]);
    let before = version(&objects);
    objects.delete(&id());
    let outdated = Effect::Delete {
        id: id(),
        version: before,
    };
    assert_eq!(objects.apply(&outdated), Err(ApplyError::Changed(id())));

    // A second deletion changes nothing.
    let during = version(&objects);
    objects.set_time(Timestamp::from_unix(9).unwrap());
    objects.delete(&id());
    assert_eq!(version(&objects), during);
    assert_eq!(stored(&objects).deletion_timestamp, Some(Timestamp::EPOCH));
}

#[test]
fn a_replacement_does_not_end_a_deletion() {
    let mut objects = store::holding([with_finalizer()]);
    objects.delete(&id());
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
fn a_patch_of_an_unreadable_object_changes_its_metadata_only() {
    for is_whole in [false, true] {
        let mut objects = store::empty();
        match is_whole {
            true => objects.insert_value(unreadable()),
            false => objects.insert(Object::from_value(unreadable())),
        }
        let before = stored(&objects);
        let patched = |patch: Value| {
            let mut objects = objects.clone();
            let effect = patch_at(&objects, patch);
            objects.apply(&effect).map(|()| objects)
        };
        for (finalizers, left) in [
            (json!(["a"]), vec!["a".to_owned()]),
            (json!([]), vec![]),
            (json!(null), vec![]),
        ] {
            let patch = json!({ "metadata": { "finalizers": finalizers, "labels": { "a": "b" } } });
            let after = stored(&patched(patch).unwrap());
            assert_eq!(after.finalizers, left);
            assert_eq!(after.labels.get("a").map(String::as_str), Some("b"));
            assert_eq!(after.uid, before.uid);
            assert_ne!(after.resource_version, before.resource_version);
        }
        for nothing in [
            json!({}),
            json!({ "metadata": {} }),
            json!({ "metadata": { "uid": "x" } }),
        ] {
            assert_eq!(stored(&patched(nothing).unwrap()), before);
        }
        for patch in [
            json!({ "metadata": { "finalizers": 5 } }),
            json!({ "metadata": { "finalizers": [] }, "data": {} }),
        ] {
            let refused = Some(ApplyError::Unreadable(id()));
            assert_eq!(patched(patch.clone()).err(), refused, "{patch}");
        }
        let mut objects = objects.clone();
        objects.delete(&id());
        assert!(stored(&objects).deletion_timestamp.is_some());
        let release = patch_at(&objects, json!({ "metadata": { "finalizers": [] } }));
        objects.apply(&release).unwrap();
        assert_eq!(objects.iter().count(), 0);
    }
}

#[test]
fn what_the_library_does_not_read_stays() {
    let mut objects = store::empty();
    objects.insert_value(json!({
        "apiVersion": "v1", "kind": "Secret", "immutable": false,
        "metadata": { "namespace": "liqo", "name": "a", "finalizers": ["a"], "managedFields": [] },
    }));
    let patch = json!({ "data": { "key": "dmFsdWU=" } });
    let patch = patch_at(&objects, patch);
    objects.apply(&patch).unwrap();
    objects.delete(&id());
    let value = objects.value(&id()).unwrap();
    assert_eq!(value["immutable"], json!(false));
    assert_eq!(value["metadata"]["managedFields"], json!([]));
    assert_eq!(value["data"]["key"], json!("dmFsdWU="));
    let metadata = stored(&objects);
    assert_eq!(value["metadata"]["uid"], json!(metadata.uid));
    assert_eq!(value["metadata"]["resourceVersion"], json!("3"));
    assert_eq!(metadata.resource_version, "3");
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
                .map(|object| object.metadata().uid.clone())
                .collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(uids.len(), 16, "{uids:?}");
}

/// RFC 9562, section 5.8.
#[test]
fn a_uid_is_a_uuid_of_version_8() {
    for seed in 0..16 {
        let mut objects = Objects::new(&Entropy::from_bytes([seed; 32]));
        objects.insert(with_finalizer());
        let uid = &stored(&objects).uid;
        let groups: Vec<&str> = uid.split('-').collect();
        let lengths: Vec<usize> = groups.iter().map(|group| group.len()).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12], "{uid}");
        assert!(groups[2].starts_with('8'), "{uid}");
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

fn unreadable() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "data": 5,
        "metadata": { "namespace": "liqo", "name": "a", "finalizers": ["a", "b"] },
    })
}

fn patch_at(objects: &Objects, patch: Value) -> Effect {
    Effect::Patch {
        id: id(),
        version: version(objects),
        part: Part::Main,
        patch,
    }
}

/// The metadata of the only object.
fn stored(objects: &Objects) -> Metadata {
    objects.iter().next().unwrap().metadata().clone()
}

fn version(objects: &Objects) -> Version {
    let stored = stored(objects);
    Version {
        uid: stored.uid,
        resource_version: stored.resource_version,
    }
}
