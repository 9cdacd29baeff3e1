//! The cases of the check, in the order of the table.

use std::collections::BTreeSet;

use liqo_auth::{
    machine::{ApplyError, Effect, Interest, Part, Version},
    model::{Kind, Metadata, Object, ObjectRef, Resource, ResourceSlice, Secret},
};
use serde_json::{Value, json};

use super::{Deviation, Store};

type Checked = Result<(), Deviation>;

pub(super) fn all(store: &mut dyn Store) -> Checked {
    for case in [
        creates_objects_once,
        gives_no_uid_twice,
        refuses_other_versions,
        replaces_whole_objects,
        merges_patches,
        changes_one_part,
        waits_for_finalizers,
        finds_what_interests_name,
        keeps_what_cannot_be_read,
    ] {
        case(store)?;
    }
    Ok(())
}

fn creates_objects_once(store: &mut dyn Store) -> Checked {
    let rule = "a create takes a free name, and gives a UID and a version";
    let mut given = secret("a", "1");
    given.metadata.uid = "given".to_owned();
    given.metadata.resource_version = "1".to_owned();
    let create = Effect::Create(given.into());
    carry_out(store, rule, &create)?;
    let metadata = metadata(store, rule, &id("a"))?;
    let has_own = !metadata.uid.is_empty()
        && metadata.uid != "given"
        && !metadata.resource_version.is_empty();
    expect(rule, has_own, &metadata)?;
    let before = find(store, &id("a"));
    let refused = store.apply(&create);
    expect(rule, refused == Err(ApplyError::Exists(id("a"))), &refused)?;
    expect(
        rule,
        find(store, &id("a")) == before,
        "a refused create changed the object",
    )?;
    delete(store, rule, &id("a"))?;
    expect(
        rule,
        find(store, &id("a")).is_none(),
        "a deleted object is there",
    )
}

fn gives_no_uid_twice(store: &mut dyn Store) -> Checked {
    let rule = "no two objects share a UID, not even if one is gone";
    let mut uids = BTreeSet::new();
    for _ in 0..3 {
        carry_out(store, rule, &Effect::Create(secret("a", "1").into()))?;
        let uid = metadata(store, rule, &id("a"))?.uid;
        expect(rule, uids.insert(uid.clone()), &uid)?;
        delete(store, rule, &id("a"))?;
    }
    Ok(())
}

fn refuses_other_versions(store: &mut dyn Store) -> Checked {
    let rule = "an effect on another version, another UID or no object is refused";
    carry_out(store, rule, &Effect::Create(secret("a", "1").into()))?;
    let first = version(store, rule)?;
    carry_out(
        store,
        rule,
        &patch(first.clone(), json!({"metadata": {"labels": {"a": "b"}}})),
    )?;
    let present = version(store, rule)?;
    let is_new = present.resource_version != first.resource_version;
    expect(rule, is_new, "a change gave no new version")?;
    let of_another = Version {
        uid: "another".to_owned(),
        resource_version: String::new(),
    };
    let before = find(store, &id("a"));
    for seen in [first, of_another] {
        for effect in [
            patch(seen.clone(), json!({"metadata": {"labels": {"a": "c"}}})),
            Effect::Replace {
                object: secret("a", "2").into(),
                version: seen.clone(),
            },
            Effect::Delete {
                id: id("a"),
                version: seen,
            },
        ] {
            // A patch by its UID alone cannot be refused by an API server.
            if matches!(&effect, Effect::Patch { version, .. } if version.resource_version.is_empty())
            {
                continue;
            }
            let refused = store.apply(&effect);
            expect(rule, refused == Err(ApplyError::Changed(id("a"))), &refused)?;
            let is_as_before = find(store, &id("a")) == before;
            expect(rule, is_as_before, "a refused effect changed the object")?;
        }
    }
    delete(store, rule, &id("a"))?;
    let refused = store.apply(&patch(present, json!({"metadata": {"labels": {"a": "c"}}})));
    expect(rule, refused == Err(ApplyError::Missing(id("a"))), &refused)
}

fn replaces_whole_objects(store: &mut dyn Store) -> Checked {
    let rule = "a replacement takes the whole object, and keeps the UID and the time of creation";
    let mut first = secret("a", "1");
    first.metadata.labels = [("a", "b")].into();
    carry_out(store, rule, &Effect::Create(first.into()))?;
    let before = metadata(store, rule, &id("a"))?;
    let version = version(store, rule)?;
    let object = secret("a", "2").into();
    carry_out(store, rule, &Effect::Replace { object, version })?;
    let after = metadata(store, rule, &id("a"))?;
    let is_the_same = (&after.uid, after.creation_timestamp)
        == (&before.uid, before.creation_timestamp)
        && after.labels.is_empty();
    expect(rule, is_the_same, &after)?;
    expect(rule, has_value(store, b"2"), "the data is not the new one")?;
    delete(store, rule, &id("a"))
}

fn merges_patches(store: &mut dyn Store) -> Checked {
    let rule = "a patch is merged (RFC 7396), and what it does not name stays";
    let mut given = secret("a", "1");
    given.metadata.labels = [("stays", "1"), ("goes", "1")].into();
    carry_out(store, rule, &Effect::Create(given.into()))?;
    let seen = version(store, rule)?;
    let change = json!({"metadata": {"labels": {"goes": null, "comes": "1"}}});
    carry_out(store, rule, &patch(seen, change))?;
    let labels = metadata(store, rule, &id("a"))?.labels;
    let found: Vec<&str> = labels.keys().map(|key| key.as_str()).collect();
    expect(rule, found == ["comes", "stays"], &found)?;
    expect(rule, has_value(store, b"1"), "the data is gone")?;
    delete(store, rule, &id("a"))
}

fn changes_one_part(store: &mut dyn Store) -> Checked {
    let rule = "a patch of the status changes the status alone, and the generation counts specs";
    let slice = ResourceSlice {
        metadata: named("a"),
        ..ResourceSlice::default()
    };
    let id = slice.id();
    carry_out(store, rule, &Effect::Create(slice.into()))?;
    let before = metadata(store, rule, &id)?;
    let of_part = |part: Part, patch: Value| Effect::Patch {
        id: id.clone(),
        version: Version::default(),
        part,
        patch,
    };
    let status = json!({"status": {"resources": {"cpu": "1"}}});
    carry_out(store, rule, &of_part(Part::Status, status))?;
    let after = metadata(store, rule, &id)?;
    expect(rule, after.generation == before.generation, &after)?;
    let spec = json!({"spec": {"class": "default"}});
    carry_out(store, rule, &of_part(Part::Main, spec))?;
    let after = metadata(store, rule, &id)?;
    expect(rule, after.generation == before.generation + 1, &after)?;
    let found = find(store, &id);
    let found = found.as_ref().and_then(ResourceSlice::from_object);
    let has_both = found
        .is_some_and(|slice| !slice.status.resources.is_empty() && slice.spec.class == "default");
    expect(rule, has_both, found)?;
    delete(store, rule, &id)
}

fn waits_for_finalizers(store: &mut dyn Store) -> Checked {
    let rule = "a deleted object stays, marked, until its last finalizer is gone";
    let mut held = secret("a", "1");
    held.metadata.finalizers = vec!["example.com/one".to_owned(), "example.com/two".to_owned()];
    carry_out(store, rule, &Effect::Create(held.clone().into()))?;
    delete(store, rule, &id("a"))?;
    let marked = metadata(store, rule, &id("a"))?;
    expect(rule, marked.deletion_timestamp.is_some(), &marked)?;
    let seen = version(store, rule)?;
    delete(store, rule, &id("a"))?;
    let twice = metadata(store, rule, &id("a"))?;
    expect(
        rule,
        twice.deletion_timestamp == marked.deletion_timestamp,
        &twice,
    )?;

    held.metadata.finalizers.pop();
    let object = held.into();
    carry_out(
        store,
        rule,
        &Effect::Replace {
            object,
            version: seen,
        },
    )?;
    let replaced = metadata(store, rule, &id("a"))?;
    expect(
        rule,
        replaced.deletion_timestamp == marked.deletion_timestamp,
        &replaced,
    )?;
    let seen = version(store, rule)?;
    carry_out(
        store,
        rule,
        &patch(seen, json!({"metadata": {"finalizers": null}})),
    )?;
    expect(rule, find(store, &id("a")).is_none(), "the object is there")
}

fn finds_what_interests_name(store: &mut dyn Store) -> Checked {
    let rule = "a look-up finds what an interest names, and nothing else";
    let mut labelled = secret("a", "1");
    labelled.metadata.labels = [("example.com/check", "1")].into();
    carry_out(store, rule, &Effect::Create(labelled.into()))?;
    carry_out(store, rule, &Effect::Create(secret("b", "1").into()))?;
    let kind = Kind::Secret;
    let by_label = Interest::Labelled {
        kind,
        label: "example.com/check",
        value: "1".to_owned(),
    };
    let by_name = Interest::Named {
        kind,
        name: "b".to_owned(),
    };
    let inside = |namespace: &str| Interest::InNamespace {
        kind,
        namespace: namespace.to_owned(),
    };
    for (interest, expected) in [
        (by_label, vec!["a"]),
        (by_name, vec!["b"]),
        (Interest::Object(id("a")), vec!["a"]),
        (inside(NAMESPACE), vec!["a", "b"]),
        (inside("elsewhere"), vec![]),
        (inside(""), vec!["a", "b"]),
    ] {
        let found = store.look_up(core::slice::from_ref(&interest));
        let mut found: Vec<String> = found.iter().map(|object| object.id().name).collect();
        found.sort();
        expect(rule, found == expected, &(interest, found))?;
    }
    delete(store, rule, &id("a"))?;
    delete(store, rule, &id("b"))
}

fn keeps_what_cannot_be_read(store: &mut dyn Store) -> Checked {
    let rule = "an object that cannot be read is found, patched in its metadata, and deleted";
    let slice = ObjectRef::new(Kind::ResourceSlice, NAMESPACE, "broken");
    let is_planted = store.plant(json!({
        "apiVersion": Kind::ResourceSlice.api_version(), "kind": "ResourceSlice",
        "metadata": {
            "namespace": NAMESPACE, "name": "broken", "uid": "planted", "resourceVersion": "1",
            "finalizers": ["example.com/one"],
        },
        "spec": {"class": [1, 2]},
    }));
    if !is_planted {
        return Ok(());
    }
    let found = find(store, &slice);
    let is_unreadable = found.is_some_and(|object| object.as_unreadable().is_some());
    expect(
        rule,
        is_unreadable,
        "the object is not there, or can be read",
    )?;
    delete(store, rule, &slice)?;
    let marked = metadata(store, rule, &slice)?;
    expect(rule, marked.deletion_timestamp.is_some(), &marked)?;
    let release = Effect::Patch {
        id: slice.clone(),
        version: Version::default(),
        part: Part::Main,
        patch: json!({"metadata": {"finalizers": null}}),
    };
    carry_out(store, rule, &release)?;
    expect(rule, find(store, &slice).is_none(), "the object is there")
}

fn expect(rule: &'static str, holds: bool, found: impl std::fmt::Debug) -> Checked {
    match holds {
        true => Ok(()),
        false => Err(Deviation {
            rule,
            found: format!("{found:?}"),
        }),
    }
}

fn carry_out(store: &mut dyn Store, rule: &'static str, effect: &Effect) -> Checked {
    let applied = store.apply(effect);
    expect(rule, applied.is_ok(), (applied, effect.id()))
}

fn delete(store: &mut dyn Store, rule: &'static str, id: &ObjectRef) -> Checked {
    let effect = Effect::Delete {
        id: id.clone(),
        version: Version::default(),
    };
    carry_out(store, rule, &effect)
}

fn patch(version: Version, patch: Value) -> Effect {
    Effect::Patch {
        id: id("a"),
        version,
        part: Part::Main,
        patch,
    }
}

fn find(store: &mut dyn Store, id: &ObjectRef) -> Option<Object> {
    let mut found = store.look_up(&[Interest::Object(id.clone())]);
    found.pop()
}

fn metadata(
    store: &mut dyn Store,
    rule: &'static str,
    id: &ObjectRef,
) -> Result<Metadata, Deviation> {
    let found = find(store, id);
    let found = found.map(|object| object.metadata().clone());
    found.ok_or_else(|| Deviation {
        rule,
        found: format!("{id} is not there"),
    })
}

/// Whether the Secret `a` has this value.
fn has_value(store: &mut dyn Store, value: &[u8]) -> bool {
    let found = find(store, &id("a"));
    let secret = found.as_ref().and_then(Secret::from_object);
    secret.and_then(|secret| secret.get("key")) == Some(value)
}

/// The version of the Secret `a`.
fn version(store: &mut dyn Store, rule: &'static str) -> Result<Version, Deviation> {
    let Metadata {
        uid,
        resource_version,
        ..
    } = metadata(store, rule, &id("a"))?;
    Ok(Version {
        uid,
        resource_version,
    })
}

fn id(name: &str) -> ObjectRef {
    ObjectRef::new(Kind::Secret, NAMESPACE, name)
}

fn named(name: &str) -> Metadata {
    Metadata {
        name: name.to_owned(),
        namespace: NAMESPACE.to_owned(),
        ..Metadata::default()
    }
}

fn secret(name: &str, value: &str) -> Secret {
    let mut secret = Secret {
        metadata: named(name),
        ..Secret::default()
    };
    let data = [("key".to_owned(), value.as_bytes().to_vec().into())];
    secret.data.extend(data);
    secret
}

const NAMESPACE: &str = "store-check";
