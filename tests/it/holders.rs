//! What a status says of each holder: the certificate that it has got, and the decisions on a
//! slice. The peer writes its slices and their statuses, and hides and invents nothing by that.

use core::time::Duration;
use std::sync::Arc;

use liqo_auth::{
    Machine,
    crypto::{Answer, BoxError, Certificate},
    machine::{HolderStatus, Stage, Status},
    model::{Object, ResourceSliceConditionStatus as Said, TenantCondition, Timestamp},
    provider::{SliceDecision, SliceRequest},
};
use serde_json::json;

use crate::clusters::{
    exchange::{Exchange, Setup},
    pool::{Pool, consumer, replica},
};

const ACCEPTED: [Option<Said>; 2] = [Some(Said::Accepted); 2];
const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

#[test]
fn a_peer_writes_no_decision_and_no_certificate_into_a_status() {
    let mut pool = Pool::new();
    pool.bring(replica("mypool")).settle();
    let issued = pool.certificate("mypool").leaf().clone();
    let kept = pool.slice("mypool").unwrap().clone();
    let holder = slice(&pool);
    assert_eq!(decisions(&holder), ACCEPTED);
    assert_eq!(holder.certificate, Some(issued.clone()));
    assert_eq!(holder.valid_until, Some(issued.not_after));

    pool.edit("mypool", |slice| {
        for condition in &mut slice.status.conditions {
            condition.status = Said::Denied;
        }
        slice.status.auth_params = None;
    });
    let written = slice(&pool);
    assert_eq!(written.phase, "NeedsStatus");
    assert_eq!(decisions(&written), ACCEPTED);
    assert_eq!(written.certificate, Some(issued.clone()));

    // What cannot be read is refused, and has what it had.
    pool.at_provider.insert(Object::from_value(json!({
        "apiVersion": "authentication.liqo.io/v1beta1", "kind": "ResourceSlice",
        "metadata": kept.metadata, "spec": 5,
    })));
    let unreadable = slice(&pool);
    assert_eq!(unreadable.stage, Stage::Refused);
    assert_eq!(decisions(&unreadable), ACCEPTED);
    assert_eq!(unreadable.certificate, Some(issued));
    assert_eq!(unreadable.valid_until, None);

    // A slice of another UID has got nothing yet.
    let mut other = kept;
    other.metadata.uid = "another".to_owned();
    pool.bring(other);
    assert_eq!(decisions(&slice(&pool)), [None; 2]);
    assert_eq!(slice(&pool).certificate, None);
}

#[test]
fn a_request_that_is_refused_is_denied_whatever_the_peer_writes() {
    let mut pool = Pool::new();
    pool.bring(replica("mypool")).settle();
    let issued = pool.certificate("mypool").leaf().clone();
    pool.edit("mypool", |slice| slice.spec.csr = b"none".as_slice().into());
    let holder = slice(&pool);
    assert_eq!(holder.stage, Stage::Refused);
    assert_eq!(decisions(&holder), [Some(Said::Denied), None]);
    assert_eq!(holder.certificate, Some(issued));
    pool.settle();
    assert_eq!(decisions(&slice(&pool)), [Some(Said::Denied), None]);
}

#[test]
fn the_condition_of_the_peer_denies_resources() {
    let mut pool = Pool::new();
    pool.bring(replica("mypool")).settle();
    pool.write_condition(TenantCondition::Cordoned).settle();
    assert_eq!(decisions(&slice(&pool)), ACCEPTED);
    pool.bring(replica("newpool")).settle();
    let denied = [Some(Said::Accepted), Some(Said::Denied)];
    let new = looked(&pool).slices.pop().unwrap();
    assert_eq!(decisions(&new), denied);
    pool.write_condition(TenantCondition::Drained);
    assert_eq!(decisions(&slice(&pool)), denied);
    assert_eq!(slice(&pool).phase, "Drained");
    // The record has the denial, whatever the peer writes.
    pool.look(usize::MAX);
    pool.write_condition(TenantCondition::Active);
    pool.edit("mypool", |slice| {
        slice.metadata.deletion_timestamp = Some(Timestamp::EPOCH);
        slice.metadata.finalizers = vec!["kept".to_owned()];
        slice.status.conditions.clear();
    });
    let ending = slice(&pool);
    assert_eq!(ending.stage, Stage::Ending);
    assert_eq!(decisions(&ending), denied);
}

#[test]
fn a_status_has_the_decisions_of_this_side_alone() {
    let decided = |request: &SliceRequest<'_>| -> Result<Answer<SliceDecision>, BoxError> {
        Ok(match request.class {
            "others" => Answer::Ready(SliceDecision::NotMine),
            "later" => Answer::Pending,
            _ => Answer::Denied("no room".to_owned()),
        })
    };
    for (class, expected) in [
        ("others", None),
        ("later", None),
        ("none", Some(Said::Denied)),
    ] {
        let mut pool = Pool::with(|builder| builder.slices(Arc::new(decided)));
        let mut replica = replica("mypool");
        class.clone_into(&mut replica.spec.class);
        pool.bring(replica).settle();
        assert_eq!(
            decisions(&slice(&pool)),
            [Some(Said::Accepted), expected],
            "{class}"
        );
    }
}

#[test]
fn a_control_plane_keeps_its_certificate_in_each_phase() {
    let mut exchange = Setup::new().exchange();
    assert_eq!(certificates(&exchange), [None, None]);
    exchange.settle();
    let issued = Some(exchange.certificate().leaf().clone());
    assert_eq!(certificates(&exchange), [issued.clone(), issued.clone()]);

    // The peer makes its Tenant one that is refused, and its certificate stays what it is.
    exchange.edit_tenant(|tenant| {
        tenant.spec.public_key = b"none".as_slice().into();
        tenant.status.auth_params = None;
    });
    let [provider, _] = looks(&exchange);
    assert_eq!(provider.control_plane.stage, Stage::Refused);
    assert_eq!(provider.control_plane.valid_until, None);
    assert_eq!(certificates(&exchange)[0], issued);

    // A certificate of a peering that is over is none of the next.
    let tenant = exchange.stored_tenant();
    exchange
        .at_provider
        .remove(&liqo_auth::model::Resource::id(&tenant))
        .unwrap();
    assert_eq!(certificates(&exchange)[0], None);
}

#[test]
fn an_expired_certificate_is_still_named() {
    let mut exchange = Setup::new().exchange();
    exchange.settle();
    let issued = Some(exchange.certificate().leaf().clone());
    exchange.now = exchange.now + 2 * YEAR;
    for status in looks(&exchange) {
        assert_eq!(status.control_plane.valid_until, None, "{status:#?}");
        assert_eq!(status.control_plane.certificate, issued);
    }
    let mut pool = Pool::new();
    pool.bring(replica("mypool")).settle();
    let issued = Some(pool.certificate("mypool").leaf().clone());
    pool.wait(2 * YEAR);
    assert_eq!(slice(&pool).certificate, issued);
}

fn decisions(holder: &HolderStatus) -> [Option<Said>; 2] {
    [holder.authentication, holder.resources]
}

/// The first slice.
fn slice(pool: &Pool) -> HolderStatus {
    looked(pool).slices.remove(0)
}

fn looked(pool: &Pool) -> Status {
    let view = pool.at_provider.view(&consumer());
    Machine::look(&pool.provider, &view, pool.now).unwrap()
}

/// The statuses of both sides, the provider's first.
fn looks(exchange: &Exchange) -> [Status; 2] {
    let sides: [(&dyn Machine, _); 2] = [
        (&exchange.provider, exchange.provider_view()),
        (&exchange.consumer, exchange.consumer_view()),
    ];
    sides.map(|(machine, view)| machine.look(&view, exchange.now).unwrap())
}

/// The certificates that both sides name for the control plane, the provider's first.
fn certificates(exchange: &Exchange) -> [Option<Certificate>; 2] {
    looks(exchange).map(|status| status.control_plane.certificate)
}
