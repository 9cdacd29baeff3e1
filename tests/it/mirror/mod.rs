//! A mirror of an API server. In whatever order events arrive, it shows the
//! same as a fresh list.

mod orders;

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use liqo_auth::{
    machine::{Concerns, Effect, Follower, Mirror, MirrorError, Requirement, Version, Watch},
    model::{
        ClusterId, ClusterRole, Kind, Metadata, Namespace, Object, ObjectRef, RbacSubject,
        RoleBinding, Secret, Tenant, names,
    },
};

const REMOTE: &str = names::REMOTE_CLUSTER_ID_LABEL;

#[test]
fn there_is_no_view_until_every_watch_has_listed() {
    let mut mirror = Mirror::new(watches());
    for watch in watches() {
        assert_eq!(mirror.view(&id("one")).unwrap_err().watch, watch);
        assert_eq!(mirror.relist(&watch, []), Ok(Concerns::Nobody));
    }
    assert!(mirror.view(&id("one")).is_ok());
    assert_eq!(
        Mirror::new(watches())
            .view(&id("one"))
            .unwrap_err()
            .to_string(),
        "the watch of namespaces with liqo.io/remote-cluster-id is not complete yet"
    );
}

#[test]
fn selectors_have_the_syntax_of_the_api_server() {
    let watch = Watch::all(Kind::ClusterRole)
        .with(Requirement::In("a", vec!["b", "c"]))
        .with(Requirement::Equals("d", "e"))
        .with(Requirement::Exists("f"));
    assert_eq!(watch.selector(), "a in (b,c),d=e,f");
    for (labels, covered) in [
        (vec![("a", "c"), ("d", "e"), ("f", "")], true),
        (vec![("a", "x"), ("d", "e"), ("f", "")], false),
        (vec![("a", "b"), ("d", "x"), ("f", "")], false),
        (vec![("a", "b"), ("d", "e")], false),
    ] {
        assert_eq!(watch.covers(&role("r", &labels)), covered, "{labels:?}");
    }
    assert!(
        !watch
            .clone()
            .in_namespace("n")
            .covers(&role("r", &[("a", "b"), ("d", "e"), ("f", "")]))
    );
}

#[test]
fn the_peer_follows_from_the_tenant_namespace_or_else_from_labels() {
    let mut mirror = complete();
    let [namespaces, secrets, _, roles] = watches();
    // The name of the namespace decides, even before the Namespace exists.
    let own = secret("liqo-tenant-one", "nonce", &[(REMOTE, "two")]);
    assert_eq!(mirror.concerns(&own), Concerns::Peer(id("one")));
    let there = secret("elsewhere", "nonce", &[(REMOTE, "two")]);
    assert_eq!(
        mirror.observe(&secrets, there.clone()),
        Ok(Concerns::Peer(id("two")))
    );
    assert!(sees(&mirror, "two", &there) && !sees(&mirror, "one", &there));

    // The Namespace appears. Its objects now belong to its peer, whatever their
    // labels are.
    let namespace = namespace("elsewhere", "one");
    let concerns = mirror.observe(&namespaces, namespace.clone()).unwrap();
    assert_eq!(concerns, Concerns::Peers(vec![id("one"), id("two")]));
    assert!(sees(&mirror, "one", &there) && !sees(&mirror, "two", &there));
    // The Namespace is deleted. Its objects belong to the peer of their labels
    // again.
    let concerns = mirror.forget(&namespaces, &namespace.id()).unwrap();
    assert_eq!(concerns, Concerns::Peers(vec![id("one"), id("two")]));
    assert!(sees(&mirror, "two", &there) && !sees(&mirror, "one", &there));

    // A Tenant is found by its name, but not in the namespace of another peer.
    let applied = tenant("default", "two");
    assert_eq!(mirror.concerns(&applied), Concerns::Peer(id("two")));
    let planted = tenant("liqo-tenant-one", "two");
    assert_eq!(mirror.concerns(&planted), Concerns::Peer(id("one")));
    let role = role("r", &[]);
    assert_eq!(
        mirror.observe(&roles, role.clone()),
        Ok(Concerns::Everybody)
    );
    assert!(sees(&mirror, "one", &role) && sees(&mirror, "anybody", &role));
}

#[test]
fn an_object_stays_as_long_as_one_watch_shows_it() {
    let own = Watch::all(Kind::Secret)
        .in_namespace("liqo")
        .with(Requirement::Exists("a"));
    let all = Watch::all(Kind::Secret).with(Requirement::Exists(REMOTE));
    let mut mirror = Mirror::new([own.clone(), all.clone()]);
    let object = secret("liqo", "record", &[(REMOTE, "one"), ("a", "")]);
    for watch in [&own, &all] {
        mirror.relist(watch, [object.clone()]).unwrap();
    }
    mirror.forget(&own, &object.id()).unwrap();
    assert!(sees(&mirror, "one", &object));
    // The list of a watch that never showed the object does not remove it.
    assert_eq!(mirror.relist(&own, []), Ok(Concerns::Nobody));
    mirror.relist(&all, []).unwrap();
    assert!(mirror.is_empty());
    let other = Watch::all(Kind::Tenant);
    assert!(matches!(
        mirror.observe(&other, object),
        Err(MirrorError::UnknownWatch(_))
    ));
}

#[test]
fn every_watch_counts_for_itself_however_many_there_are() {
    let watches: Vec<Watch> = (0..130)
        .map(|number| Watch::all(Kind::Secret).in_namespace(format!("n{number}")))
        .collect();
    let mut mirror = Mirror::new(watches.clone());
    let labelled = Watch::all(Kind::Secret).with(Requirement::Exists(REMOTE));
    let mut all = watches.clone();
    all.push(labelled.clone());
    let mut shown_twice = Mirror::new(all);
    for (number, watch) in watches.iter().enumerate() {
        let object = secret(&format!("n{number}"), "a", &[(REMOTE, "one")]);
        mirror.observe(watch, object.clone()).unwrap();
        shown_twice.observe(watch, object.clone()).unwrap();
        shown_twice.observe(&labelled, object).unwrap();
    }
    for (number, watch) in watches.iter().enumerate() {
        mirror.relist(watch, []).unwrap();
        assert_eq!(mirror.len(), watches.len() - number - 1);
        shown_twice.relist(watch, []).unwrap();
    }
    // The last watch still shows every object.
    assert_eq!(shown_twice.len(), watches.len());
    shown_twice.relist(&labelled, []).unwrap();
    assert!(shown_twice.is_empty());
}

#[test]
fn an_object_without_a_kind_or_a_name_is_an_error() {
    let mut mirror = complete();
    let [_, secrets, tenants, _] = watches();
    let stored = secret("liqo-tenant-one", "a", &[(REMOTE, "one")]);
    mirror.observe(&secrets, stored.clone()).unwrap();
    let item = Object::from_value(serde_json::json!({ "metadata": { "name": "a" }, "data": {} }));
    for watch in [&secrets, &tenants] {
        let refused = mirror.relist(watch, [item.clone()]);
        assert!(
            matches!(refused, Err(MirrorError::OtherKind { .. })),
            "{refused:?}"
        );
    }
    let nameless = secret("liqo-tenant-one", "", &[]);
    assert!(matches!(
        mirror.observe(&secrets, nameless),
        Err(MirrorError::NoName(_))
    ));
    assert!(sees(&mirror, "one", &stored), "nothing has changed");
    // An unreadable object with a name is kept, because it exists.
    let broken = Object::from_value(serde_json::json!({
        "apiVersion": "v1", "kind": "Secret", "data": 5,
        "metadata": { "namespace": "liqo-tenant-one", "name": "a", "labels": { REMOTE: "one" } },
    }));
    mirror.observe(&secrets, broken.clone()).unwrap();
    assert!(sees(&mirror, "one", &broken));
}

#[test]
fn the_answer_to_a_write_does_not_restore_a_deleted_object() {
    let [_, secrets, _, _] = watches();
    let create = |object: &Object| Effect::Create(object.clone());
    let written = versioned(
        secret("liqo-tenant-one", "a", &[(REMOTE, "one")]),
        "u1",
        "1",
    );

    // The answer to the write comes before the watch event.
    let mut mirror = complete();
    assert!(mirror.written(&create(&written), written.clone()));
    assert!(sees(&mirror, "one", &written));
    mirror.observe(&secrets, written.clone()).unwrap();
    mirror.forget(&secrets, &written.id()).unwrap();
    assert!(mirror.is_empty());

    // The answer comes after the watch event of the deletion.
    assert!(!mirror.written(&create(&written), written.clone()));
    assert!(mirror.is_empty());
    // A new object of the same name is a different object.
    let again = versioned(written.clone(), "u2", "5");
    assert!(mirror.written(&create(&again), again.clone()));

    // An answer is used only if no other change came in between.
    let replace = |seen: &Object| {
        let metadata = seen.metadata();
        let version = version(&metadata.uid, &metadata.resource_version);
        Effect::Replace {
            object: again.clone(),
            version,
        }
    };
    let newer = versioned(again.clone(), "u2", "6");
    assert!(mirror.written(&replace(&again), newer.clone()));
    let others = versioned(again.clone(), "u2", "opaque");
    mirror.observe(&secrets, others.clone()).unwrap();
    assert!(!mirror.written(&replace(&newer), versioned(again.clone(), "u2", "7")));
    assert!(sees(&mirror, "one", &others));
    // An answer is not used if no watch would report the object's deletion.
    let unlabelled = versioned(secret("liqo-tenant-one", "b", &[]), "u3", "1");
    assert!(!mirror.written(&create(&unlabelled), unlabelled.clone()));
}

#[test]
fn an_object_that_was_fetched_is_in_the_view_of_its_peer() {
    let mut mirror = complete();
    let [_, secrets, _, _] = watches();
    let peer = id("one");
    let bare = secret("liqo-tenant-one", "nonce", &[]);
    let far = secret("far", "away", &[(REMOTE, "two")]);
    for object in [&bare, &far] {
        assert!(
            mirror
                .fetched(&peer, object.clone())
                .unwrap()
                .includes(&peer)
        );
        assert!(sees(&mirror, "one", object));
    }
    assert!(sees(&mirror, "two", &far));
    let unwatched: Vec<ObjectRef> = mirror.unwatched(&peer).collect();
    assert_eq!(unwatched, [far.id(), bare.id()]);
    assert_eq!(mirror.unwatched(&id("two")).count(), 0);
    // A list by labels does not contain these objects and does not remove them.
    mirror.relist(&secrets, []).unwrap();
    assert!(sees(&mirror, "one", &bare));
    // A watch that shows one of the objects keeps it up to date.
    mirror.observe(&secrets, far.clone()).unwrap();
    assert_eq!(mirror.unwatched(&peer).count(), 1);
    mirror.forget(&secrets, &far.id()).unwrap();
    assert_eq!(mirror.unwatched(&peer).count(), 2);
    for object in [&bare, &far] {
        assert!(mirror.gone(&object.id()).includes(&peer));
    }
    assert!(mirror.is_empty() && mirror.unwatched(&peer).next().is_none());
}

#[test]
fn a_follower_is_told_of_every_change() {
    #[derive(Default)]
    struct Notes(Mutex<(BTreeSet<ObjectRef>, bool)>);
    impl Follower for Notes {
        fn watches(&self) -> Vec<Watch> {
            vec![Watch::all(Kind::RoleBinding), Watch::all(Kind::Tenant)]
        }
        fn observe(&self, object: &Object) {
            self.0.lock().unwrap().0.insert(object.id());
        }
        fn forget(&self, object: &ObjectRef) {
            self.0.lock().unwrap().0.remove(object);
        }
        fn complete(&self) {
            self.0.lock().unwrap().1 = true;
        }
    }
    let notes = Arc::new(Notes::default());
    let mut mirror = Mirror::new(watches()).with_follower(notes.clone());
    let all: Vec<Watch> = mirror.watches().cloned().collect();
    assert_eq!(all.len(), 5, "the watch of Tenants is there once");
    let mut binding = RoleBinding::default();
    binding.metadata.name = "admins".into();
    binding.metadata.namespace = "kube-system".into();
    let binding = Object::from(binding);
    for watch in &all {
        assert!(!notes.0.lock().unwrap().1);
        let objects = (watch.kind == Kind::RoleBinding).then(|| binding.clone());
        mirror.relist(watch, objects).unwrap();
    }
    assert!(notes.0.lock().unwrap().1);
    assert!(notes.0.lock().unwrap().0.contains(&binding.id()));
    assert!(!sees(&mirror, "one", &binding));
    mirror.relist(&Watch::all(Kind::RoleBinding), []).unwrap();
    assert!(notes.0.lock().unwrap().0.is_empty());
}

#[test]
fn the_list_of_a_namespace_replaces_what_it_showed_there_alone() {
    let mut mirror = complete();
    let [_, secrets, _, _] = watches();
    let labels = [(REMOTE, "one")];
    let [first, second] = ["first", "second"].map(|name| secret("n-1", name, &labels));
    let elsewhere = secret("n-2", "first", &labels);
    let list = |mirror: &mut Mirror, namespace: &str, objects: &[&Object]| {
        let objects = objects.iter().map(|object| (*object).clone());
        mirror.relist(&secrets.clone().in_namespace(namespace), objects)
    };
    let one = Ok(Concerns::Peer(id("one")));
    assert_eq!(list(&mut mirror, "n-1", &[&first, &second]), one);
    assert_eq!(list(&mut mirror, "n-2", &[&elsewhere]), one);
    assert_eq!(list(&mut mirror, "n-1", &[&second]), one);
    assert!(mirror.get(&first.id()).is_none());
    assert!(mirror.get(&second.id()).is_some() && mirror.get(&elsewhere.id()).is_some());
    assert!(matches!(
        list(&mut mirror, "n-1", &[&elsewhere]),
        Err(MirrorError::OtherKind { .. })
    ));
    assert!(mirror.get(&second.id()).is_some());
}

#[test]
fn the_list_of_a_namespace_does_not_complete_the_watch() {
    let [_, secrets, _, _] = watches();
    let mut mirror = Mirror::new([secrets.clone()]);
    mirror
        .relist(&secrets.clone().in_namespace("n"), [])
        .unwrap();
    assert_eq!(mirror.view(&id("one")).unwrap_err().watch, secrets);
}

#[test]
fn the_name_of_a_tenant_namespace_counts_only_while_the_namespace_is_not_known() {
    let mut mirror = complete();
    let [namespaces, secrets, tenants, _] = watches();
    let held = Namespace {
        metadata: metadata("", "liqo-tenant-one", &[(REMOTE, "two")]),
    };
    let planted = secret("liqo-tenant-one", "liqo-nonce", &[(REMOTE, "two")]);
    let concerns = mirror.observe(&secrets, planted.clone()).unwrap();
    assert_eq!(concerns, Concerns::Peer(id("one")));
    mirror.observe(&namespaces, held.into()).unwrap();
    assert_eq!(mirror.concerns(&planted), Concerns::Peer(id("two")));
    // A Tenant is looked up by its name, but not where another peer might write it.
    let concerns = mirror.observe(&tenants, tenant("liqo-tenant-one", "three"));
    assert_eq!(concerns, Ok(Concerns::Peer(id("one"))));
}

fn watches() -> [Watch; 4] {
    [
        Watch::all(Kind::Namespace).with(Requirement::Exists(REMOTE)),
        Watch::all(Kind::Secret).with(Requirement::Exists(REMOTE)),
        Watch::all(Kind::Tenant),
        Watch::all(Kind::ClusterRole),
    ]
}

fn complete() -> Mirror {
    let mut mirror = Mirror::new(watches());
    for watch in watches() {
        mirror.relist(&watch, []).unwrap();
    }
    mirror
}

fn sees(mirror: &Mirror, peer: &str, object: &Object) -> bool {
    let view = mirror.view(&id(peer)).unwrap();
    view.objects().any(|seen| seen == object)
}

fn id(name: &str) -> ClusterId {
    name.parse().unwrap()
}

pub(crate) fn metadata(namespace: &str, name: &str, labels: &[(&str, &str)]) -> Metadata {
    let labels = labels.iter();
    Metadata {
        name: name.to_owned(),
        namespace: namespace.to_owned(),
        labels: labels
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect(),
        ..Metadata::default()
    }
}

fn secret(namespace: &str, name: &str, labels: &[(&str, &str)]) -> Object {
    Secret {
        metadata: metadata(namespace, name, labels),
        ..Secret::default()
    }
    .into()
}

fn namespace(name: &str, peer: &str) -> Object {
    let labels = [(REMOTE, peer), (names::TENANT_NAMESPACE_LABEL, "true")];
    Namespace {
        metadata: metadata("", name, &labels),
    }
    .into()
}

fn tenant(namespace: &str, name: &str) -> Object {
    Tenant {
        metadata: metadata(namespace, name, &[]),
        ..Tenant::default()
    }
    .into()
}

fn role(name: &str, labels: &[(&str, &str)]) -> Object {
    ClusterRole {
        metadata: metadata("", name, labels),
        ..ClusterRole::default()
    }
    .into()
}

fn versioned(mut object: Object, uid: &str, version: &str) -> Object {
    let metadata = object.metadata_mut();
    metadata.uid = uid.to_owned();
    metadata.resource_version = version.to_owned();
    object
}

fn version(uid: &str, resource_version: &str) -> Version {
    Version {
        uid: uid.to_owned(),
        resource_version: resource_version.to_owned(),
    }
}

/// Whoever binds a peer's group need not label the binding.
#[test]
fn a_binding_concerns_the_known_peers_that_it_names() {
    let watches = [Watch::all(Kind::Namespace), Watch::all(Kind::RoleBinding)];
    let mut mirror = Mirror::new(watches.clone());
    let [namespaces, bindings] = &watches;
    let binding = binding_of(&["one", "nobody"]);
    let shows = |mirror: &Mirror, peer: &str| {
        let view = mirror.view(&id(peer)).unwrap();
        view.objects()
            .filter(|object| object.id() == binding.id())
            .count()
    };
    // Anybody's group may have such a name: the binding does not make a peer.
    let concerns = mirror.relist(bindings, [binding.clone()]);
    assert_eq!(concerns, Ok(Concerns::Nobody));
    mirror.relist(namespaces, []).unwrap();
    assert_eq!(mirror.peers().count(), 0);
    assert_eq!(shows(&mirror, "one"), 1);

    let namespace = Object::from(Namespace::for_tenant(&id("one")));
    mirror.observe(namespaces, namespace).unwrap();
    assert!(mirror.concerns(&binding).includes(&id("one")));
    assert_eq!(shows(&mirror, "one"), 1);
    let renamed = binding_of(&["two"]);
    let concerns = mirror.observe(bindings, renamed);
    assert_eq!(concerns, Ok(Concerns::Peer(id("one"))));
    assert_eq!([shows(&mirror, "one"), shows(&mirror, "two")], [0, 1]);
    let concerns = mirror.observe(bindings, binding.clone());
    assert_eq!(concerns, Ok(Concerns::Peer(id("one"))));
    let concerns = mirror.forget(bindings, &binding.id());
    assert_eq!(concerns, Ok(Concerns::Peer(id("one"))));
    assert_eq!(shows(&mirror, "one"), 0);
}

/// A binding in a namespace of no peer, without labels.
fn binding_of(groups: &[&str]) -> Object {
    let subject = |group: &&str| RbacSubject {
        kind: "Group".into(),
        name: (*group).into(),
        ..RbacSubject::default()
    };
    RoleBinding {
        metadata: Metadata {
            name: "by-hand".into(),
            namespace: "shop".into(),
            ..Metadata::default()
        },
        subjects: groups.iter().map(subject).collect(),
        ..RoleBinding::default()
    }
    .into()
}
