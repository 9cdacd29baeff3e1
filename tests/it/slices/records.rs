//! What a provider keeps on record about a slice, and how long.

use core::time::Duration;

use liqo_auth::{
    crypto::RecordKey,
    error::{Error, Fault, LocalFault},
    model::{Object, ResourceSliceConditionStatus as Said},
};

use crate::clusters::{
    exchange,
    pool::{NAMESPACE, Pool, consumer, replica},
};

const ACCEPTED: [Option<Said>; 2] = [Some(Said::Accepted), Some(Said::Accepted)];

#[test]
fn the_secret_of_a_deleted_slice_is_deleted_and_its_record_names_it_only() {
    let mut pool = Pool::new();
    pool.bring(replica("mypool"))
        .bring(replica("other"))
        .settle();
    assert_eq!(pool.records().len(), 2);
    pool.remove("mypool");
    assert_eq!(pool.phase("mypool"), "LeftBehind");
    // A crash in between loses nothing.
    pool.look(1);
    assert_eq!(pool.records().len(), 2);
    assert!(pool.kept("mypool").is_none());
    pool.settle();
    // The certificate still holds, and its user's name is on record.
    let records = pool.records();
    let text = |name: &String| {
        let record = &pool.secret("liqo", name).unwrap().data["record"];
        String::from_utf8(record.expose().to_vec()).unwrap()
    };
    let mut texts = records.iter().map(text);
    let tombstone = texts.find(|text| text.contains("mypool")).unwrap();
    assert!(tombstone.len() < 100, "{tombstone}");
    assert!(pool.kept("other").is_some());
    assert_eq!(pool.said("other"), ACCEPTED);
    assert_eq!(pool.phase("mypool"), "none");

    pool.wait(Duration::from_secs(365 * 24 * 3600 + 1)).settle();
    assert_eq!(pool.records().len(), 1);
}

#[test]
fn a_forged_record_is_an_error() {
    let mut pool = Pool::new();
    pool.bring(replica("mypool"))
        .bring(replica("other"))
        .settle();
    let records = pool.records();
    let mut forged = pool.secret("liqo", &records[0]).unwrap().clone();
    let other = pool.secret("liqo", &records[1]).unwrap();
    forged.data = other.data.clone();
    pool.at_provider.insert(forged.into());
    pool.settle();
    let [(_, error)] = &pool.refused[..] else {
        panic!("{:?}", pool.refused);
    };
    assert!(matches!(
        error.fault(),
        Fault::Local(LocalFault::Unreadable { .. })
    ));
    let mut broken = pool.secret("liqo", &records[0]).unwrap().clone();
    broken.data.remove("seal");
    pool.at_provider.insert(broken.into());
    pool.settle();
    assert_eq!(
        pool.refused[0].1.fault(),
        &Fault::Local(LocalFault::BrokenSeal)
    );
    assert_eq!(pool.signer.different(), 2);
}

/// Its name alone says whose it is: the labels may be lost.
#[test]
fn an_unreadable_record_is_not_taken_for_none() {
    let mut pool = Pool::new();
    pool.bring(replica("mypool")).settle();
    let name = pool.records().remove(0);
    pool.at_provider
        .insert(Object::from_value(serde_json::json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": { "namespace": "liqo", "name": name },
            "data": 5,
        })));
    pool.bring(replica("other")).settle();
    let [(Some(slice), error)] = &pool.refused[..] else {
        panic!("{:?}", pool.refused);
    };
    assert_eq!(slice.name, "mypool");
    assert_eq!(error.at().object.as_ref().unwrap().name, name);
    let is_unreadable =
        |error: &Error| matches!(error.fault(), Fault::Local(LocalFault::Unreadable { .. }));
    assert!(is_unreadable(error), "{error}");
    assert_eq!(pool.said("other"), ACCEPTED);
    assert_eq!(pool.said("mypool"), ACCEPTED);
    let view = pool.at_provider.view(&consumer());
    let cordoned = pool.provider.cordon_slice(&view, "mypool");
    assert!(is_unreadable(&cordoned.unwrap_err()));
    // A Secret of that name elsewhere is another one.
    let mut pool = Pool::new();
    pool.bring(replica("mypool"));
    for namespace in [NAMESPACE, "default"] {
        pool.at_provider
            .insert(Object::from_value(serde_json::json!({
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": { "namespace": namespace, "name": name },
                "data": 5,
            })));
    }
    pool.settle();
    assert_eq!(pool.said("mypool"), ACCEPTED);
}

#[test]
fn records_are_sealed_anew_with_a_new_record_key() {
    let mut pool = Pool::new();
    pool.bring(replica("mypool")).settle();
    let name = pool.records().remove(0);
    let before = pool.secret("liqo", &name).unwrap().data["seal"].clone();
    let successor = RecordKey::new([2; 32]).unwrap();
    let successor = successor.with_predecessor(exchange::RECORD_KEY).unwrap();
    let objects = pool.at_provider.clone();
    let mut rotated = Pool::new();
    rotated.at_provider = objects;
    rotated.provider = exchange::Setup::new().provider(successor);
    rotated.settle();
    let after = &rotated.secret("liqo", &name).unwrap().data["seal"];
    assert_ne!(before.expose(), after.expose());
    assert_eq!(rotated.said("mypool"), ACCEPTED);
}
