//! How a consumer requests a slice.

use liqo_auth::{
    Machine,
    audit::Decision,
    consumer::{PeerSettings, SliceOptions},
    crypto::{Csr, Subject},
    error::{Fault, LocalFault, PolicyRefusal, Precondition},
    machine::{Awaited, Concerns, Effect, Mirror},
    model::{Bytes, Kind, Object, Resource, Timestamp, names},
};
use serde_json::json;

use super::{SLICE_IDENTITY, object_ref};
use crate::{
    clusters::exchange::{ed25519, id},
    consumer::{
        home::{Home, NAMESPACE, YEAR, env, provider},
        key_choice::of_a_consumer,
    },
};

#[test]
fn a_consumers_slice_is_cordoned_as_its_annotations_say() {
    let mut home = Home::authenticated(YEAR);
    home.request_slice();
    let consumer: &dyn Machine = &home.consumer.clone();
    let cordoned = |home: &Home| {
        let status = consumer.look(&home.view(), home.now).unwrap();
        status.slices[0].cordoned
    };
    assert_eq!(cordoned(&home), Some(false));
    let plain = home.slice();
    for annotation in [names::CORDON_ANNOTATION, names::CORDON_TENANT_ANNOTATION] {
        let mut marked = plain.clone();
        let annotations = &mut marked.metadata.annotations;
        annotations.insert(annotation.to_owned(), "true".to_owned());
        home.objects.insert(marked.clone().into());
        assert_eq!(cordoned(&home), Some(true), "{annotation}");
        home.objects.insert(Object::from_value(json!({
            "apiVersion": "authentication.liqo.io/v1beta1", "kind": "ResourceSlice",
            "metadata": marked.metadata, "spec": 5,
        })));
        assert_eq!(cordoned(&home), Some(true), "{annotation}");
    }
}

#[test]
fn a_requested_slice_has_the_form_of_liqoctl_and_liqo() {
    let mut home = Home::authenticated(YEAR);
    let step = home.request_slice();
    assert_eq!(step.events.len(), 1);
    assert_eq!(step.events[0].decision, Decision::SliceRequested);
    let slice = home.slice();
    let subject = Subject::resource_slice("mypool", &id("cl-consumer"));
    let csr = Csr::make(&subject, &*ed25519(1))
        .unwrap()
        .at_once()
        .unwrap();
    let mut value = serde_json::to_value(&slice).unwrap();
    for assigned in ["uid", "resourceVersion", "generation", "creationTimestamp"] {
        value["metadata"].as_object_mut().unwrap().remove(assigned);
    }
    assert_eq!(
        value,
        json!({
            "metadata": {
                "name": "mypool",
                "namespace": NAMESPACE,
                "annotations": { "liqo.io/create-virtual-node": "true" },
                "labels": {
                    "liqo.io/remote-cluster-id": "cl-provider",
                    "liqo.io/remoteID": "cl-provider",
                    "liqo.io/replication": "true",
                },
            },
            "spec": {
                "class": "default",
                "consumerClusterID": "cl-consumer",
                "providerClusterID": "cl-provider",
                "csr": serde_json::to_value(Bytes::from(csr.pem())).unwrap(),
                "resources": { "cpu": "2", "memory": "4Gi" },
            },
        })
    );
    assert_eq!(home.slice_phase(), "AwaitsDecision");
    let step = home.settle();
    assert!(
        step.wait
            .awaiting
            .contains(&Awaited::SliceDecision(slice.id()))
    );
}

#[test]
fn a_second_request_changes_only_the_requested_fields() {
    let mut home = Home::with_slice(YEAR);
    assert!(home.request_slice().is_settled());
    let before = home.slice();
    let options = SliceOptions {
        resources: [("cpu".to_owned(), "8".into())].into(),
        annotations: [("a".to_owned(), "b".to_owned())].into(),
        ..SliceOptions::named("mypool")
    };
    let step = home
        .consumer
        .request_slice(&home.view(), &options, env(home.now))
        .unwrap();
    home.carry_out(step);
    let mut expected = before;
    expected.spec.resources = options.resources;
    expected.metadata.generation += 1;
    expected
        .metadata
        .annotations
        .insert("a".to_owned(), "b".to_owned());
    let mut slice = home.slice();
    slice.metadata.resource_version = expected.metadata.resource_version.clone();
    assert_eq!(slice, expected);
    assert_eq!(home.slice_phase(), "Held");
}

#[test]
fn a_request_is_refused_before_authentication_and_with_a_bad_name() {
    let home = Home::new();
    let ask = |home: &Home, name: &str| {
        home.consumer
            .request_slice(&home.view(), &SliceOptions::named(name), env(home.now))
    };
    let error = ask(&home, "mypool").unwrap_err();
    assert_eq!(error.fault(), &Precondition::NotAuthenticated.into());
    let home = Home::authenticated(YEAR);
    let longest = "a".repeat(52);
    for name in [
        "", "-a", "A", "a_b", &longest, "a/../b", "a..b", "a.-b", "a-.b", ".a", "a.",
    ] {
        let error = ask(&home, name).unwrap_err();
        assert!(
            matches!(error.fault(), Fault::Local(LocalFault::SliceName { .. })),
            "{error}"
        );
    }
    assert!(ask(&home, &"a".repeat(51)).is_ok());
}

/// A person, `liqoctl` or a GitOps program has made it.
#[test]
fn a_slice_by_anyone_is_signed_if_the_provider_cannot_have_made_it() {
    let mut home = Home::authenticated(YEAR);
    home.objects.insert(by_hand());
    assert_eq!(home.slice_phase(), "NeedsRequest");
    home.settle();
    assert_eq!(home.slice_phase(), "AwaitsDecision");
    assert!(!home.slice().spec.csr.is_empty());
    assert!(home.refused.is_empty());
}

#[test]
fn a_slice_that_the_provider_may_have_made_is_refused_and_never_signed() {
    for shown in of_a_consumer() {
        let mut home = Home::authenticated(YEAR);
        home.objects.insert(shown.clone());
        let (hour, made) = (core::time::Duration::from_secs(3600), home.now);
        home.objects.insert(by_hand_at(Some(made)));
        let planted = home.slice();
        let error = home.slice_refusal();
        assert_eq!(error.fault(), &PolicyRefusal::SliceNotRequested.into());
        assert_eq!(error.at().object, Some(object_ref()));
        home.settle();
        assert_eq!(home.refused, [error]);
        assert_eq!(home.slice(), planted);
        assert_eq!(home.phase(), "Authenticated");

        // It stays refused when the provider has no rights any more. A slice that is made
        // from then on is signed.
        let is_shown = home.objects.remove(&shown.id());
        assert!(is_shown.is_some());
        home.settle();
        assert_eq!(
            home.slice_refusal().fault(),
            &PolicyRefusal::SliceNotRequested.into()
        );
        home.now = home.now + hour;
        for doubted in [Some(made), None] {
            home.objects.insert(by_hand_at(doubted));
            assert_eq!(
                home.slice_refusal().fault(),
                &PolicyRefusal::SliceNotRequested.into()
            );
            assert!(home.turn().is_settled());
        }
        assert_eq!(home.record()["doubtedUntil"], json!(made));
        home.objects.insert(by_hand_at(Some(made + hour)));
        home.settle();
        assert_eq!(home.slice_phase(), "AwaitsDecision");
    }
}

/// While the provider may write, all slices are doubted that are made.
#[test]
fn a_doubted_slice_changes_the_record_once() {
    let mut home = Home::authenticated(YEAR);
    let [_, tenant, _] = of_a_consumer();
    home.objects.insert(tenant);
    home.objects.insert(by_hand());
    home.settle();
    home.now = home.now + core::time::Duration::from_secs(3600);
    assert!(home.turn().is_settled());
    assert_eq!(home.record()["doubtedUntil"], "9999-12-31T23:59:59Z");
}

#[test]
fn an_administrator_requests_a_slice_that_the_provider_may_have_made() {
    let mut home = Home::authenticated(YEAR);
    let [_, tenant, _] = of_a_consumer();
    home.objects.insert(tenant);
    home.objects.insert(by_hand());
    home.settle();
    // The record comes before the request.
    let step = home.request_slice();
    let kinds: Vec<Kind> = step.effects.iter().map(|effect| effect.id().kind).collect();
    assert_eq!(kinds, [Kind::Secret, Kind::ResourceSlice]);
    assert_eq!(home.record()["requested"], json!(["mypool"]));
    assert_eq!(home.slice_phase(), "AwaitsDecision");

    // A slice that is stored again after its deletion is refused again.
    let step = home.consumer.delete_slice(&home.view(), "mypool").unwrap();
    home.carry_out(step);
    home.settle();
    assert_eq!(home.record().get("requested"), None);
    home.objects.insert(by_hand());
    assert_eq!(
        home.slice_refusal().fault(),
        &PolicyRefusal::SliceNotRequested.into()
    );
}

/// After a crash, the record may name a slice that is not stored.
#[test]
fn a_slice_is_on_record_before_its_request_is_signed() {
    let mut home = Home::authenticated(YEAR);
    let mut step = home
        .consumer
        .request_slice(&home.view(), &SliceOptions::named("mypool"), env(home.now))
        .unwrap();
    step.effects.truncate(1);
    home.carry_out(step);
    assert_eq!(home.record()["requested"], json!(["mypool"]));
    // The name is removed, so that no other party can make a slice of that name.
    home.settle();
    assert_eq!(home.record().get("requested"), None);
}

#[test]
fn a_slice_made_by_hand_is_completed_if_the_settings_allow_it() {
    let mut home = Home::with(PeerSettings {
        sign_slices_made_by_anyone: true,
        ..PeerSettings::default()
    })
    .authenticate(YEAR);
    let [_, tenant, _] = of_a_consumer();
    home.objects.insert(tenant);
    home.objects.insert(by_hand());
    assert_eq!(home.slice_phase(), "NeedsRequest");
    home.settle();
    let slice = home.slice();
    assert_eq!(
        slice.spec.consumer_cluster_id.as_deref(),
        Some("cl-consumer")
    );
    assert_eq!(
        slice.spec.provider_cluster_id.as_deref(),
        Some("cl-provider")
    );
    assert!(!slice.spec.csr.is_empty());
    assert_eq!(home.slice_phase(), "AwaitsDecision");
}

#[test]
fn a_slice_that_is_not_for_this_provider_is_left_alone() {
    for (label, value) in [
        ("liqo.io/replication", None),
        ("liqo.io/replication", Some("false")),
        ("liqo.io/remoteID", None),
        ("liqo.io/remoteID", Some("cl-other")),
        ("liqo.io/replicated", Some("true")),
    ] {
        let mut home = Home::authenticated(YEAR);
        let mut slice = by_hand();
        let labels = &mut slice.metadata_mut().labels;
        match value {
            None => labels.remove(label),
            Some(value) => labels.insert(label.to_owned(), value.to_owned()),
        };
        home.objects.insert(slice);
        assert!(home.turn().is_settled(), "{label} {value:?}");
        assert!(home.status().slices.is_empty());
    }
}

/// Each cluster may be the other's provider. Then the tenant namespace also has the
/// peer's slices.
#[test]
fn an_unreadable_replica_of_the_peers_slice_is_left_alone() {
    let mut home = Home::authenticated(YEAR);
    let mut replica = by_hand();
    let labels = &mut replica.metadata_mut().labels;
    labels.insert("liqo.io/replicated".to_owned(), "true".to_owned());
    let mut replica = replica.to_value();
    replica["spec"] = 5.into();
    home.objects.insert(Object::from_value(replica));
    assert!(home.turn().is_settled());
    assert_eq!(home.refused, []);
    assert!(home.status().slices.is_empty());
}

#[test]
fn a_slice_that_names_other_clusters_is_refused() {
    for (field, value, fault) in [
        (
            "/spec/consumerClusterID",
            "cl-other",
            Fault::from(LocalFault::Conflict),
        ),
        (
            "/spec/providerClusterID",
            "cl-other",
            LocalFault::Conflict.into(),
        ),
        (
            "/metadata/namespace",
            "default",
            PolicyRefusal::UnexpectedNamespace {
                expected: NAMESPACE.to_owned(),
                found: "default".to_owned(),
            }
            .into(),
        ),
    ] {
        let mut home = Home::authenticated(YEAR);
        home.request_slice();
        let mut object = Object::from(home.slice()).to_value();
        *object.pointer_mut(field).unwrap() = value.into();
        home.objects.remove(&object_ref());
        home.objects.insert(Object::from_value(object));
        let error = home.slice_refusal();
        assert_eq!(error.fault(), &fault, "{field}");
        assert!(home.turn().is_settled());
        assert_eq!(home.refused, [error]);
        assert_eq!(home.phase(), "Authenticated");
    }
}

#[test]
fn a_changed_object_concerns_its_peer() {
    let home = Home::with_slice(YEAR);
    let mirror = Mirror::default();
    let of = |object: &Object| home.consumer.concerns(object, &mirror);
    let slice = home.slice();
    assert_eq!(of(&slice.clone().into()), Concerns::Peer(provider()));
    let mut replica = slice.clone();
    replica
        .metadata
        .labels
        .insert(names::REPLICATED_LABEL.to_owned(), "true".to_owned());
    assert_eq!(of(&replica.into()), Concerns::Nobody);
    let mut unreadable = Object::from(slice).to_value();
    unreadable["spec"] = 5.into();
    assert_eq!(
        of(&Object::from_value(unreadable)),
        Concerns::Peer(provider())
    );
    assert_eq!(
        of(&home.identity_of(SLICE_IDENTITY).into()),
        Concerns::Peer(provider())
    );
    assert_eq!(
        of(&home.renew().unwrap().into()),
        Concerns::Peer(provider())
    );
}

#[test]
fn a_request_for_a_foreign_key_is_made_anew() {
    let mut home = Home::with_slice(YEAR);
    let mut slice = home.slice();
    let right = slice.spec.csr.clone();
    let subject = Subject::resource_slice("mypool", &id("cl-consumer"));
    slice.spec.csr = Bytes::from(
        Csr::make(&subject, &*ed25519(3))
            .unwrap()
            .at_once()
            .unwrap()
            .pem(),
    );
    home.objects.insert(slice.into());
    assert_eq!(home.slice_phase(), "NeedsRequest");
    let step = home.turn();
    assert!(
        matches!(&step.effects[..], [Effect::Patch { id, .. }] if id.kind == Kind::ResourceSlice)
    );
    assert_eq!(home.slice().spec.csr, right);
}

/// A slice made by hand, as Liqo's documentation shows it.
fn by_hand() -> Object {
    by_hand_at(None)
}

fn by_hand_at(made: Option<Timestamp>) -> Object {
    Object::from_value(json!({
        "apiVersion": "authentication.liqo.io/v1beta1",
        "kind": "ResourceSlice",
        "metadata": {
            "name": "mypool",
            "namespace": NAMESPACE,
            "creationTimestamp": made,
            "labels": {
                "liqo.io/remote-cluster-id": "cl-provider",
                "liqo.io/remoteID": "cl-provider",
                "liqo.io/replication": "true",
            },
        },
        "spec": { "class": "default", "resources": { "cpu": 2 } },
    }))
}

/// The labels may be what cannot be read.
#[test]
fn a_slice_that_cannot_be_read_is_deleted_unless_it_is_a_replica() {
    for label in [names::REPLICATION_LABEL, names::REPLICATED_LABEL] {
        let mut home = Home::with_slice(YEAR);
        let mut slice = Object::from(home.slice()).to_value();
        slice["spec"]["class"] = json!([1, 2]);
        slice["metadata"]["labels"] = json!({ label: "true" });
        home.objects.insert(Object::from_value(slice));
        let deleted = home.consumer.delete_slice(&home.view(), "mypool");
        if label == names::REPLICATED_LABEL {
            let error = deleted.unwrap_err();
            assert_eq!(error.fault(), &LocalFault::Conflict.into());
            continue;
        }
        let step = deleted.unwrap();
        assert_eq!(step.effects.len(), 1);
        assert_eq!(step.wait.awaiting, [Awaited::End(object_ref())]);
        home.carry_out(step);
        home.settle();
        assert!(home.status().slices.is_empty());
        assert_eq!(home.kubeconfig(SLICE_IDENTITY), None);
    }
}
