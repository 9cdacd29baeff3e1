//! Replication between two clusters, compared with what Liqo's crd-replicator
//! did between real ones.

use std::path::Path;

use liqo_auth::{
    machine::{Effect, Objects, replication},
    model::{ClusterId, Metadata, Object, Renew, Resource, ResourceSlice, Timestamp, manifest},
    policy::Limits,
};

use crate::clusters::store;

#[test]
fn replicas_equal_those_of_liqo() {
    let mut two = Clusters::at("exchange/2-resourceslice");
    let (slice, renew) = (two.replica::<ResourceSlice>(), two.replica::<Renew>());
    two.at_provider.remove(&slice.id());
    two.at_provider.remove(&renew.id());
    assert_eq!(two.carry_forth(), 2);
    assert_eq!(
        without_history(two.replica::<ResourceSlice>()),
        ResourceSlice {
            status: Default::default(),
            ..without_history(slice)
        }
    );
    assert_eq!(
        without_history(two.replica::<Renew>()),
        Renew {
            status: Default::default(),
            ..without_history(renew)
        }
    );
}

#[test]
fn objects_that_are_in_sync_are_left_alone() {
    for stage in [
        "exchange/1-authenticated",
        "exchange/2-resourceslice",
        "exchange/3-cordon",
        "exchange/6-slice-deleted",
        "exchange/7-unauthenticated",
    ] {
        let mut two = Clusters::at(stage);
        assert_eq!((two.carry_forth(), two.carry_back()), (0, 0), "{stage}");
    }
}

#[test]
fn statuses_are_copied_back_as_by_liqo() {
    let mut two = Clusters::at("exchange/2-resourceslice");
    let original = two.original::<ResourceSlice>();
    two.at_consumer.insert(
        ResourceSlice {
            status: Default::default(),
            ..original.clone()
        }
        .into(),
    );
    assert_eq!(two.carry_back(), 1);
    assert_eq!(two.original::<ResourceSlice>().status, original.status);
}

#[test]
fn a_changed_spec_is_copied_and_the_providers_annotations_stay() {
    let mut two = Clusters::at("exchange/3-cordon");
    let mut slice = two.original::<ResourceSlice>();
    slice.spec.resources.insert("cpu".to_owned(), "8".into());
    two.at_consumer.insert(slice.into());
    let before = two.replica::<ResourceSlice>();
    assert_eq!(two.carry_forth(), 1);
    let after = two.replica::<ResourceSlice>();
    assert_eq!(after.spec.resources["cpu"].as_str(), "8");
    assert_eq!(after.metadata.annotations, before.metadata.annotations);
    assert_eq!(after.status, before.status);
}

#[test]
fn a_replica_is_deleted_with_its_original() {
    let mut two = Clusters::at("exchange/2-resourceslice");
    let mut slice = two.original::<ResourceSlice>();
    slice.metadata.deletion_timestamp = Some(Timestamp::EPOCH);
    two.at_consumer.insert(slice.clone().into());
    assert_eq!(two.carry_forth(), 1);
    let id = ("liqo-tenant-cluster-a", slice.metadata.name.as_str());
    assert_eq!(two.at_provider.get::<ResourceSlice>(id.0, id.1), None);
}

/// The provider is a consumer of this cluster as well, or a person made the object.
#[test]
fn only_replicas_of_this_consumer_are_deleted() {
    for (label, value) in [
        ("liqo.io/replicated", None),
        ("liqo.io/replicated", Some("false")),
        ("liqo.io/originID", None),
        ("liqo.io/originID", Some("cluster-z")),
    ] {
        let mut two = Clusters::at("exchange/2-resourceslice");
        let mut slice = two.replica::<ResourceSlice>();
        slice.metadata.name = "without-an-original".to_owned();
        let labels = &mut slice.metadata.labels;
        labels.remove(label);
        labels.extend(value.map(|value| (label.to_owned(), value.to_owned())));
        two.at_provider.insert(slice.into());
        assert_eq!(two.carry_forth(), 0, "{label}={value:?}");
    }
}

#[test]
fn replicas_are_in_the_namespace_that_the_provider_has_chosen() {
    let mut two = Clusters::at("exchange/2-resourceslice");
    let mut moved = store::empty();
    for object in two.at_provider.iter() {
        let mut object = object.clone();
        let metadata = object.metadata_mut();
        if metadata.name == "liqo-tenant-cluster-a" {
            metadata.name = "renamed".to_owned();
        }
        moved.insert(object);
    }
    let replicas = [
        two.replica::<ResourceSlice>().id(),
        two.replica::<Renew>().id(),
    ];
    two.at_provider = moved;
    for replica in &replicas {
        two.at_provider.remove(replica);
    }
    assert_eq!(two.carry_forth(), 2);
    assert_eq!(two.replica::<ResourceSlice>().metadata.namespace, "renamed");
    assert_eq!(two.replica::<Renew>().metadata.namespace, "renamed");
}

#[test]
fn objects_for_other_providers_are_not_replicated() {
    for (label, value) in [
        ("liqo.io/remoteID", "cluster-z"),
        ("liqo.io/replication", "false"),
    ] {
        let mut two = Clusters::at("exchange/2-resourceslice");
        let mut slice = two.original::<ResourceSlice>();
        slice.metadata.name = "other".to_owned();
        slice
            .metadata
            .labels
            .insert(label.to_owned(), value.to_owned());
        two.at_consumer.insert(slice.into());
        assert_eq!(two.carry_forth(), 0, "{label}");
    }
}

/// The two clusters of one recorded stage.
struct Clusters {
    at_consumer: Objects,
    at_provider: Objects,
}

impl Clusters {
    fn at(stage: &str) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("vectors/liqo-1.2.0")
            .join(stage);
        Self {
            at_consumer: read(&folder.join("cluster-a")),
            at_provider: read(&folder.join("cluster-b")),
        }
    }

    fn carry_forth(&mut self) -> usize {
        let step = replication::to_provider(
            &self.at_consumer.view(&id("cluster-b")),
            &self.at_provider.view(&id("cluster-a")),
        );
        apply(&mut self.at_provider, &step.unwrap().effects)
    }

    fn carry_back(&mut self) -> usize {
        let step = replication::to_consumer(
            &self.at_consumer.view(&id("cluster-b")),
            &self.at_provider.view(&id("cluster-a")),
        );
        apply(&mut self.at_consumer, &step.unwrap().effects)
    }

    fn original<K: Resource + Clone>(&self) -> K {
        only(&self.at_consumer)
    }

    fn replica<K: Resource + Clone>(&self) -> K {
        only(&self.at_provider)
    }
}

fn apply(objects: &mut Objects, effects: &[Effect]) -> usize {
    for effect in effects {
        objects.apply(effect).unwrap();
    }
    effects.len()
}

fn only<K: Resource + Clone>(objects: &Objects) -> K {
    let mut found = objects.iter().filter_map(K::from_object);
    let first = found.next().unwrap().clone();
    assert!(found.next().is_none());
    first
}

/// The object without the fields that the API server assigns.
fn without_history<K: Resource>(mut object: K) -> K {
    let metadata = object.metadata_mut();
    *metadata = Metadata {
        name: metadata.name.clone(),
        namespace: metadata.namespace.clone(),
        labels: metadata.labels.clone(),
        annotations: metadata.annotations.clone(),
        ..Metadata::default()
    };
    object
}

fn read(folder: &Path) -> Objects {
    let mut objects = store::empty();
    for file in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read(file.unwrap().path()).unwrap();
        for object in manifest::read(&text, &Limits::default()).unwrap() {
            if !matches!(object, Object::Unreadable(_)) {
                objects.insert(object);
            }
        }
    }
    objects
}

fn id(text: &str) -> ClusterId {
    text.parse().unwrap()
}
