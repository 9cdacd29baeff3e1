//! How the administrator's word reaches the recorded condition (rule 6).
//!
//! Whoever can write the Tenant (the peer's file, applied again, can) must not
//! lift by that what was recorded. Who patches the Tenant with `kubectl`
//! therefore adds the record's own token, which lies beside the record in the
//! provider's namespace, holds for one lifting to one condition, and is in no
//! file of the peer:
//!
//! ```sh
//! token=$(kubectl get secret -n liqo liqo-auth-provider-cl-consumer \
//!     -o jsonpath='{.data.liftCondition}' | base64 -d)
//! kubectl patch tenant -n liqo-tenant-cl-consumer cl-consumer --type merge -p \
//!     '{"metadata":{"annotations":{"liqo-auth/lift-condition":"'$token'"}},"spec":{"tenantCondition":"Active"}}'
//! ```

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

use super::condition::{said_by, set};
use crate::{
    audit::{Decision, Event},
    machine::Notice,
    model::{ClusterId, Resource, Secret, Tenant, TenantCondition, names},
    provider::{
        configuration::Configuration,
        look::Look,
        record::{Plan, Record},
    },
};

/// Sets a peer's condition, milder or stricter, in the Tenant and in the record.
/// What tightens is recorded first; what loosens is recorded last, since the
/// Tenant's token says what is to be recorded.
pub(in crate::provider) fn set_condition(
    look: &Look<'_>,
    condition: TenantCondition,
    plan: &mut Plan<'_>,
) {
    let observed = look.observed;
    let before = observed.condition();
    let record = observed.record();
    let is_milder = record.is_some_and(|record| condition < record.condition);
    if is_milder {
        plan.records.peer.forget(|record| set(record, condition));
    } else {
        plan.records.peer.change(|record| set(record, condition));
    }
    if let Some(tenant) = observed.tenant {
        plan.edit(tenant, |tenant| {
            if said_by(tenant) != condition {
                tenant.spec.tenant_condition = Some(condition);
            }
            if let Some(record) = record.filter(|_| is_milder) {
                let token = lift_token(look.configuration, record, condition, look.peer());
                let annotations = &mut tenant.metadata.annotations;
                annotations.insert(names::LIFT_CONDITION_ANNOTATION.to_owned(), token);
            }
        });
    }
    let decision = match condition.cmp(&before) {
        core::cmp::Ordering::Less => Decision::ConditionLifted,
        core::cmp::Ordering::Greater => Decision::ConditionRecorded { condition },
        core::cmp::Ordering::Equal => return,
    };
    let event = Event::new(look.peer(), decision);
    let record = look.configuration.record_id(look.peer());
    match observed.tenant_id() {
        Some(tenant) => plan.tell_upon_any([tenant.clone(), record], event.about(tenant)),
        None => plan.tell_upon(record, event),
    }
}

/// Lifts the recorded condition if the Tenant carries the record's token, takes
/// a token off that has served or never will, and says when a condition holds
/// that the Tenant does not name.
pub(in crate::provider) fn apply_lift(look: &Look<'_>, plan: &mut Plan<'_>) {
    let (Some(tenant), Some(record)) = (look.observed.tenant, look.observed.record()) else {
        return;
    };
    if tenant.metadata.deletion_timestamp.is_some() {
        return;
    }
    let said = said_by(tenant);
    let is_held = said < record.condition;
    let annotations = &tenant.metadata.annotations;
    let given = annotations.get(names::LIFT_CONDITION_ANNOTATION);
    let lifts_to = given.and_then(|token| {
        milder_than(record.condition)
            .find(|to| is_lift_token(look.configuration, token, record, *to, look.peer()))
    });
    if is_held && lifts_to == Some(said) {
        plan.records.peer.forget(|record| set(record, said));
        let lifted = Event::new(look.peer(), Decision::ConditionLifted).about(tenant.id());
        plan.tell_upon_forgetting(look.configuration.record_id(look.peer()), lifted);
        return;
    }
    if is_held {
        let condition = record.condition;
        plan.notify(Notice::ConditionHeld { condition });
    }
    // The token may come before the condition.
    if given.is_some() && lifts_to.is_none() {
        plan.edit(tenant, take_token_off);
    }
}

/// Puts the tokens beside the record: one for each condition that is milder.
pub(in crate::provider) fn offer_lift(
    configuration: &Configuration,
    record: &Record,
    peer: &ClusterId,
    secret: &mut Secret,
) {
    for to in milder_than(record.condition) {
        let field = match to {
            TenantCondition::Active => TOKEN_FIELD,
            _ => TOKEN_FIELD_TO_CORDONED,
        };
        let token = lift_token(configuration, record, to, peer).into_bytes();
        secret.data.insert(field.to_owned(), token.into());
    }
}

fn milder_than(condition: TenantCondition) -> impl Iterator<Item = TenantCondition> {
    [TenantCondition::Active, TenantCondition::Cordoned]
        .into_iter()
        .filter(move |milder| *milder < condition)
}

fn take_token_off(tenant: &mut Tenant) {
    let annotations = &mut tenant.metadata.annotations;
    annotations.remove(names::LIFT_CONDITION_ANNOTATION);
}

fn lift_token(
    configuration: &Configuration,
    record: &Record,
    to: TenantCondition,
    peer: &ClusterId,
) -> String {
    let counted = record.lifts.to_be_bytes();
    let parts = token_parts(configuration, record, to, peer, &counted);
    let mac = configuration.record_key.mac(DOMAIN, &parts);
    let token = mac.get(..TOKEN_LENGTH).unwrap_or(&mac);
    URL_SAFE_NO_PAD.encode(token)
}

fn is_lift_token(
    configuration: &Configuration,
    token: &str,
    record: &Record,
    to: TenantCondition,
    peer: &ClusterId,
) -> bool {
    let counted = record.lifts.to_be_bytes();
    let parts = token_parts(configuration, record, to, peer, &counted);
    token.len() <= LONGEST_TOKEN
        && URL_SAFE_NO_PAD
            .decode(token)
            .is_ok_and(|token| configuration.record_key.verify(DOMAIN, &parts, &token))
}

/// A token to `Active` has no part for the condition that it lifts to. The first
/// edition wrote it so beside the records that are stored.
fn token_parts<'t>(
    configuration: &'t Configuration,
    record: &Record,
    to: TenantCondition,
    peer: &'t ClusterId,
    counted: &'t [u8],
) -> Vec<&'t [u8]> {
    let mut parts = vec![
        configuration.cluster_id.as_str().as_bytes(),
        peer.as_str().as_bytes(),
        name(record.condition),
        counted,
    ];
    if to != TenantCondition::Active {
        parts.push(name(to));
    }
    parts
}

fn name(condition: TenantCondition) -> &'static [u8] {
    match condition {
        TenantCondition::Active => b"Active",
        TenantCondition::Cordoned => b"Cordoned",
        TenantCondition::Drained => b"Drained",
    }
}

const DOMAIN: &str = "liqo-auth condition lift v1";
/// The key of the token in the Secret of the record.
const TOKEN_FIELD: &str = "liftCondition";
/// The key of the token that lifts a drain to `Cordoned`.
const TOKEN_FIELD_TO_CORDONED: &str = "liftConditionToCordoned";
const TOKEN_LENGTH: usize = 16;
/// Of a whole MAC in base64.
const LONGEST_TOKEN: usize = 43;
