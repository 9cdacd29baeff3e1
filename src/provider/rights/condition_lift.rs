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

use super::condition;
use crate::{
    audit::{Decision, Event},
    error::{Error, LocalFault},
    machine::{Effect, Notice, Part, Step, View},
    model::{ClusterId, Resource, Secret, Tenant, TenantCondition, names},
    provider::{Provider, observed::Observed, record::peer::Record},
};

impl Provider {
    /// Sets a peer's condition, milder or stricter, in the Tenant and in the
    /// record: the word of this side's administrator.
    ///
    /// # Errors
    /// [`LocalFault::NoTenant`] if there is no Tenant; as
    /// [`resume`](Self::resume). A Secret of the handshake that cannot be read
    /// keeps no peer from being cordoned or drained.
    pub fn set_condition(
        &self,
        view: &View<'_>,
        condition: TenantCondition,
    ) -> Result<Step, Error> {
        self.check_other(view.peer())?;
        let observed = Observed::select(self, view)?;
        let Some(tenant) = observed.tenant else {
            return Err(Error::new(LocalFault::NoTenant, None, ""));
        };
        let record = observed.record.as_ref().map(|(_, record)| record);
        let before = condition::in_force(&observed, tenant);
        let mut said = tenant.clone();
        if condition::said_by(tenant) != condition {
            said.spec.tenant_condition = Some(condition);
        }
        let milder = record.filter(|record| condition < record.condition);
        if let Some(record) = milder {
            let token = self.lift_token(record, &observed.peer);
            let annotations = &mut said.metadata.annotations;
            annotations.insert(names::LIFT_CONDITION_ANNOTATION.to_owned(), token);
        }
        let patch = Effect::patch(tenant, said, Part::Main);
        let recorded = record
            .filter(|record| record.condition != condition)
            .map(|record| self.write_record(&observed, &with_condition(record, condition)));
        // What loosens begins with the Tenant, whose token says what is to be
        // recorded; what tightens, with the record.
        let effects = if milder.is_some() {
            patch.into_iter().chain(recorded).collect()
        } else {
            recorded.into_iter().chain(patch).collect()
        };
        let decision = if condition < before {
            Some(Decision::ConditionLifted)
        } else {
            (condition > before).then_some(Decision::ConditionRecorded { condition })
        };
        let event = |decision| Event::new(&observed.peer, decision).about(tenant.id());
        Ok(Step {
            effects,
            events: decision.map(event).into_iter().collect(),
            ..Step::default()
        })
    }

    /// Lifts the recorded condition if the Tenant carries the record's token,
    /// takes a token off that has served or never will, and says when a
    /// condition holds that the Tenant does not name.
    pub(in crate::provider) fn apply_lift(&self, observed: &Observed<'_>, step: &mut Step) {
        let (Some(tenant), Some((_, record))) = (observed.tenant, &observed.record) else {
            return;
        };
        if tenant.metadata.deletion_timestamp.is_some() {
            return;
        }
        let held = condition::said_by(tenant) < record.condition;
        let given = tenant
            .metadata
            .annotations
            .get(names::LIFT_CONDITION_ANNOTATION);
        let valid = given.is_some_and(|token| self.is_lift_token(token, record, &observed.peer));
        if held && valid {
            let lifted = with_condition(record, condition::said_by(tenant));
            let event = Event::new(&observed.peer, Decision::ConditionLifted).about(tenant.id());
            if add_unless_taken(step, self.write_record(observed, &lifted)) {
                step.events.push(event);
            }
            return;
        }
        if held {
            let condition = record.condition;
            step.notices.push(Notice::ConditionHeld { condition });
        }
        // The token may come before the condition.
        if given.is_some() && !valid {
            add_all_but_taken(step, without_token(tenant));
        }
    }

    /// Puts the token beside the record, where there is something to lift.
    pub(in crate::provider) fn offer_lift(
        &self,
        record: &Record,
        peer: &ClusterId,
        secret: &mut Secret,
    ) {
        if record.condition != TenantCondition::Active {
            let token = self.lift_token(record, peer).into_bytes();
            secret.data.insert(TOKEN_FIELD.to_owned(), token.into());
        }
    }

    fn lift_token(&self, record: &Record, peer: &ClusterId) -> String {
        let counted = record.lifts.to_be_bytes();
        let parts = self.token_parts(record, peer, &counted);
        let mac = self.0.record_key.mac(DOMAIN, &parts);
        let token = mac.get(..TOKEN_LENGTH).unwrap_or(&mac);
        URL_SAFE_NO_PAD.encode(token)
    }

    fn is_lift_token(&self, token: &str, record: &Record, peer: &ClusterId) -> bool {
        let counted = record.lifts.to_be_bytes();
        let parts = self.token_parts(record, peer, &counted);
        token.len() <= LONGEST_TOKEN
            && URL_SAFE_NO_PAD
                .decode(token)
                .is_ok_and(|token| self.0.record_key.verify(DOMAIN, &parts, &token))
    }

    fn token_parts<'t>(
        &'t self,
        record: &Record,
        peer: &'t ClusterId,
        counted: &'t [u8],
    ) -> [&'t [u8]; 4] {
        [
            self.0.cluster_id.as_str().as_bytes(),
            peer.as_str().as_bytes(),
            match record.condition {
                TenantCondition::Active => b"Active",
                TenantCondition::Cordoned => b"Cordoned",
                TenantCondition::Drained => b"Drained",
            },
            counted,
        ]
    }
}

/// The record with another condition; its token serves no more if that is a
/// milder one.
pub(in crate::provider) fn with_condition(record: &Record, condition: TenantCondition) -> Record {
    let milder = condition < record.condition;
    Record {
        condition,
        lifts: record.lifts.saturating_add(u64::from(milder)),
        ..record.clone()
    }
}

fn without_token(tenant: &Tenant) -> Option<Effect> {
    let mut without = tenant.clone();
    let annotations = &mut without.metadata.annotations;
    annotations.remove(names::LIFT_CONDITION_ANNOTATION);
    Effect::patch(tenant, without, Part::Main)
}

fn add_all_but_taken(step: &mut Step, effect: Option<Effect>) {
    if let Some(effect) = effect {
        add_unless_taken(step, effect);
    }
}

/// Adds an effect unless its object has one already; then the next look does.
fn add_unless_taken(step: &mut Step, effect: Effect) -> bool {
    let free = step.effects.iter().all(|other| other.id() != effect.id());
    if free {
        step.effects.push(effect);
    }
    free
}

const DOMAIN: &str = "liqo-auth condition lift v1";
/// The key of the token in the Secret of the record.
const TOKEN_FIELD: &str = "liftCondition";
const TOKEN_LENGTH: usize = 16;
/// Of a whole MAC in base64.
const LONGEST_TOKEN: usize = 43;
