//! The expected objects are those of Liqo 1.2.0 for the same slices: its
//! `VirtualNodeCreatorReconciler` and `QuotaCreatorReconciler`, before Liqo's webhook.

use liqo_auth::model::Object;
use serde_json::json;

use super::*;
use crate::watching::Change;

#[test]
fn an_accepted_slice_gets_the_virtual_node_that_liqo_makes() {
    assert_eq!(made(&at_rome(), "milan"), [virtual_node()]);
}

#[test]
fn a_slice_that_grants_nothing_gets_a_virtual_node_without_offers() {
    let mut objects = at_rome();
    let conditions = objects[0]["status"]["conditions"].take();
    objects[0]["status"] = json!({ "conditions": conditions });
    let mut expected = virtual_node();
    expected["spec"] = json!({
        "clusterID": "milan",
        "labels": { "liqo.io/remote-cluster-id": "milan" },
        "kubeconfigSecretRef": { "name": "kubeconfig-resourceslice-mypool" },
        "resourceQuota": {},
    });
    assert_eq!(made(&objects, "milan"), [expected]);
}

#[test]
fn a_slice_that_is_not_ready_gets_no_virtual_node() {
    let changes: [fn(&mut [Value; 3]); 15] = [
        |[slice, ..]| slice["status"]["conditions"][0]["status"] = json!("Denied"),
        |[slice, ..]| slice["status"]["conditions"][1]["status"] = json!("Denied"),
        |[slice, ..]| slice["status"]["conditions"] = json!([]),
        |[slice, ..]| slice["metadata"]["annotations"] = json!({}),
        |[slice, ..]| slice["metadata"]["annotations"][CREATE] = json!(""),
        |[slice, ..]| slice["metadata"]["annotations"][CREATE] = json!("False"),
        |[slice, ..]| slice["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z"),
        |[slice, ..]| slice["metadata"]["labels"]["liqo.io/replication"] = json!("false"),
        |[slice, ..]| slice["metadata"]["labels"]["liqo.io/remoteID"] = json!("turin"),
        |[slice, ..]| slice["metadata"]["labels"]["liqo.io/replicated"] = json!("true"),
        |[_, identity, _]| identity["status"] = json!({}),
        |[_, identity, _]| identity["spec"]["type"] = json!("ControlPlane"),
        |[_, identity, _]| identity["spec"]["clusterID"] = json!("turin"),
        |[_, identity, _]| {
            identity["metadata"]["labels"]["liqo.io/resourceslice-name"] = json!("other");
        },
        |[.., secret]| secret["metadata"]["name"] = json!("other"),
    ];
    for (index, change) in changes.iter().enumerate() {
        let mut objects = at_rome();
        change(&mut objects);
        assert_eq!(
            made(&objects, "milan"),
            Vec::<Value>::new(),
            "change {index}"
        );
    }
}

#[test]
fn what_liqo_does_not_set_stays_in_a_virtual_node() {
    let mut present = virtual_node();
    present["metadata"]["resourceVersion"] = json!("7");
    present["metadata"]["annotations"] = json!({ "by": "hand" });
    present["spec"]["createNode"] = json!(false);
    present["spec"]["taints"] = json!([{ "key": "a", "effect": "NoSchedule" }]);
    present["spec"]["labels"]["by"] = json!("hand");
    present["spec"]["vkOptionsTemplateRef"] = json!({ "name": "mine", "namespace": "liqo" });
    present["spec"]["offloadingPatch"]["labelsNotReflected"] = json!(["b"]);
    present["status"] = json!({ "conditions": [] });
    let [wanted] = &wanted_in(&at_rome(), "milan")[..] else {
        panic!("not one object");
    };
    assert_eq!(over(wanted, &present), Ok(present.clone()));

    // What Liqo sets is set again.
    let expected = present.clone();
    present["spec"]["resourceQuota"] = json!({ "hard": { "cpu": "1", "pods": "3" } });
    present["spec"]["storageClasses"] = json!([]);
    present["spec"]["kubeconfigSecretRef"] = json!({ "name": "other" });
    present["metadata"]["labels"] = json!({});
    present["metadata"]["ownerReferences"][0]["uid"] = json!("earlier");
    assert_eq!(over(wanted, &present), Ok(expected.clone()));
}

#[test]
fn an_object_with_another_controller_is_refused() {
    let mut present = virtual_node();
    present["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "1", "controller": true,
    }]);
    let [wanted] = &wanted_in(&at_rome(), "milan")[..] else {
        panic!("not one object");
    };
    let error = over(wanted, &present).unwrap_err();
    assert!(
        error.starts_with("VirtualNode liqo-tenant-milan/mypool belongs to ConfigMap x"),
        "{error}"
    );
    // An owner that is no controller stays.
    present["metadata"]["ownerReferences"][0]["controller"] = json!(false);
    let owned = over(wanted, &present).unwrap();
    let owners = owned["metadata"]["ownerReferences"].as_array().unwrap();
    assert_eq!(owners.len(), 2, "{owned}");
}

#[test]
fn an_accepted_replica_gets_the_quota_that_liqo_makes() {
    assert_eq!(made(&[replica()], "rome"), [quota()]);
    // Liqo asks for the resources' condition alone.
    let mut slice = replica();
    slice["status"]["conditions"][0]["status"] = json!("Denied");
    assert_eq!(made(&[slice], "rome"), [quota()]);
}

#[test]
fn a_cordon_of_the_slice_or_of_its_tenant_cordons_the_quota() {
    for (annotation, value, is_cordoned) in [
        ("liqo.io/cordon", "true", true),
        ("liqo.io/cordon", "", true),
        ("liqo.io/cordon-tenant", "true", true),
        ("liqo.io/cordon", "false", false),
        ("liqo.io/cordon-tenant", "False", false),
        ("liqo.io/cordon", "0", false),
    ] {
        let mut slice = replica();
        slice["metadata"]["annotations"] = json!({ annotation: value });
        let mut expected = quota();
        if is_cordoned {
            expected["spec"]["cordoned"] = json!(true);
        }
        assert_eq!(made(&[slice], "rome"), [expected], "{annotation}={value}");
    }
    let mut present = quota();
    present["spec"]["cordoned"] = json!(true);
    let [wanted] = &wanted_in(&[replica()], "rome")[..] else {
        panic!("not one object");
    };
    assert_eq!(over(wanted, &present), Ok(quota()));
}

#[test]
fn a_slice_that_is_no_accepted_replica_of_the_peer_gets_no_quota() {
    let changes: [fn(&mut Value); 5] = [
        |slice| slice["status"]["conditions"][1]["status"] = json!("Denied"),
        |slice| slice["metadata"]["labels"]["liqo.io/replicated"] = json!("false"),
        |slice| slice["metadata"]["labels"]["liqo.io/originID"] = json!("turin"),
        |slice| slice["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z"),
        |slice| slice["spec"]["consumerClusterID"] = json!("turin"),
    ];
    for (index, change) in changes.iter().enumerate() {
        let mut slice = replica();
        change(&mut slice);
        assert_eq!(
            made(&[slice], "rome"),
            Vec::<Value>::new(),
            "change {index}"
        );
    }
}

#[test]
fn the_administrator_chooses_the_enforcement_of_limits() {
    let object = Object::from_value(replica());
    let peer = "rome".parse().unwrap();
    for enforcement in [
        LimitsEnforcement::Hard,
        LimitsEnforcement::Soft,
        LimitsEnforcement::None,
    ] {
        let view = View::of(&peer, [&object]);
        let [wanted] = &wanted(&view, &BOTH, enforcement)[..] else {
            panic!("not one object");
        };
        let quota = wanted.object(None).unwrap();
        let found = quota.data.pointer("/spec/limitsEnforcement").unwrap();
        assert_eq!(found, enforcement.as_str());
    }
}

#[test]
fn the_same_write_is_sent_once() {
    let [wanted] = &wanted_in(&at_rome(), "milan")[..] else {
        panic!("not one object");
    };
    let (id, object) = (wanted.id(), wanted.object(None).unwrap());
    let mut known = Known::default();
    let list = |known: &mut Known| known.take(id.kind, Ok(Change::Listed(Vec::new())));
    list(&mut known);
    assert!(known.note(&id, None, &object));
    assert!(!known.note(&id, None, &object));
    known.not_written(&id);
    assert!(known.note(&id, None, &object));
    // Whatever the watch tells of the object, it may have to be written again.
    list(&mut known);
    assert!(known.note(&id, None, &object));
    known.take(id.kind, Ok(Change::Seen(Box::new(object.clone()))));
    assert_eq!(known.get(&id), Some(&object));
    known.take(id.kind, Ok(Change::Left(Box::new(object.clone()))));
    assert_eq!(known.get(&id), None);
    assert!(known.note(&id, None, &object));
}

#[test]
fn a_change_concerns_the_slice_that_the_object_belongs_or_belonged_to() {
    let [wanted] = &wanted_in(&[replica()], "rome")[..] else {
        panic!("not one object");
    };
    let object = wanted.object(None).unwrap();
    let mut without_owner = object.clone();
    without_owner.metadata.owner_references = None;
    let mut known = Known::default();
    assert_eq!(known.listing(MadeKind::Quota), Listing::Awaited);
    let listed = Ok(Change::Listed(vec![object]));
    assert_eq!(known.take(MadeKind::Quota, listed), Affected::All);
    assert_eq!(known.listing(MadeKind::Quota), Listing::Complete);
    let slice = model::ObjectRef::new(model::Kind::ResourceSlice, "liqo-tenant-rome", "mypool");
    let seen = Ok(Change::Seen(Box::new(without_owner)));
    let affected = known.take(MadeKind::Quota, seen);
    assert_eq!(affected, Affected::Slices([slice].into()));

    // The kind is missing: this is news once.
    let missing = known.take(MadeKind::Quota, Err(NotServed));
    assert_eq!(missing, Affected::All);
    assert_eq!(known.get(&wanted.id()), None);
    let missing = known.take(MadeKind::Quota, Err(NotServed));
    assert_eq!(missing, Affected::Slices([].into()));
    assert_eq!(known.listing(MadeKind::Quota), Listing::NotServed);
}

/// What is wanted in a view of the peer with these objects.
fn wanted_in(objects: &[Value], peer: &str) -> Vec<Wanted> {
    let objects: Vec<Object> = objects.iter().cloned().map(Object::from_value).collect();
    let unreadable = objects.iter().find_map(Object::as_unreadable);
    assert!(unreadable.is_none(), "{unreadable:?}");
    let peer = peer.parse().unwrap();
    wanted(
        &View::of(&peer, &objects),
        &BOTH,
        LimitsEnforcement::default(),
    )
}

/// The new objects that are wanted in a view of the peer.
fn made(objects: &[Value], peer: &str) -> Vec<Value> {
    let wanted = wanted_in(objects, peer).into_iter();
    let new = wanted.map(|one| serde_json::to_value(one.object(None).unwrap()).unwrap());
    new.collect()
}

/// The object that replaces the present one, or the error.
fn over(wanted: &Wanted, present: &Value) -> Result<Value, String> {
    let present: DynamicObject = serde_json::from_value(present.clone()).unwrap();
    let object = wanted.object(Some(&present));
    let object = object.map_err(|error| error.to_string())?;
    Ok(serde_json::to_value(object).unwrap())
}

/// A slice, its Identity and the Secret with its kubeconfig, at the consumer.
fn at_rome() -> [Value; 3] {
    let slice = json!({
        "apiVersion": "authentication.liqo.io/v1beta1",
        "kind": "ResourceSlice",
        "metadata": {
            "name": "mypool",
            "namespace": "liqo-tenant-milan",
            "uid": "uid-of-slice",
            "labels": {
                "liqo.io/remote-cluster-id": "milan",
                "liqo.io/remoteID": "milan",
                "liqo.io/replication": "true",
            },
            "annotations": { CREATE: "true" },
        },
        "spec": {
            "class": "default",
            "consumerClusterID": "rome",
            "providerClusterID": "milan",
            "resources": { "cpu": "4" },
        },
        "status": status(),
    });
    let identity = json!({
        "apiVersion": "authentication.liqo.io/v1beta1",
        "kind": "Identity",
        "metadata": {
            "name": "resourceslice-mypool",
            "namespace": "liqo-tenant-milan",
            "labels": {
                "liqo.io/remote-cluster-id": "milan",
                "liqo.io/resourceslice-name": "mypool",
            },
        },
        "spec": { "clusterID": "milan", "type": "ResourceSlice" },
        "status": {
            "kubeconfigSecretRef": { "name": "kubeconfig-resourceslice-mypool" },
        },
    });
    let secret = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": "kubeconfig-resourceslice-mypool",
            "namespace": "liqo-tenant-milan",
            "labels": { "liqo.io/remote-cluster-id": "milan" },
        },
    });
    [slice, identity, secret]
}

/// The replica of the slice, at the provider.
fn replica() -> Value {
    json!({
        "apiVersion": "authentication.liqo.io/v1beta1",
        "kind": "ResourceSlice",
        "metadata": {
            "name": "mypool",
            "namespace": "liqo-tenant-rome",
            "uid": "uid-of-replica",
            "labels": {
                "liqo.io/originID": "rome",
                "liqo.io/remote-cluster-id": "rome",
                "liqo.io/remoteID": "milan",
                "liqo.io/replicated": "true",
                "liqo.io/replication": "false",
            },
            "annotations": { CREATE: "true" },
        },
        "spec": {
            "class": "default",
            "consumerClusterID": "rome",
            "providerClusterID": "milan",
            "resources": { "cpu": "4" },
        },
        "status": status(),
    })
}

fn status() -> Value {
    json!({
        "conditions": [
            { "type": "Authentication", "status": "Accepted" },
            { "type": "Resources", "status": "Accepted" },
        ],
        "resources": { "cpu": "4", "memory": "8Gi" },
        "storageClasses": [{ "storageClassName": "standard", "default": true }],
        "ingressClasses": [{ "ingressClassName": "nginx" }],
        "loadBalancerClasses": [{ "loadBalancerClassName": "metallb", "default": true }],
        "nodeLabels": { "region": "south" },
        "nodeSelector": { "pool": "a" },
    })
}

fn virtual_node() -> Value {
    json!({
        "apiVersion": "offloading.liqo.io/v1beta1",
        "kind": "VirtualNode",
        "metadata": {
            "name": "mypool",
            "namespace": "liqo-tenant-milan",
            "labels": {
                "liqo.io/remote-cluster-id": "milan",
                "liqo.io/resourceslice-name": "mypool",
            },
            "ownerReferences": [owner("uid-of-slice")],
        },
        "spec": {
            "clusterID": "milan",
            "labels": { "liqo.io/remote-cluster-id": "milan", "region": "south" },
            "kubeconfigSecretRef": { "name": "kubeconfig-resourceslice-mypool" },
            "resourceQuota": { "hard": { "cpu": "4", "memory": "8Gi" } },
            "storageClasses": [{ "storageClassName": "standard", "default": true }],
            "ingressClasses": [{ "ingressClassName": "nginx" }],
            "loadBalancerClasses": [{ "loadBalancerClassName": "metallb", "default": true }],
            "offloadingPatch": { "nodeSelector": { "pool": "a" } },
        },
    })
}

/// The first six bytes of the SHA-256 of `rome` are in the user's name.
fn quota() -> Value {
    json!({
        "apiVersion": "offloading.liqo.io/v1beta1",
        "kind": "Quota",
        "metadata": {
            "name": USER,
            "namespace": "liqo-tenant-rome",
            "ownerReferences": [owner("uid-of-replica")],
        },
        "spec": {
            "user": USER,
            "limitsEnforcement": "None",
            "resources": { "cpu": "4", "memory": "8Gi" },
        },
    })
}

fn owner(uid: &str) -> Value {
    json!({
        "apiVersion": "authentication.liqo.io/v1beta1",
        "kind": "ResourceSlice",
        "name": "mypool",
        "uid": uid,
        "controller": true,
        "blockOwnerDeletion": true,
    })
}

const BOTH: [MadeKind; 2] = [MadeKind::VirtualNode, MadeKind::Quota];
const CREATE: &str = "liqo.io/create-virtual-node";
const USER: &str = "mypool-a8a4c692b93b";
