//! The expected objects are those of Liqo 1.2.0 for the same slices: its
//! `VirtualNodeCreatorReconciler` and `QuotaCreatorReconciler`, before Liqo's webhook.

mod peering;
mod quotas;
mod take_over;

use liqo_auth::{
    consumer::SliceOptions,
    model::{Kind, TenantCondition},
    provider::SliceDecision,
};
use serde_json::json;

use self::peering::Peering;
use super::*;
use crate::watching::Change;

#[test]
fn an_accepted_slice_gets_the_virtual_node_that_liqo_makes() {
    let peering = Peering::with_slice();
    assert_eq!(made(&peering.at_rome()), [virtual_node(&peering)]);
}

#[test]
fn a_slice_that_grants_nothing_gets_a_virtual_node_without_offers() {
    let mut peering = Peering::with_slice();
    peering.edit_slice_at_rome(|slice| {
        let conditions = slice["status"]["conditions"].take();
        slice["status"] = json!({ "conditions": conditions });
    });
    let mut expected = virtual_node(&peering);
    expected["spec"] = json!({
        "clusterID": "milan",
        "labels": { "liqo.io/remote-cluster-id": "milan" },
        "kubeconfigSecretRef": { "name": KUBECONFIG },
        "resourceQuota": {},
    });
    assert_eq!(made(&peering.at_rome()), [expected]);
}

#[test]
fn a_slice_that_is_not_ready_gets_no_virtual_node() {
    let of_slice: [fn(&mut Value); 8] = [
        |slice| slice["status"]["conditions"][0]["status"] = json!("Denied"),
        |slice| slice["status"]["conditions"][1]["status"] = json!("Denied"),
        |slice| slice["status"]["conditions"] = json!([]),
        |slice| slice["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z"),
        |slice| slice["metadata"]["labels"]["liqo.io/replication"] = json!("false"),
        |slice| slice["metadata"]["labels"]["liqo.io/remoteID"] = json!("turin"),
        |slice| slice["metadata"]["labels"]["liqo.io/replicated"] = json!("true"),
        |slice| slice["spec"]["csr"] = json!(""),
    ];
    for (index, change) in of_slice.iter().enumerate() {
        let mut peering = Peering::with_slice();
        peering.edit_slice_at_rome(change);
        assert_eq!(made(&peering.at_rome()), NOTHING, "change {index}");
    }
    let others: [Edit; 5] = [
        (Kind::Identity, IDENTITY, |it| it["status"] = json!({})),
        (Kind::Identity, IDENTITY, |it| {
            it["spec"]["type"] = json!("ControlPlane");
        }),
        (Kind::Identity, IDENTITY, |it| {
            it["spec"]["clusterID"] = json!("turin");
        }),
        (Kind::Identity, IDENTITY, |it| {
            it["spec"]["authParams"]["apiServer"] = json!("https://172.19.0.9:6443");
        }),
        (Kind::Secret, KUBECONFIG, |it| {
            it["data"]["kubeconfig"] = json!("YQ==");
        }),
    ];
    for (index, (kind, name, change)) in others.iter().enumerate() {
        let mut peering = Peering::with_slice();
        peering.edit_at_rome(*kind, name, change);
        assert_eq!(
            made(&peering.at_rome()),
            NOTHING,
            "change {index} of others"
        );
    }
    let mut peering = Peering::with_slice();
    peering.remove_at_rome(Kind::Secret, KUBECONFIG);
    assert_eq!(made(&peering.at_rome()), NOTHING);
}

/// A provider that is a consumer of this cluster as well may write in the namespace of the
/// slices.
#[test]
fn a_slice_that_the_provider_has_planted_gets_no_virtual_node() {
    let mut peering = Peering::with_slice();
    let named = |object: Value| -> Value {
        let text = object.to_string().replace("mypool", "planted");
        serde_json::from_str(&text).unwrap()
    };
    for (kind, name) in [
        (Kind::ResourceSlice, "mypool"),
        (Kind::Identity, IDENTITY),
        (Kind::Secret, KUBECONFIG),
    ] {
        let planted = named(peering.get_at_rome(kind, name));
        peering.put_at_rome(planted);
    }
    assert_eq!(made(&peering.at_rome()), [virtual_node(&peering)]);
}

/// The record keeps what this side has asked for.
#[test]
fn the_annotation_of_a_requested_slice_decides_nothing() {
    let asks = |slice: &mut Value| slice["metadata"]["annotations"][CREATE] = json!("true");
    let asks_not = |slice: &mut Value| slice["metadata"]["annotations"] = json!({});
    let mut peering = Peering::with_slice();
    peering.edit_slice_at_rome(asks_not);
    assert_eq!(made(&peering.at_rome()), [virtual_node(&peering)]);

    let mut peering = Peering::new();
    peering.request(&SliceOptions {
        create_virtual_node: false,
        ..peering::options()
    });
    peering.edit_slice_at_rome(asks);
    assert_eq!(made(&peering.at_rome()), NOTHING);
    peering.request(&peering::options());
    assert_eq!(made(&peering.at_rome()), [virtual_node(&peering)]);
}

/// A slice of Liqo or of an earlier version.
#[test]
fn the_annotation_of_a_slice_that_is_not_on_record_decides() {
    let cases = [
        (json!({}), false),
        (json!({ CREATE: "" }), false),
        (json!({ CREATE: "False" }), false),
        (json!({ CREATE: "true" }), true),
    ];
    for (annotations, is_made) in cases {
        let mut peering = Peering::with_slice();
        peering.forget_requests_at_rome();
        peering.edit_slice_at_rome(|slice| slice["metadata"]["annotations"] = annotations.clone());
        let expected = is_made.then(|| virtual_node(&peering));
        let expected: Vec<Value> = expected.into_iter().collect();
        assert_eq!(made(&peering.at_rome()), expected, "{annotations}");
    }
}

#[test]
fn what_liqo_does_not_set_stays_in_a_virtual_node() {
    let peering = Peering::with_slice();
    let mut present = virtual_node(&peering);
    present["metadata"]["resourceVersion"] = json!("7");
    present["metadata"]["annotations"] = json!({ "by": "hand" });
    present["spec"]["createNode"] = json!(false);
    present["spec"]["taints"] = json!([{ "key": "a", "effect": "NoSchedule" }]);
    present["spec"]["labels"]["by"] = json!("hand");
    present["spec"]["vkOptionsTemplateRef"] = json!({ "name": "mine", "namespace": "liqo" });
    present["spec"]["offloadingPatch"]["labelsNotReflected"] = json!(["b"]);
    present["status"] = json!({ "conditions": [] });
    let wanted = only(peering.at_rome());
    assert_eq!(over(&wanted, &present), Ok(present.clone()));

    // What Liqo sets is set again.
    let expected = present.clone();
    present["spec"]["resourceQuota"] = json!({ "hard": { "cpu": "1", "pods": "3" } });
    present["spec"]["storageClasses"] = json!([]);
    present["spec"]["kubeconfigSecretRef"] = json!({ "name": "other" });
    present["metadata"]["labels"] = json!({});
    present["metadata"]["ownerReferences"][0]["uid"] = json!("earlier");
    assert_eq!(over(&wanted, &present), Ok(expected.clone()));
}

#[test]
fn an_object_with_another_controller_is_refused() {
    let peering = Peering::with_slice();
    let mut present = virtual_node(&peering);
    present["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "1", "controller": true,
    }]);
    let wanted = only(peering.at_rome());
    let error = over(&wanted, &present).unwrap_err();
    assert!(
        error.starts_with("VirtualNode liqo-tenant-milan/mypool belongs to ConfigMap x"),
        "{error}"
    );
    // An owner that is no controller stays.
    present["metadata"]["ownerReferences"][0]["controller"] = json!(false);
    let owned = over(&wanted, &present).unwrap();
    let owners = owned["metadata"]["ownerReferences"].as_array().unwrap();
    assert_eq!(owners.len(), 2, "{owned}");
}

#[test]
fn the_same_write_is_sent_once() {
    let wanted = only(Peering::with_slice().at_rome());
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
    let wanted = only(Peering::with_slice().at_milan());
    let object = wanted.object(None).unwrap();
    let mut without_owner = object.clone();
    without_owner.metadata.owner_references = None;
    let mut known = Known::default();
    assert_eq!(known.listing(MadeKind::Quota), Listing::Awaited);
    let listed = Ok(Change::Listed(vec![object]));
    assert_eq!(known.take(MadeKind::Quota, listed), Affected::All);
    assert_eq!(known.listing(MadeKind::Quota), Listing::Complete);
    let slice = model::ObjectRef::new(Kind::ResourceSlice, "liqo-tenant-rome", "mypool");
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

/// The new objects that are made.
fn made(wanted: &[Wanted]) -> Vec<Value> {
    let new = wanted.iter().filter(|one| one.is_made());
    let new = new.map(|one| serde_json::to_value(one.object(None).unwrap()).unwrap());
    new.collect()
}

fn only(wanted: Vec<Wanted>) -> Wanted {
    assert_eq!(wanted.len(), 1, "{wanted:#?}");
    wanted.into_iter().next().unwrap()
}

/// The object that replaces the present one, or the error.
fn over(wanted: &Wanted, present: &Value) -> Result<Value, String> {
    let present: DynamicObject = serde_json::from_value(present.clone()).unwrap();
    let object = wanted.object(Some(&present));
    let object = object.map_err(|error| error.to_string())?;
    Ok(serde_json::to_value(object).unwrap())
}

/// A change of an object at rome.
type Edit = (Kind, &'static str, fn(&mut Value));

/// A status that shows more than the provider grants.
fn granted_by_the_peer() -> Value {
    json!({
        "conditions": [
            { "type": "Authentication", "status": "Accepted" },
            { "type": "Resources", "status": "Accepted" },
        ],
        "resources": { "cpu": "4000" },
    })
}

fn virtual_node(peering: &Peering) -> Value {
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
            "ownerReferences": [owner(&peering.get_at_rome(Kind::ResourceSlice, "mypool"))],
        },
        "spec": {
            "clusterID": "milan",
            "labels": { "liqo.io/remote-cluster-id": "milan", "region": "south" },
            "kubeconfigSecretRef": { "name": KUBECONFIG },
            "resourceQuota": { "hard": { "cpu": "4", "memory": "8Gi" } },
            "storageClasses": [{ "storageClassName": "standard", "default": true }],
            "ingressClasses": [{ "ingressClassName": "nginx" }],
            "loadBalancerClasses": [{ "loadBalancerClassName": "metallb", "default": true }],
            "offloadingPatch": { "nodeSelector": { "pool": "a" } },
        },
    })
}

/// The first six bytes of the SHA-256 of `rome` are in the user's name.
fn quota(peering: &Peering) -> Value {
    json!({
        "apiVersion": "offloading.liqo.io/v1beta1",
        "kind": "Quota",
        "metadata": {
            "name": USER,
            "namespace": "liqo-tenant-rome",
            "ownerReferences": [owner(&peering.replica())],
        },
        "spec": {
            "user": USER,
            "limitsEnforcement": "None",
            "resources": { "cpu": "4", "memory": "8Gi" },
        },
    })
}

fn cordoned(mut quota: Value) -> Value {
    quota["spec"]["cordoned"] = json!(true);
    quota
}

fn owner(slice: &Value) -> Value {
    json!({
        "apiVersion": "authentication.liqo.io/v1beta1",
        "kind": "ResourceSlice",
        "name": "mypool",
        "uid": slice["metadata"]["uid"],
        "controller": true,
        "blockOwnerDeletion": true,
    })
}

const NOTHING: [Value; 0] = [];
const CREATE: &str = "liqo.io/create-virtual-node";
const IDENTITY: &str = "resourceslice-mypool";
const KUBECONFIG: &str = "kubeconfig-resourceslice-mypool";
const USER: &str = "mypool-a8a4c692b93b";
