//! A store of objects in memory. It treats an object that is being deleted as an API
//! server does.

use liqo_auth::{
    machine::{ApplyError, Effect, Objects, Part, Version},
    model::{Metadata, Object, ObjectRef, Secret, Timestamp},
};
use serde_json::{Value, json};

#[test]
fn a_deletion_that_waits_for_finalizers_makes_a_new_version() {
    let mut objects: Objects = [with_finalizer()].into_iter().collect();
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
    let mut objects: Objects = [with_finalizer()].into_iter().collect();
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
    let objects: Objects = [unreadable()].into_iter().collect();
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
