//! How the administrator's word reaches the recorded condition (rule 6).
//!
//! Whoever can write the Tenant (the peer's file, applied again, can) must not
//! lift by that what was recorded. Who patches the Tenant with `kubectl`
//! therefore adds the record's own token, which lies beside the record in the
//! provider's namespace, holds for one lifting, and is in no file of the peer:
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
                let token = lift_token(look.configuration, record, look.peer());
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
    let is_valid =
        given.is_some_and(|token| is_lift_token(look.configuration, token, record, look.peer()));
    if is_held && is_valid {
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
    if given.is_some() && !is_valid {
        plan.edit(tenant, take_token_off);
    }
}

/// Puts the token beside the record, where there is something to lift.
pub(in crate::provider) fn offer_lift(
    configuration: &Configuration,
    record: &Record,
    peer: &ClusterId,
    secret: &mut Secret,
) {
    if record.condition != TenantCondition::Active {
        let token = lift_token(configuration, record, peer).into_bytes();
        secret.data.insert(TOKEN_FIELD.to_owned(), token.into());
    }
}

fn take_token_off(tenant: &mut Tenant) {
    let annotations = &mut tenant.metadata.annotations;
    annotations.remove(names::LIFT_CONDITION_ANNOTATION);
}

fn lift_token(configuration: &Configuration, record: &Record, peer: &ClusterId) -> String {
    let counted = record.lifts.to_be_bytes();
    let parts = token_parts(configuration, record, peer, &counted);
    let mac = configuration.record_key.mac(DOMAIN, &parts);
    let token = mac.get(..TOKEN_LENGTH).unwrap_or(&mac);
    URL_SAFE_NO_PAD.encode(token)
}

fn is_lift_token(
    configuration: &Configuration,
    token: &str,
    record: &Record,
    peer: &ClusterId,
) -> bool {
    let counted = record.lifts.to_be_bytes();
    let parts = token_parts(configuration, record, peer, &counted);
    token.len() <= LONGEST_TOKEN
        && URL_SAFE_NO_PAD
            .decode(token)
            .is_ok_and(|token| configuration.record_key.verify(DOMAIN, &parts, &token))
}

fn token_parts<'t>(
    configuration: &'t Configuration,
    record: &Record,
    peer: &'t ClusterId,
    counted: &'t [u8],
) -> [&'t [u8]; 4] {
    [
        configuration.cluster_id.as_str().as_bytes(),
        peer.as_str().as_bytes(),
        match record.condition {
            TenantCondition::Active => b"Active",
            TenantCondition::Cordoned => b"Cordoned",
            TenantCondition::Drained => b"Drained",
        },
        counted,
    ]
}

const DOMAIN: &str = "liqo-auth condition lift v1";
/// The key of the token in the Secret of the record.
const TOKEN_FIELD: &str = "liftCondition";
const TOKEN_LENGTH: usize = 16;
/// Of a whole MAC in base64.
const LONGEST_TOKEN: usize = 43;
