use super::*;
use crate::{
    machine::Watch,
    model::{Namespace, ResourceSlice, Secret},
};

const SLICES: Watch = Watch::all(Kind::ResourceSlice);

fn complete() -> Mirror {
    let watches = [Kind::Namespace, Kind::ResourceSlice, Kind::Secret].map(Watch::all);
    let mut mirror = Mirror::new(watches.clone());
    for watch in &watches {
        mirror.relist(watch, []).unwrap();
    }
    mirror
}

/// A slice of this many bytes, which was created at this second.
fn slice_in(namespace: &str, name: &str, second: u64, bytes: usize) -> Object {
    let mut slice = ResourceSlice::default();
    slice.metadata.namespace = namespace.to_owned();
    slice.metadata.name = name.to_owned();
    slice.metadata.uid = format!("uid-{name}");
    slice.metadata.resource_version = "1".to_owned();
    slice.metadata.labels = [(names::REPLICATED_LABEL, "true")].into();
    let created = format!("2026-11-27T12:{:02}:{:02}Z", second / 60, second % 60);
    slice.metadata.creation_timestamp = Some(created.parse().unwrap());
    slice.spec.class = "A".to_owned();
    let rest = bytes.saturating_sub(Object::from(slice.clone()).bytes());
    slice.spec.class += &"A".repeat(rest);
    slice.into()
}

fn slice(name: &str, second: u64, bytes: usize) -> Object {
    slice_in("liqo-tenant-rome", name, second, bytes)
}

/// The names of the objects that have their content, and of those that have lost it.
fn names_of(mirror: &Mirror) -> [String; 2] {
    [false, true].map(|wanted| {
        let objects = mirror.store.iter();
        let found = objects.filter(|object| reduced_size(object).is_some() == wanted);
        let found: Vec<&str> = found.map(|object| object.key().2).collect();
        found.join(" ")
    })
}

fn unwatched(mirror: &Mirror) -> String {
    let ids: Vec<String> = mirror
        .unwatched(&"rome".parse().unwrap())
        .map(|id| id.name)
        .collect();
    ids.join(" ")
}

/// About a fifth of the budget: there is room for something small besides five of them.
const FIFTH: usize = BUDGET / 5 - 2 * REDUCED;

#[test]
fn the_oldest_objects_keep_their_content_in_whatever_order_they_come() {
    let objects: Vec<Object> = (0..10_u64)
        .map(|number| slice(&format!("s{}", 9 - number), number, FIFTH))
        .collect();
    let mut backwards = objects.clone();
    backwards.reverse();
    let mut mixed = objects.clone();
    mixed.sort_by_key(|object| object.key().2.bytes().last().map(|last| last % 3));
    for order in [objects, backwards, mixed] {
        let mut mirror = complete();
        for object in order.clone() {
            mirror.observe(&SLICES, object).unwrap();
        }
        let expected = ["s5 s6 s7 s8 s9", "s0 s1 s2 s3 s4"];
        assert_eq!(names_of(&mirror), expected);
        assert_eq!(unwatched(&mirror), "");
        let mut listed = complete();
        listed.relist(&SLICES, order).unwrap();
        assert_eq!(names_of(&listed), expected);
    }
}

#[test]
fn the_bytes_of_the_budget() {
    let share = BUDGET / 16 - REDUCED;
    for (last, expected) in [(share, ""), (share + 1, "s15")] {
        let mut mirror = complete();
        for number in 0..15 {
            let object = slice(&format!("s{number:02}"), number, share);
            assert_eq!(object.bytes(), share);
            mirror.observe(&SLICES, object).unwrap();
        }
        mirror.observe(&SLICES, slice("s15", 15, last)).unwrap();
        assert_eq!(names_of(&mirror)[1], expected, "{last}");
    }
}

#[test]
fn what_has_lost_its_content_can_be_deleted_and_takes_a_kilobyte() {
    let mut object = slice("s", 0, 200_000);
    if let Object::ResourceSlice(slice) = &mut object {
        slice.metadata.finalizers = vec!["liqo.io/finalizer".to_owned()];
        slice.metadata.annotations = [("a", "b")].into();
    }
    let lost = reduced(&object);
    let (all, kept) = (object.metadata(), lost.metadata());
    assert_eq!(kept.uid, all.uid);
    assert_eq!(kept.resource_version, all.resource_version);
    assert_eq!(kept.creation_timestamp, all.creation_timestamp);
    assert_eq!(kept.labels, all.labels);
    assert_eq!(kept.finalizers, all.finalizers);
    assert!(kept.annotations.is_empty());
    let unreadable = lost.as_unreadable().unwrap();
    assert!(unreadable.is_over_limits());
    assert_eq!(
        (unreadable.kind.as_str(), lost.id()),
        ("ResourceSlice", object.id())
    );
    assert_eq!(unreadable.api_version, Kind::ResourceSlice.api_version());
    assert_eq!(reduced_size(&lost), Some(object.bytes() + REDUCED));
    // It may lose its content again.
    assert_eq!(reduced(&lost), lost);

    if let Object::ResourceSlice(slice) = &mut object {
        let many = (0..1000).map(|number| (format!("label-{number}"), "a"));
        slice.metadata.labels = many
            .chain([(names::REPLICATED_LABEL.to_owned(), "true")])
            .collect();
        slice.metadata.finalizers = vec!["a".repeat(1000)];
        slice.metadata.owner_references = vec![crate::model::OwnerReference {
            name: "a".repeat(1000),
            ..Default::default()
        }];
    }
    let lost = reduced(&object);
    assert_eq!(
        lost.metadata().labels,
        [(names::REPLICATED_LABEL, "true")].into()
    );
    assert!(lost.bytes() < 1024, "{} bytes", lost.bytes());
}

#[test]
fn the_content_is_asked_for_again_when_there_is_room() {
    let mut mirror = complete();
    for number in 0..10 {
        let object = slice(&format!("s{number}"), number, FIFTH);
        mirror.observe(&SLICES, object).unwrap();
    }
    assert_eq!(names_of(&mirror), ["s0 s1 s2 s3 s4", "s5 s6 s7 s8 s9"]);
    for gone in ["s1", "s3"] {
        let id = slice(gone, 0, 0).id();
        mirror.forget(&SLICES, &id).unwrap();
    }
    assert_eq!(unwatched(&mirror), "s5 s6");
    let rome = "rome".parse().unwrap();
    // A watch has shown another version than the one that was fetched.
    let mut earlier = slice("s5", 5, FIFTH);
    if let Object::ResourceSlice(slice) = &mut earlier {
        slice.metadata.resource_version = "0".to_owned();
    }
    assert_eq!(mirror.fetched(&rome, earlier), Ok(Concerns::Nobody));
    assert_eq!(unwatched(&mirror), "s5 s6");
    for again in [5, 6] {
        let object = slice(&format!("s{again}"), again, FIFTH);
        assert!(mirror.fetched(&rome, object).unwrap().includes(&rome));
    }
    assert_eq!(names_of(&mirror), ["s0 s2 s4 s5 s6", "s7 s8 s9"]);
    assert_eq!(unwatched(&mirror), "");
    // The watch still has them, so that they go as the others do.
    for gone in 0..10 {
        let id = slice(&format!("s{gone}"), 0, 0).id();
        mirror.forget(&SLICES, &id).unwrap();
    }
    assert!(mirror.is_empty());
    assert_eq!(unwatched(&mirror), "");
    assert!(mirror.budget.0.is_empty());
}

#[test]
fn a_change_takes_the_place_that_the_object_had() {
    let mut mirror = complete();
    for number in 0..10 {
        let object = slice(&format!("s{number}"), number, FIFTH);
        mirror.observe(&SLICES, object).unwrap();
    }
    mirror.observe(&SLICES, slice("s1", 1, 0)).unwrap();
    assert_eq!(unwatched(&mirror), "s5");
    mirror.observe(&SLICES, slice("s1", 11, FIFTH)).unwrap();
    assert_eq!(names_of(&mirror), ["s0 s2 s3 s4", "s1 s5 s6 s7 s8 s9"]);
    assert_eq!(unwatched(&mirror), "s5");
}

#[test]
fn objects_without_an_age_come_last_and_those_with_a_fixed_name_first() {
    let secret = |name: &str, second: Option<u64>| -> Object {
        let mut secret = Secret::default();
        secret.metadata.namespace = "liqo-tenant-rome".to_owned();
        secret.metadata.name = name.to_owned();
        let created = second.map(|second| format!("2026-11-27T12:00:{second:02}Z"));
        secret.metadata.creation_timestamp = created.map(|created| created.parse().unwrap());
        // The text is base64 of these bytes.
        secret.data = [("a".to_owned(), vec![0; 600_000].into())].into();
        secret.into()
    };
    let watch = Watch::all(Kind::Secret);
    let mut mirror = complete();
    for number in 0..8 {
        let name = format!("s{number}");
        mirror.observe(&watch, secret(&name, Some(number))).unwrap();
    }
    for name in [names::NONCE_SECRET, names::SIGNED_NONCE_SECRET] {
        mirror.observe(&watch, secret(name, Some(50))).unwrap();
    }
    mirror.observe(&watch, secret("a", None)).unwrap();
    let kept = "liqo-nonce liqo-signed-nonce s0 s1 s2";
    assert_eq!(names_of(&mirror), [kept, "a s3 s4 s5 s6 s7"]);
    let ids = [
        ("liqo-tenant-rome", "rome", true),
        ("liqo-tenant-rome", "turin", false),
    ];
    for (namespace, name, is_first) in ids {
        assert_eq!(has_fixed_name(Kind::Tenant, namespace, name), is_first);
        assert!(!has_fixed_name(Kind::ResourceSlice, namespace, name));
    }
}

#[test]
fn beyond_a_number_the_youngest_are_not_kept() {
    let mut mirror = complete();
    for number in 0..OBJECTS + 2 {
        let object = slice(&format!("s{number:04}"), 0, 0);
        mirror.observe(&SLICES, object).unwrap();
    }
    assert_eq!(mirror.len(), OBJECTS);
    let last = |number: usize| mirror.get(&slice(&format!("s{number:04}"), 0, 0).id());
    assert!(last(OBJECTS - 1).is_some() && last(OBJECTS).is_none());
    let older = slice("s9999", 0, 0);
    let Object::ResourceSlice(mut older) = older else {
        panic!("no slice")
    };
    older.metadata.creation_timestamp = Some("2026-11-27T11:00:00Z".parse().unwrap());
    let older = Object::ResourceSlice(older);
    mirror.observe(&SLICES, older.clone()).unwrap();
    assert_eq!(mirror.len(), OBJECTS);
    assert!(mirror.get(&older.id()).is_some());
    assert_eq!(OBJECTS, 4096);

    // The names are known, so that the objects come when there is room.
    let left_out = |mirror: &Mirror| {
        let rome = "rome".parse().unwrap();
        let ids = mirror.unwatched(&rome);
        let names = ids
            .filter(|id| mirror.budget.leaves_out(id))
            .map(|id| id.name);
        names.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(left_out(&mirror), "");
    mirror.forget(&SLICES, &older.id()).unwrap();
    mirror.forget(&SLICES, &slice("s4096", 0, 0).id()).unwrap();
    assert_eq!(left_out(&mirror), "s4095");
    let back = slice("s4095", 0, 0);
    let rome = "rome".parse().unwrap();
    assert!(mirror.fetched(&rome, back.clone()).unwrap().includes(&rome));
    assert_eq!(left_out(&mirror), "");
    mirror.forget(&SLICES, &slice("s0000", 0, 0).id()).unwrap();
    assert_eq!(left_out(&mirror), "s4097");
    // One that a watch has shown goes with the watch.
    mirror.forget(&SLICES, &back.id()).unwrap();
    assert!(mirror.get(&back.id()).is_none());
    let concerns = mirror.gone(&slice("s4097", 0, 0).id());
    assert_eq!(
        (concerns, left_out(&mirror)),
        (Concerns::Nobody, String::new())
    );

    for number in 0..200 {
        let object = slice(&format!("t{number:04}"), 1, 0);
        mirror.observe(&SLICES, object).unwrap();
    }
    mirror.relist(&SLICES, [slice("s", 0, 0)]).unwrap();
    assert_eq!((mirror.len(), left_out(&mirror)), (1, String::new()));
    assert!(mirror.budget.0.is_empty());
}

#[test]
fn a_bounded_number_of_names_is_kept_and_asked_for() {
    let mut crowd = Crowd::default();
    for number in 0..OBJECTS + NAMES + 10 {
        let object = slice(&format!("s{number:05}"), 0, 0);
        crowd.places.insert(Place::of(&object), Share::of(&object));
    }
    assert_eq!(crowd.exceeding().left_out.len(), NAMES + 10);
    assert_eq!((crowd.places.len(), crowd.left_out.len()), (OBJECTS, NAMES));
    while crowd.places.len() > OBJECTS - AT_ONCE - 1 {
        crowd.places.pop_last();
    }
    let key = (Kind::ResourceSlice, "liqo-tenant-rome".into());
    let budget = Budget([(key, crowd)].into());
    assert_eq!(budget.returning(|_, _| true).count(), AT_ONCE);
    assert_eq!(budget.returning(|_, _| false).count(), 0);
}

#[test]
fn only_what_a_peer_writes_has_a_budget_and_each_namespace_its_own() {
    let mut mirror = complete();
    let fill = |mirror: &mut Mirror, namespace: &str| {
        for number in 0..10 {
            let object = slice_in(namespace, &format!("s{number}"), number, FIFTH);
            mirror.observe(&SLICES, object).unwrap();
        }
    };
    fill(&mut mirror, "liqo-tenant-rome");
    fill(&mut mirror, "elsewhere");
    let lost = |mirror: &Mirror, namespace: &str| {
        let objects = mirror.store.of_kind(Kind::ResourceSlice, Some(namespace));
        let lost = objects.filter(|(object, _)| reduced_size(object).is_some());
        lost.count()
    };
    assert_eq!(lost(&mirror, "liqo-tenant-rome"), 5);
    assert_eq!(lost(&mirror, "elsewhere"), 0);
    // The Namespace says that a peer writes there.
    let mut namespace = Namespace::for_tenant(&"turin".parse().unwrap());
    namespace.metadata.name = "elsewhere".to_owned();
    let namespace = Object::from(namespace);
    mirror
        .observe(&Watch::all(Kind::Namespace), namespace.clone())
        .unwrap();
    assert_eq!(lost(&mirror, "elsewhere"), 5);
    assert_eq!(lost(&mirror, "liqo-tenant-rome"), 5);
    let turin = "turin".parse().unwrap();
    mirror
        .forget(&SLICES, &slice_in("elsewhere", "s0", 0, 0).id())
        .unwrap();
    assert_eq!(mirror.unwatched(&turin).count(), 1);
    assert_eq!(unwatched(&mirror), "");
}
