//! Which ResourceSlices are denied on creation and update.

use liqo_auth::{
    admission::{AdmissionRule, resource_slice},
    model::{Metadata, ResourceSlice, TextMap, names},
};

use super::{denied, slice};

#[test]
fn two_slices_that_a_consumer_requests_cannot_have_the_same_name() {
    let asked = |name: &str, namespace: &str| {
        let labels = [(names::REPLICATION_LABEL, "true")];
        slice(name, namespace, &labels)
    };
    let replica = |name: &str| {
        let labels = [
            (names::REPLICATION_LABEL, "false"),
            (names::REPLICATED_LABEL, "true"),
        ];
        slice(name, "liqo-tenant-cl-a", &labels)
    };
    let new = asked("mypool", "liqo-tenant-cl-b");
    assert_eq!(resource_slice::create(&new, &[]), Ok(()));
    let taken = asked("mypool", "liqo-tenant-cl-c");
    assert_eq!(
        resource_slice::create(&new, &[&taken]),
        denied(AdmissionRule::SliceName, "metadata.name")
    );
    // The name may be that of another cluster's slice, or of a slice that is
    // not replicated.
    let local = slice("mypool", "liqo-tenant-cl-c", &[]);
    for other in [
        &replica("mypool"),
        &asked("other", "liqo-tenant-cl-c"),
        &local,
    ] {
        assert_eq!(resource_slice::create(&new, &[other]), Ok(()));
    }
    assert_eq!(
        resource_slice::create(&replica("mypool"), &[&taken]),
        Ok(())
    );
}

#[test]
fn a_control_plane_user_can_change_neither_the_label_nor_the_cordon_annotation() {
    let label = "metadata.labels[liqo.io/remote-cluster-id]";
    let cordon = "metadata.annotations[liqo.io/cordon]";
    let with = |label: Option<&str>, cordon: Option<&str>| {
        let mut slice = slice("mypool", "liqo-tenant-cl-a", &[]);
        let mut put = |map: fn(&mut Metadata) -> &mut TextMap, key: &str, value: Option<&str>| {
            if let Some(value) = value {
                map(&mut slice.metadata).insert(key.to_owned(), value.to_owned());
            }
        };
        put(
            |metadata| &mut metadata.labels,
            names::REMOTE_CLUSTER_ID_LABEL,
            label,
        );
        put(
            |metadata| &mut metadata.annotations,
            names::CORDON_ANNOTATION,
            cordon,
        );
        slice
    };
    for (old, new, rule, field) in [
        (
            with(Some("a"), None),
            with(Some("b"), None),
            AdmissionRule::LabelChanged,
            label,
        ),
        (
            with(Some("a"), None),
            with(None, None),
            AdmissionRule::LabelDeleted,
            label,
        ),
        (
            with(None, None),
            with(Some("a"), None),
            AdmissionRule::LabelAdded,
            label,
        ),
        (
            with(None, Some("")),
            with(None, Some("x")),
            AdmissionRule::CordonChanged,
            cordon,
        ),
        (
            with(None, Some("")),
            with(None, None),
            AdmissionRule::CordonDeleted,
            cordon,
        ),
        (
            with(None, None),
            with(None, Some("")),
            AdmissionRule::CordonAdded,
            cordon,
        ),
    ] {
        assert_eq!(
            resource_slice::update(&old, &new, &["system:authenticated", "liqo.io"]),
            denied(rule, field)
        );
        for others in [&["system:masters"][..], &["cl-a"], &[]] {
            assert_eq!(resource_slice::update(&old, &new, others), Ok(()));
        }
        let same = resource_slice::update(&old, &old, &["liqo.io"]);
        assert_eq!(same, Ok(()));
    }
}

#[test]
fn malformed_ids_and_quantities_of_a_slice_are_denied() {
    let good = slice("mypool", "liqo-tenant-cl-a", &[]);
    let with = |change: fn(&mut ResourceSlice)| {
        let mut slice = good.clone();
        change(&mut slice);
        slice
    };
    for (slice, rule, field) in [
        (
            with(|slice| slice.spec.consumer_cluster_id = Some("A".to_owned())),
            AdmissionRule::ClusterIdForm,
            "spec.consumerClusterID",
        ),
        (
            with(|slice| slice.spec.provider_cluster_id = Some(String::new())),
            AdmissionRule::ClusterIdForm,
            "spec.providerClusterID",
        ),
        (
            with(|slice| {
                drop(
                    slice
                        .spec
                        .resources
                        .insert("cpu".to_owned(), "2 cores".into()),
                )
            }),
            AdmissionRule::QuantityForm,
            "spec.resources",
        ),
        (
            with(|slice| drop(slice.status.resources.insert("cpu".to_owned(), "".into()))),
            AdmissionRule::QuantityForm,
            "status.resources",
        ),
    ] {
        assert_eq!(resource_slice::create(&slice, &[]), denied(rule, field));
        assert_eq!(
            resource_slice::update(&good, &slice, &[]),
            denied(rule, field)
        );
    }
}
