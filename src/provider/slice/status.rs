//! The status of a slice, with Liqo's reasons and messages.

use super::policy::DENIED;
use crate::{
    model::{
        ResourceSliceCondition, ResourceSliceConditionStatus as Decision,
        ResourceSliceConditionType as Subject, ResourceSliceStatus, Timestamp,
    },
    provider::record::{Decided, Outcome},
};

/// Sets a condition with its recorded time. Without a recorded time, an unchanged
/// condition keeps its time, and a changed condition gets the present time.
pub(super) fn set(
    status: &mut ResourceSliceStatus,
    said: &ResourceSliceStatus,
    (condition_type, decision): (Subject, Decision),
    (reason, message): (&str, &str),
    times: Times,
) {
    let same = said.condition(condition_type).filter(|before| {
        before.status == decision && before.reason == reason && before.message == message
    });
    let since = times
        .recorded
        .or_else(|| same?.last_transition_time)
        .unwrap_or(times.now);
    let condition = ResourceSliceCondition {
        condition_type,
        status: decision,
        last_transition_time: Some(since),
        reason: reason.to_owned(),
        message: message.to_owned(),
    };
    let mut conditions = status.conditions.iter_mut();
    match conditions.find(|before| before.condition_type == condition_type) {
        Some(before) => *before = condition,
        None => status.conditions.push(condition),
    }
}

/// The recorded time of a condition, and the present time.
#[derive(Clone, Copy)]
pub(super) struct Times {
    pub(super) recorded: Option<Timestamp>,
    pub(super) now: Timestamp,
}

/// The status of a slice whose request is refused. This status contains only the
/// denial, not the other parts of the present status.
pub(super) fn refused(said: &ResourceSliceStatus, now: Timestamp) -> ResourceSliceStatus {
    let mut status = ResourceSliceStatus::default();
    let what = (Subject::Authentication, Decision::Denied);
    let why = (
        "ResourceSliceAuthenticationDenied",
        "ResourceSlice authentication denied",
    );
    let recorded = None;
    set(&mut status, said, what, why, Times { recorded, now });
    status
}

/// The present status with the resources of the decision. Without a decision, the
/// status has no resources, and a condition that denies them stays.
pub(super) fn with_resources(
    said: &ResourceSliceStatus,
    decided: Option<&Decided>,
    now: Timestamp,
) -> ResourceSliceStatus {
    let stays = |condition: &ResourceSliceCondition| {
        condition.condition_type != Subject::Resources
            || (decided.is_none() && condition.status == Decision::Denied)
    };
    let mut status = ResourceSliceStatus {
        conditions: said
            .conditions
            .iter()
            .filter(|it| stays(it))
            .cloned()
            .collect(),
        auth_params: said.auth_params.clone(),
        ..ResourceSliceStatus::default()
    };
    if let Some(decided) = decided {
        let recorded = Timestamp::from_unix(decided.at).ok();
        let times = Times { recorded, now };
        decide_resources(&mut status, said, &decided.outcome, times);
    }
    status
}

/// Whether `told` changes resources that `said` shows, or withdraws their
/// acceptance.
pub(super) fn withdraws(said: &ResourceSliceStatus, told: &ResourceSliceStatus) -> bool {
    let is_accepted = |status: &ResourceSliceStatus| {
        let resources = status.condition(Subject::Resources);
        resources.is_some_and(|it| it.status == Decision::Accepted)
    };
    said.resources != told.resources && !said.resources.is_empty()
        || is_accepted(said) && !is_accepted(told)
}

/// Denies the resources. Nothing else in the status changes.
pub(super) fn deny_resources(status: &mut ResourceSliceStatus, now: Timestamp) {
    let said = status.clone();
    let what = (Subject::Resources, Decision::Denied);
    let recorded = None;
    set(status, &said, what, DENIED, Times { recorded, now });
}

/// Accepts the authentication.
pub(super) fn accept_authentication(
    status: &mut ResourceSliceStatus,
    said: &ResourceSliceStatus,
    times: Times,
) {
    let what = (Subject::Authentication, Decision::Accepted);
    let why = (
        "ResourceSliceAuthenticationAccepted",
        "ResourceSlice authentication accepted",
    );
    set(status, said, what, why, times);
}

/// Writes the decision on the resources. If another controller decides, the
/// resources in `said` stay.
pub(super) fn decide_resources(
    status: &mut ResourceSliceStatus,
    said: &ResourceSliceStatus,
    outcome: &Outcome,
    times: Times,
) {
    let resources = Subject::Resources;
    match outcome {
        Outcome::Granted(grant) => {
            status.resources = grant.resources.clone();
            status.storage_classes = grant.storage_classes.clone();
            status.ingress_classes = grant.ingress_classes.clone();
            status.load_balancer_classes = grant.load_balancer_classes.clone();
            status.node_labels = grant.node_labels.clone();
            status.node_selector = grant.node_selector.clone();
            let why = (
                "ResourceSliceResourcesAccepted",
                "ResourceSlice resources accepted",
            );
            let what = (resources, Decision::Accepted);
            set(status, said, what, why, times);
        }
        Outcome::Denied { reason, message } => {
            let what = (resources, Decision::Denied);
            set(status, said, what, (reason, message), times);
        }
        Outcome::NotMine => {
            let conditions = core::mem::take(&mut status.conditions);
            let auth_params = status.auth_params.take();
            *status = ResourceSliceStatus {
                conditions,
                auth_params,
                ..said.clone()
            };
            status.conditions.extend(said.condition(resources).cloned());
        }
    }
}
