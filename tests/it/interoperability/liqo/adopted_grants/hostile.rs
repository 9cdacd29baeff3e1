//! What is not read. The peer can write the status that says what Liqo granted, before the
//! take-over, at any moment of it, and afterwards.

use liqo_auth::{
    Machine,
    audit::Decision,
    model::{Resource, ResourceSlice, ResourceSliceConditionStatus, Secret},
};

use super::{
    adopted, assert_has, assert_has_nothing, edit, liqo_granted, provider, recorded, recording,
    settle, slice, unconfirmed, with, with_slice,
};
use crate::clusters::{exchange::Exchange, pool::resources};

/// No peer gets more by an amount, a name or a number that Liqo does not write.
#[test]
fn what_liqo_cannot_have_granted_is_not_read() {
    let many: Vec<(String, String)> = (0..200)
        .map(|number| (format!("example.com/r{number}"), "1".to_owned()))
        .collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    let (long, digits) = ("r".repeat(400), format!("1.{}1", "0".repeat(80)));
    let cases: [&[(&str, &str)]; 10] = [
        &[("cpu", "much")],
        &[("cpu", "")],
        &[("cpu", "-1")],
        &[("cpu", "-1"), ("memory", "1Gi")],
        &[("cpu", "1e30")],
        &[("cpu", "9223372036854775808")],
        &[("cpu", &digits)],
        &[(&long, "1")],
        &[("a\u{0}b", "1")],
        &many,
    ];
    for (index, granted) in cases.iter().enumerate() {
        let mut two = with_slice();
        liqo_granted(&mut two, granted);
        assert_eq!(adopted(&settle(&mut two)), Vec::<&Decision>::new());
        assert_has_nothing(&two, &format!("case {index}"));
        assert_eq!(unconfirmed(&two), []);
    }
}

#[test]
fn what_liqo_has_not_granted_is_not_read() {
    type Change = fn(&mut ResourceSlice);
    let changes: [(&str, Change); 5] = [
        ("denied resources", |slice| {
            slice.status.conditions[1].status = ResourceSliceConditionStatus::Denied;
        }),
        ("a denied request", |slice| {
            slice.status.conditions[0].status = ResourceSliceConditionStatus::Denied;
        }),
        ("no conditions", |slice| slice.status.conditions.clear()),
        ("no resources", |slice| slice.status.resources.clear()),
        ("nothing at all", |slice| slice.status = Default::default()),
    ];
    for (why, change) in changes {
        let mut two = with_slice();
        edit(&mut two, change);
        assert_eq!(adopted(&settle(&mut two)), Vec::<&Decision>::new(), "{why}");
        assert_has_nothing(&two, why);
    }
}

/// Another controller decides on other classes, and its answer stays in the status.
#[test]
fn the_grant_of_another_class_is_not_read() {
    let mut two = with_slice();
    edit(&mut two, |slice| slice.spec.class = "gold".to_owned());
    assert_eq!(adopted(&settle(&mut two)), Vec::<&Decision>::new());
    assert_eq!(recorded(&two).grant, None);
}

/// The peer writes its status between any two looks.
#[test]
fn what_the_peer_writes_after_the_take_over_does_not_count() {
    let mut two = with_slice();
    for _ in 0..8 {
        two.turn_of_provider();
        edit(&mut two, |slice| {
            slice.status.resources = resources(&[("cpu", "3"), ("pods", "100")]);
        });
        let granted = recorded(&two).grant.unwrap().resources;
        assert_eq!(granted, resources(&[("cpu", "2"), ("memory", "4Gi")]));
    }
    settle(&mut two);
    assert_has(&two, &[("cpu", "2"), ("memory", "4Gi")]);
}

#[test]
fn a_slice_that_is_made_after_the_take_over_is_not_read() {
    let mut two = with_slice();
    two.turn_of_provider();
    let mut planted = slice(&two).clone();
    planted.metadata.name = "planted".to_owned();
    planted.metadata.uid = "planted".to_owned();
    two.at_provider.insert(planted.into());
    // So is one of the same name.
    edit(&mut two, |slice| slice.metadata.uid = "another".to_owned());
    assert_eq!(adopted(&settle(&mut two)), Vec::<&Decision>::new());
    let slices = two.provider.recorded_slices(&two.provider_view()).unwrap();
    assert!(
        slices.iter().all(|slice| slice.grant.is_none()),
        "{slices:?}"
    );
}

/// A peer that is on record is never taken over.
#[test]
fn nothing_is_read_for_a_peer_on_record() {
    let mut two = with(|builder| builder.configure(|config| config.adopt_up_to.clear()));
    let liqos = slice(&two).clone();
    settle(&mut two);
    let own = slice(&two).clone();
    two.provider = provider(&recording(), |builder| builder);
    let record = record_of_slice(&two);
    two.at_provider.remove(&record.id()).unwrap();
    edit(&mut two, |slice| {
        assert_eq!(slice.metadata.uid, own.metadata.uid);
        slice.status = liqos.status;
    });
    assert_eq!(adopted(&settle(&mut two)), Vec::<&Decision>::new());
    assert_has_nothing(&two, "on record");
}

fn record_of_slice(two: &Exchange) -> Secret {
    let records = two.at_provider.iter().filter_map(Secret::from_object);
    let mut records = records.filter(|secret| secret.metadata.name.starts_with("liqo-auth-slice-"));
    records.next().unwrap().clone()
}

/// The program stops after any number of effects, and the peer writes before it starts again.
/// What was read once counts. What was not read is still bounded by the caps.
#[test]
fn a_crash_in_the_take_over_changes_nothing_that_was_read() {
    let whole = with_slice().turn_of_provider().effects;
    let is_record = |name: &str| whole.iter().position(|it| it.id().name.starts_with(name));
    let (slice, peer) = (
        is_record("liqo-auth-slice-"),
        is_record("liqo-auth-provider-"),
    );
    assert!(slice.unwrap() < peer.unwrap(), "{whole:?}");
    for carried_out in 0..=whole.len() {
        let mut two = with_slice();
        let step = two.provider.reconcile(&two.provider_view(), two.env());
        for effect in &step.unwrap().effects[..carried_out] {
            two.at_provider.apply(effect).unwrap();
        }
        liqo_granted(&mut two, &[("cpu", "400"), ("memory", "4Gi")]);
        settle(&mut two);
        let expected = match carried_out > slice.unwrap() {
            true => resources(&[("cpu", "2"), ("memory", "4Gi")]),
            false => resources(&[("cpu", "4"), ("memory", "4Gi")]),
        };
        let granted = recorded(&two).grant.unwrap().resources;
        assert_eq!(granted, expected, "{carried_out} effects");
    }
}

#[test]
fn a_slice_whose_request_is_not_the_peers_keeps_nothing() {
    let mut two = with_slice();
    edit(&mut two, |slice| {
        slice.spec.csr = b"another".as_slice().into()
    });
    assert_eq!(adopted(&settle(&mut two)), Vec::<&Decision>::new());
    assert!(slice(&two).status.resources.is_empty());
}

#[test]
fn without_the_setting_nothing_is_read() {
    let mut two = with(|builder| builder.configure(|config| config.adopt_from_liqo = false));
    assert_eq!(adopted(&settle(&mut two)), Vec::<&Decision>::new());
    let slices = two.provider.recorded_slices(&two.provider_view()).unwrap();
    assert!(
        slices.iter().all(|slice| slice.grant.is_none()),
        "{slices:?}"
    );
}
