//! A slice that cannot be read outlives no drain, with what was kept for it,
//! and does not hold up the end.

use core::time::Duration;

use liqo_auth::model::{Kind, Metadata, Object, ObjectRef, ResourceSlice, TenantCondition, names};
use serde_json::{Value, json};

use crate::clusters::pool::{NAMESPACE, Pool, consumer, replica};

const FINALIZER: &str = "peer.example.com/keep";

#[test]
fn an_unreadable_slice_goes_with_a_drain() {
    for (what, spec) in spoilt_specs() {
        let mut pool = with_slice(&spec, &[]);
        drain(&mut pool);
        assert!(stored(&pool).is_none(), "{what}");
        assert!(pool.kept("mypool").is_none(), "{what}");
        end(&mut pool);
        assert_eq!(phase(&pool), "Ended", "{what}");
        assert_nothing_is_left(&mut pool, what);
    }
}

/// The peer writes its slices whole: with a finalizer, too, that nobody takes
/// off.
#[test]
fn a_finalizer_of_an_unreadable_slice_holds_up_nothing() {
    for (what, spec) in spoilt_specs() {
        for recorded_only in [false, true] {
            let mut pool = with_slice(&spec, &[FINALIZER]);
            if recorded_only {
                // Drained is on record; the Tenant says Active again.
                drain(&mut pool);
                pool.write_condition(TenantCondition::Active);
            }
            drain(&mut pool);
            let Some(Object::Unreadable(slice)) = stored(&pool) else {
                panic!("{what}");
            };
            assert!(slice.metadata.deletion_timestamp.is_some(), "{what}");
            assert!(pool.kept("mypool").is_none(), "{what}");
            end(&mut pool);
            assert_eq!(phase(&pool), "Ended", "{what}");
            assert_nothing_is_left(&mut pool, what);
        }
    }
}

/// Each cluster may be the other's provider. Then the tenant namespace also has the
/// slices that this cluster requests.
#[test]
fn an_unreadable_slice_that_this_cluster_requests_outlives_a_drain() {
    for (what, spec) in spoilt_specs() {
        let mut pool = Pool::new();
        let mut requested = replica("mypool");
        label_as_requested(&mut requested.metadata);
        pool.at_provider.insert(spoilt(requested, &spec, &[]));
        pool.settle();
        assert_eq!(pool.refused, [], "{what}");
        assert_eq!(pool.phase("mypool"), "none", "{what}");
        drain(&mut pool);
        assert!(stored(&pool).is_some(), "{what}");
        end(&mut pool);
        assert_eq!(phase(&pool), "Ended", "{what}");
        assert!(stored(&pool).is_some(), "{what}");
    }
}

/// The peer writes the labels of its replica, but the record has the replica's UID.
#[test]
fn a_drain_deletes_an_unreadable_slice_on_record_whatever_its_labels() {
    for (what, spec) in spoilt_specs() {
        let mut pool = Pool::new();
        pool.bring(replica("mypool")).settle();
        let mut slice = pool.slice("mypool").unwrap().clone();
        label_as_requested(&mut slice.metadata);
        pool.at_provider.insert(spoilt(slice, &spec, &[]));
        assert_ne!(pool.phase("mypool"), "none", "{what}");
        drain(&mut pool);
        assert!(stored(&pool).is_none(), "{what}");
    }
}

fn label_as_requested(metadata: &mut Metadata) {
    metadata.labels = [
        (names::REPLICATION_LABEL, "true"),
        (names::REPLICATION_DESTINATION_LABEL, "cl-consumer"),
        (names::REMOTE_CLUSTER_ID_LABEL, "cl-consumer"),
    ]
    .map(|(label, value)| (label.to_owned(), value.to_owned()))
    .into();
}

fn spoilt_specs() -> [(&'static str, Value); 3] {
    let csr = |csr: String| json!({ "class": "default", "csr": csr });
    [
        ("a request over 256 KiB", csr("QUFB".repeat(90_000))),
        ("spare bits in base64", csr("QR==".to_owned())),
        ("no object", json!(7)),
    ]
}

/// A peer whose accepted slice cannot be read any more.
fn with_slice(spec: &Value, finalizers: &[&str]) -> Pool {
    let mut pool = Pool::new();
    pool.bring(replica("mypool")).settle();
    assert!(pool.kept("mypool").is_some());
    let slice = pool.slice("mypool").unwrap().clone();
    pool.at_provider.insert(spoilt(slice, spec, finalizers));
    pool.settle();
    pool
}

fn spoilt(slice: ResourceSlice, spec: &Value, finalizers: &[&str]) -> Object {
    let mut value = Object::from(slice).to_value();
    value["spec"] = spec.clone();
    value["metadata"]["finalizers"] = json!(finalizers);
    let spoilt = Object::from_value(value);
    assert!(matches!(spoilt, Object::Unreadable(_)));
    spoilt
}

fn drain(pool: &mut Pool) {
    pool.administer(|provider, objects, _| {
        provider.set_condition(&objects.view(&consumer()), TenantCondition::Drained)
    });
    pool.settle();
}

fn end(pool: &mut Pool) {
    pool.administer(|provider, objects, _| provider.end(&objects.view(&consumer())));
    pool.settle();
}

/// Neither rights nor the slice's certificate, nor a record of the slice once
/// its certificate is not valid any more.
fn assert_nothing_is_left(pool: &mut Pool, what: &str) {
    let is_binding = |object: &Object| {
        matches!(
            object,
            Object::RoleBinding(_) | Object::ClusterRoleBinding(_)
        )
    };
    assert!(!pool.at_provider.iter().any(is_binding), "{what}");
    assert!(pool.kept("mypool").is_none(), "{what}");
    if stored(pool).is_none() {
        pool.wait(Duration::from_secs(20 * 365 * 86_400)).settle();
        assert_eq!(pool.records(), [""; 0], "{what}");
    }
}

fn stored(pool: &Pool) -> Option<&Object> {
    let id = ObjectRef::new(Kind::ResourceSlice, NAMESPACE, "mypool");
    pool.at_provider.iter().find(|object| object.id() == id)
}

fn phase(pool: &Pool) -> &'static str {
    let view = pool.at_provider.view(&consumer());
    pool.provider.look(&view, pool.now).unwrap().phase.name()
}
