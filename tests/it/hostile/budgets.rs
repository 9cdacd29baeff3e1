//! A peer that writes many objects within the limits of one. It holds up neither its own slices
//! on record, nor its drain, nor another peer.

use liqo_auth::{
    Machine,
    machine::Mirror,
    model::{Kind, Object, ObjectRef, ResourceSlice, TenantCondition, names},
};

use crate::clusters::{
    exchange::id,
    pool::{NAMESPACE, Pool, consumer, replica},
};

#[test]
fn many_slices_displace_no_slice_on_record() {
    let mut pool = filled(60, 250_000);
    pool.settle();
    let granted = pool.phase("mypool");
    let mut mirror = mirror_of(&pool);
    let [kept, reduced] = kept_and_reduced(&mirror);
    assert!(kept < 20 && kept + reduced == 61, "{kept} and {reduced}");
    let phases = |pool: &Pool, mirror: &Mirror| {
        let view = mirror.view(&consumer()).unwrap();
        let slices = pool.provider.look(&view, pool.now).unwrap().slices;
        let phases = slices.into_iter();
        let phases = phases.map(|slice| (slice.slice.name, slice.phase.name()));
        phases.collect::<Vec<_>>()
    };
    let found = phases(&pool, &mirror);
    assert!(found.contains(&("mypool".to_owned(), granted)), "{found:?}");
    let refused = found.iter().filter(|(_, phase)| *phase == "Refused");
    assert!(refused.count() >= reduced, "{found:?}");

    // When others go, the content of the next ones is read again.
    for number in 0..30 {
        let gone = ObjectRef::new(Kind::ResourceSlice, NAMESPACE, format!("a{number:04}"));
        mirror.gone(&gone);
        pool.at_provider.remove(&gone);
    }
    let again: Vec<ObjectRef> = mirror.unwatched(&consumer()).collect();
    assert!(!again.is_empty());
    for id in again {
        let found = pool.at_provider.iter().find(|object| object.id() == id);
        mirror.fetched(&consumer(), found.unwrap().clone()).unwrap();
    }
    assert_eq!(kept_and_reduced(&mirror)[0], kept);
}

#[test]
fn many_slices_stop_no_drain() {
    for (number, bytes) in [(60, 250_000), (5000, 10)] {
        let mut pool = filled(number, bytes);
        let mut step = {
            let mirror = mirror_of(&pool);
            let view = mirror.view(&consumer()).unwrap();
            pool.provider
                .set_condition(&view, TenantCondition::Drained)
                .unwrap()
        };
        for _ in 0..16 {
            for effect in &step.effects {
                pool.at_provider.apply(effect).unwrap();
            }
            let mirror = mirror_of(&pool);
            let view = mirror.view(&consumer()).unwrap();
            step = pool.provider.reconcile(&view, pool.env()).unwrap();
            if step.is_settled() {
                break;
            }
        }
        assert!(step.is_settled());
        let left = pool.at_provider.iter().filter(|object| {
            matches!(
                object,
                Object::RoleBinding(_) | Object::ClusterRoleBinding(_)
            ) || object.id().kind == Kind::ResourceSlice
        });
        assert_eq!(left.count(), 0, "{number}");
    }
}

#[test]
fn many_slices_take_nothing_from_another_peer() {
    let mut pool = filled(60, 250_000);
    let mut slice = slice(0, 250_000);
    slice.metadata.namespace = "liqo-tenant-cl-other".to_owned();
    pool.bring(slice);
    let mirror = mirror_of(&pool);
    let view = mirror.view(&id("cl-other")).unwrap();
    let slices = view
        .objects()
        .filter(|object| object.id().kind == Kind::ResourceSlice);
    let readable = slices.map(|object| object.as_unreadable().is_none());
    assert_eq!(readable.collect::<Vec<_>>(), [true]);
}

/// An accepted slice, and so many younger ones of this size.
fn filled(number: usize, bytes: usize) -> Pool {
    let mut pool = Pool::new();
    let mut accepted = replica("mypool");
    accepted.metadata.creation_timestamp = Some("2026-11-20T12:00:00Z".parse().unwrap());
    pool.bring(accepted).settle();
    for number in 0..number {
        pool.bring(slice(number, bytes));
    }
    pool
}

fn slice(number: usize, bytes: usize) -> ResourceSlice {
    let mut slice = replica(&format!("a{number:04}"));
    slice.metadata.creation_timestamp = Some("2026-11-20T12:30:00Z".parse().unwrap());
    slice.spec.class = "A".repeat(bytes);
    slice
}

/// What the watches of the provider show.
fn mirror_of(pool: &Pool) -> Mirror {
    let watches = pool.provider.watches();
    let mut mirror = Mirror::new(watches.clone());
    for watch in &watches {
        let objects = pool.at_provider.iter();
        let listed = objects.filter(|object| watch.covers(object)).cloned();
        mirror.relist(watch, listed).unwrap();
    }
    mirror
}

fn kept_and_reduced(mirror: &Mirror) -> [usize; 2] {
    let view = mirror.view(&consumer()).unwrap();
    let slices = view
        .objects()
        .filter(|object| object.id().kind == Kind::ResourceSlice);
    let (reduced, kept): (Vec<&Object>, Vec<&Object>) =
        slices.partition(|object| object.as_unreadable().is_some());
    assert!(reduced.iter().all(|object| {
        object
            .metadata()
            .labels
            .contains_key(names::REPLICATED_LABEL)
            && !object.metadata().uid.is_empty()
    }));
    [kept.len(), reduced.len()]
}
