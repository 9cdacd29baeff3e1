//! The Quotas of a peering that Liqo made, when the controllers take it over.

use serde_json::json;

use super::{NOTHING, cordoned, made, only, over, peering::Peering, quota};

#[test]
fn a_quota_of_liqo_goes_on_with_what_liqo_granted() {
    let mut peering = Peering::of_liqo("4");
    // Before the first look, nothing is said about it.
    assert_eq!(made(&peering.at_milan()), NOTHING);
    assert!(peering.at_milan().is_empty());
    peering.settle();
    assert_eq!(made(&peering.at_milan()), [quota(&peering)]);
    let wanted = only(peering.at_milan());
    assert_eq!(over(&wanted, &quota(&peering)), Ok(quota(&peering)));
}

#[test]
fn a_quota_of_liqo_is_cut_at_the_caps_until_a_person_confirms_it() {
    let mut peering = Peering::of_liqo("16");
    peering.settle();
    let mut liqos = quota(&peering);
    liqos["spec"]["resources"]["cpu"] = json!("16");
    let wanted = only(peering.at_milan());
    assert_eq!(over(&wanted, &liqos), Ok(quota(&peering)));
    peering.confirm();
    let wanted = only(peering.at_milan());
    assert_eq!(over(&wanted, &quota(&peering)), Ok(liqos));
}

/// The peer may write the status.
#[test]
fn no_quota_follows_what_the_peer_writes_around_a_take_over() {
    let writes = |peering: &mut Peering, cpu: &str| {
        peering.edit_replica(|slice| slice["status"]["resources"]["cpu"] = json!(cpu));
    };
    let mut peering = Peering::of_liqo("4");
    writes(&mut peering, "4000");
    peering.settle();
    assert_eq!(made(&peering.at_milan()), [quota(&peering)]);
    for cpu in ["3", "4000"] {
        writes(&mut peering, cpu);
        assert_eq!(made(&peering.at_milan()), [quota(&peering)], "{cpu}");
    }

    // What Liqo cannot have granted waits for the policy, as a new slice does.
    for cpu in ["much", "-1", "1e30"] {
        let mut peering = Peering::of_liqo("4");
        writes(&mut peering, cpu);
        peering.settle();
        assert_eq!(made(&peering.at_milan()), NOTHING, "{cpu}");
        let wanted = only(peering.at_milan());
        let expected = cordoned(quota(&peering));
        assert_eq!(over(&wanted, &quota(&peering)), Ok(expected), "{cpu}");
    }
}
