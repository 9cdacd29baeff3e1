//! A slice with its credential: its status, and the decision on its resources.

use std::collections::BTreeMap;

use super::{SliceDecision, SliceRequest, policy::denied, replica::SliceLook, status};
use crate::{
    audit::{Decision, Event},
    crypto::Answer,
    error::{Backend, Error},
    machine::Awaited,
    model::{
        AuthParams, Quantity, Resource, ResourceSliceConditionType, ResourceSliceStatus,
        TenantCondition, Timestamp,
    },
    provider::{
        credentials::{Credential, Renewal},
        look::RETRY,
        record::{Decided, Outcome},
        records::Plan,
    },
    verify::VerifiedSlice,
};

/// A slice that has a certificate or an AWS user.
#[derive(Clone)]
#[non_exhaustive]
pub struct SettledSlice {
    /// The verified slice.
    pub slice: VerifiedSlice,
    /// The credential with which the slice authenticates.
    pub credential: Credential,
    /// The state of the certificate's renewal.
    pub renewal: Renewal,
    /// The refusal of the certificate by the API server, if the renewal is due for it.
    pub(crate) not_trusted: Option<Error>,
}

impl SliceLook<'_> {
    /// Renews the certificate when it is due, and maintains the Secret in which
    /// Liqo keeps it.
    pub(super) fn maintain_credential(&self, settled: &SettledSlice, plan: &mut Plan<'_>) {
        let context = self.context(&settled.slice);
        let renewed = context.renew(&settled.credential, plan);
        if let Some(error) = &context.kept_in.unreadable {
            plan.refuse(error.clone());
        } else if !renewed {
            context.store_certificate(&settled.credential, plan);
        }
    }

    /// Writes the status that follows from the record.
    pub(super) fn write_status(&self, settled: &SettledSlice, plan: &mut Plan<'_>) {
        let told = self.told(&settled.credential);
        if status::withdraws(&self.object.status, &told) {
            plan.withdraw_status(self.object, |slice| slice.status = told);
        } else {
            plan.edit(self.object, |slice| slice.status = told);
        }
    }

    /// Asks the policy for a decision on the resources, and records it. While the
    /// decision is pending, the status already shows the credential.
    pub(super) fn decide(&self, settled: &SettledSlice, plan: &mut Plan<'_>) {
        self.maintain_credential(settled, plan);
        let policy = &self.look.configuration.slice_policy;
        let others = plan.records.granted_besides(&self.object.metadata.name);
        let request = self.resources_request(&others);
        let decision = match plan.ask(|| policy.decide(&request)) {
            Ok(Answer::Ready(SliceDecision::Grant(grant))) => match self.excess() {
                None => SliceDecision::Grant(grant),
                Some(message) => denied(message),
            },
            Ok(Answer::Ready(decision)) => decision,
            Ok(Answer::Denied(message)) => denied(message),
            Ok(Answer::Pending) => {
                plan.await_for(Awaited::Resources(self.object.id()));
                return self.write_status(settled, plan);
            }
            // The certificate does not depend on the decision.
            Err(error) => {
                let error = Error::backend(Backend::ResourceSlicePolicy, error);
                plan.refuse_at(self.object.id(), error);
                plan.wake_by(Some(self.look.now + RETRY));
                plan.await_for(Awaited::Resources(self.object.id()));
                return self.write_status(settled, plan);
            }
        };
        let (outcome, event) = match decision {
            SliceDecision::Grant(grant) => {
                let granted = Some(Decision::ResourcesGranted);
                (Outcome::Granted(Box::new(grant.canonical())), granted)
            }
            SliceDecision::Deny { reason, message } => {
                let denied = Decision::ResourcesDenied {
                    reason: message.clone(),
                };
                (Outcome::Denied { reason, message }, Some(denied))
            }
            SliceDecision::NotMine => (Outcome::NotMine, None),
        };
        let (slice, now) = (self.object, self.look.now);
        plan.records
            .slice(&slice.metadata.name)
            .change(|record| record.take_decision(&slice.spec, outcome, now));
        if let Some(decision) = event {
            plan.tell(Event::new(self.look.peer(), decision).about(slice.id()));
        }
    }

    /// The message of the denial, if the slice requests more than its record may
    /// contain. A record with a larger grant could not be read again.
    fn excess(&self) -> Option<String> {
        let limits = &self.look.policy().limits;
        let asked = &self.object.spec.resources;
        let longest = |length: fn((&String, &Quantity)) -> usize| asked.iter().map(length).max();
        [
            ("resources", Some(asked.len()), limits.slice_resources),
            (
                "characters in the name of a resource",
                longest(|(name, _)| name.len()),
                limits.resource_name,
            ),
            (
                "characters in the amount of a resource",
                longest(|(_, amount)| {
                    let granted = amount.clone().canonical();
                    amount.as_str().len().max(granted.as_str().len())
                }),
                limits.quantity,
            ),
        ]
        .into_iter()
        .find_map(|(what, found, limit)| {
            let found = found.filter(|found| *found > limit)?;
            Some(format!("found {found} {what}, expected at most {limit}"))
        })
    }

    fn resources_request<'s>(&'s self, others: &'s BTreeMap<String, Quantity>) -> SliceRequest<'s> {
        let decided = self.record.and_then(|record| record.decided.as_ref());
        SliceRequest {
            peer: self.look.peer(),
            slice: &self.object.metadata.name,
            class: &self.object.spec.class,
            resources: &self.object.spec.resources,
            granted: decided.and_then(Decided::grant),
            granted_to_others: others,
            now: self.look.now,
        }
    }

    /// The status that the slice must have, derived from the record and the peer's
    /// condition.
    pub(super) fn told(&self, credential: &Credential) -> ResourceSliceStatus {
        let said = &self.object.status;
        let now = self.look.now;
        let time = |seconds: i64| Timestamp::from_unix(seconds).ok();
        let mut told = ResourceSliceStatus {
            auth_params: Some(self.auth_params(credential)),
            ..ResourceSliceStatus::default()
        };
        let recorded = self.record.and_then(|record| time(record.authenticated?));
        status::accept_authentication(&mut told, said, status::Times { recorded, now });
        match self.record.and_then(|record| record.decided.as_ref()) {
            Some(decided) => {
                let recorded = time(decided.at);
                let times = status::Times { recorded, now };
                status::decide_resources(&mut told, said, &decided.outcome, times);
            }
            // A cordoned peer does not get new resources. This denial is not recorded,
            // since it ends with the condition.
            None if self.look.observed.condition() == TenantCondition::Cordoned => {
                let mut denied = said.clone();
                status::deny_resources(&mut denied, now);
                let condition = denied.condition(ResourceSliceConditionType::Resources);
                told.conditions.extend(condition.cloned());
            }
            None => {}
        }
        told
    }

    /// The address and the credential that the peer gets for this slice.
    pub(super) fn auth_params(&self, credential: &Credential) -> AuthParams {
        let address = self.terms.map(|terms| terms.address.clone());
        let present = self.object.status.auth_params.as_ref();
        credential.in_place_of(present, address.unwrap_or_default())
    }
}
