//! The Quotas of a provider.

use super::*;

#[test]
fn an_accepted_replica_gets_the_quota_that_liqo_makes() {
    let peering = Peering::with_slice();
    assert_eq!(made(&peering.at_milan()), [quota(&peering)]);
}

/// The peer may write the replica with its status, its labels and its annotations.
#[test]
fn nothing_that_the_peer_writes_into_a_replica_changes_the_quota() {
    let changes: [fn(&mut Value); 9] = [
        |slice| slice["status"]["resources"] = json!({ "cpu": "4000" }),
        |slice| slice["status"]["conditions"][1]["status"] = json!("Denied"),
        |slice| slice["status"] = json!({}),
        |slice| slice["metadata"]["annotations"] = json!({ "liqo.io/cordon-tenant": "true" }),
        |slice| slice["metadata"]["labels"] = json!({}),
        |slice| slice["metadata"]["labels"]["liqo.io/originID"] = json!("turin"),
        |slice| slice["spec"]["consumerClusterID"] = json!("turin"),
        |slice| slice["spec"]["resources"] = json!({ "cpu": "4000" }),
        // It cannot be read any more.
        |slice| slice["spec"] = json!(7),
    ];
    for (index, change) in changes.iter().enumerate() {
        let mut peering = Peering::with_slice();
        let expected = quota(&peering);
        peering.edit_replica(change);
        assert_eq!(made(&peering.at_milan()), [expected], "change {index}");
    }
}

#[test]
fn a_replica_without_a_recorded_grant_gets_no_quota() {
    // The peer has planted the replica with the status.
    let mut peering = Peering::with_slice();
    let text = peering.replica().to_string();
    let mut planted: Value = serde_json::from_str(&text.replace("mypool", "planted")).unwrap();
    planted["metadata"]["uid"] = json!("planted");
    peering.put_at_milan(planted);
    assert_eq!(made(&peering.at_milan()), [quota(&peering)]);

    // The replica of the record is gone, and the peer has made another one.
    let mut peering = Peering::with_slice();
    peering.edit_replica(|slice| slice["metadata"]["uid"] = json!("another"));
    assert_eq!(made(&peering.at_milan()), NOTHING);

    for decision in [
        SliceDecision::NotMine,
        SliceDecision::Deny {
            reason: "Full".to_owned(),
            message: "full".to_owned(),
        },
    ] {
        let mut peering = Peering::deciding(decision);
        peering.request(&peering::options());
        peering.edit_replica(|slice| slice["status"] = granted_by_the_peer());
        assert_eq!(made(&peering.at_milan()), NOTHING);
    }
}

#[test]
fn a_replica_that_is_being_deleted_gets_no_new_quota() {
    let mut peering = Peering::with_slice();
    peering.edit_replica(|slice| {
        slice["metadata"]["finalizers"] = json!(["the/peers"]);
        slice["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    });
    assert_eq!(made(&peering.at_milan()), NOTHING);
    // A Quota that is there keeps its content, and follows a cordon.
    let wanted = only(peering.at_milan());
    assert_eq!(over(&wanted, &quota(&peering)), Ok(quota(&peering)));
    peering.cordon();
    let wanted = only(peering.at_milan());
    assert_eq!(
        over(&wanted, &quota(&peering)),
        Ok(cordoned(quota(&peering)))
    );
}

#[test]
fn a_recorded_cordon_of_the_slice_or_of_its_tenant_cordons_the_quota() {
    let mut peering = Peering::with_slice();
    peering.cordon();
    // The peer removes what it can.
    peering.edit_replica(|slice| slice["metadata"]["annotations"] = json!({}));
    assert_eq!(made(&peering.at_milan()), [cordoned(quota(&peering))]);
    peering.uncordon();
    assert_eq!(made(&peering.at_milan()), [quota(&peering)]);
    let wanted = only(peering.at_milan());
    assert_eq!(
        over(&wanted, &cordoned(quota(&peering))),
        Ok(quota(&peering))
    );

    peering.set_condition(TenantCondition::Cordoned);
    peering.edit_replica(|slice| slice["metadata"]["annotations"] = json!({}));
    assert_eq!(made(&peering.at_milan()), [cordoned(quota(&peering))]);
    peering.set_condition(TenantCondition::Active);
    assert_eq!(made(&peering.at_milan()), [quota(&peering)]);
}

/// `liqoctl cordon resourceslice` sets the annotation alone.
#[test]
fn a_cordon_by_the_annotation_outlives_its_removal() {
    for value in ["true", ""] {
        let mut peering = Peering::with_slice();
        peering.edit_replica(|slice| {
            slice["metadata"]["annotations"] = json!({ "liqo.io/cordon": value });
        });
        peering.settle();
        peering.edit_replica(|slice| slice["metadata"]["annotations"] = json!({}));
        assert_eq!(made(&peering.at_milan()), [cordoned(quota(&peering))]);
        peering.settle();
        let annotations = &peering.replica()["metadata"]["annotations"];
        assert_eq!(annotations["liqo.io/cordon"], "true");
        peering.uncordon();
        peering.settle();
        assert_eq!(made(&peering.at_milan()), [quota(&peering)]);
    }
    for value in ["false", "False", "0"] {
        let mut peering = Peering::with_slice();
        peering.edit_replica(|slice| {
            slice["metadata"]["annotations"] = json!({ "liqo.io/cordon": value });
        });
        peering.settle();
        assert_eq!(made(&peering.at_milan()), [quota(&peering)], "{value}");
    }
}

/// The peer keeps the replica by a finalizer.
#[test]
fn the_quota_of_a_drained_peer_or_of_a_withdrawn_grant_is_cordoned() {
    let mut peering = Peering::with_slice();
    peering.edit_replica(|slice| slice["metadata"]["finalizers"] = json!(["the/peers"]));
    peering.set_condition(TenantCondition::Drained);
    for _ in 0..2 {
        assert_eq!(made(&peering.at_milan()), NOTHING);
        let wanted = only(peering.at_milan());
        assert_eq!(
            over(&wanted, &quota(&peering)),
            Ok(cordoned(quota(&peering)))
        );
        peering.settle();
    }

    let mut peering = Peering::with_slice();
    peering.reconsider();
    let wanted = only(peering.at_milan());
    assert_eq!(
        over(&wanted, &quota(&peering)),
        Ok(cordoned(quota(&peering)))
    );
}

#[test]
fn the_administrator_chooses_the_enforcement_of_limits() {
    let peering = Peering::with_slice();
    for enforcement in [
        LimitsEnforcement::Hard,
        LimitsEnforcement::Soft,
        LimitsEnforcement::None,
    ] {
        let [wanted] = &peering.quotas(enforcement)[..] else {
            panic!("not one object");
        };
        let quota = wanted.object(None).unwrap();
        let found = quota.data.pointer("/spec/limitsEnforcement").unwrap();
        assert_eq!(found, enforcement.as_str());
    }
}
