//! The phases of a resource slice, as the consumer sees them.

use std::collections::BTreeMap;

use super::NeedsRequest;
use crate::{
    consumer::{NeedsIdentity, NeedsKubeconfig, StoredIdentity, observed::Observed},
    error::Error,
    machine::{Awaited, Effect, Step},
    model::{
        ObjectRef, Quantity, Resource, ResourceSlice, ResourceSliceCondition,
        ResourceSliceConditionStatus, ResourceSliceConditionType,
    },
};

/// Where one resource slice stands.
#[derive(Debug)]
#[non_exhaustive]
pub struct SlicePeering<'o> {
    /// The slice.
    pub slice: ObjectRef,
    /// The phase of its identity.
    pub phase: SlicePhase<'o>,
    /// What the provider said about the resources: a decision apart from that on
    /// the identity.
    pub resources: ResourcesDecision,
}

/// The phases of a slice's identity; each offers what is legal in it.
#[non_exhaustive]
pub enum SlicePhase<'o> {
    /// The key store has no key yet.
    NeedsKey,
    /// The clusters' IDs or the certificate request are missing in it.
    NeedsRequest(NeedsRequest<'o>),
    /// The request is complete; the provider has not decided yet.
    AwaitsDecision,
    /// There is no Identity of the control plane yet, by whose API server and CA
    /// the slice's could be measured.
    AwaitsControlPlane,
    /// The provider gave a certificate, which is verified: the Identity is to be
    /// made of it.
    NeedsIdentity(NeedsIdentity<'o>),
    /// The Identity is verified; its kubeconfig is to be stored.
    NeedsKubeconfig(NeedsKubeconfig<'o>),
    /// The kubeconfig is stored.
    Held(StoredIdentity<'o>),
    /// The provider denied the identity.
    Denied(Denied<'o>),
    /// What the provider gave, or what stands here, cannot be taken.
    Refused(Error),
    /// The slice is being deleted.
    Ending,
}

/// What a provider said about a slice's resources.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResourcesDecision {
    /// Nothing yet.
    Undecided,
    /// It granted these; they may be fewer than were asked for.
    Granted(BTreeMap<String, Quantity>),
    /// It denied them.
    Denied {
        /// Why, in one word.
        reason: String,
        /// Why, in a sentence.
        message: String,
    },
}

/// The provider denied a slice's identity: what was made for it goes.
#[derive(Clone)]
pub struct Denied<'o> {
    observed: Observed<'o>,
    reason: String,
    message: String,
}

impl ResourcesDecision {
    pub(super) fn of(slice: &ResourceSlice) -> Self {
        let condition = slice
            .status
            .condition(ResourceSliceConditionType::Resources);
        match condition {
            None => Self::Undecided,
            Some(condition) if condition.status == ResourceSliceConditionStatus::Denied => {
                Self::Denied {
                    reason: condition.reason.clone(),
                    message: condition.message.clone(),
                }
            }
            Some(_) => Self::Granted(slice.status.resources.clone()),
        }
    }
}

impl SlicePhase<'_> {
    /// The phase's name, for messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::NeedsKey => "NeedsKey",
            Self::NeedsRequest(_) => "NeedsRequest",
            Self::AwaitsDecision => "AwaitsDecision",
            Self::AwaitsControlPlane => "AwaitsControlPlane",
            Self::NeedsIdentity(_) => "NeedsIdentity",
            Self::NeedsKubeconfig(_) => "NeedsKubeconfig",
            Self::Held(_) => "Held",
            Self::Denied(_) => "Denied",
            Self::Refused(_) => "Refused",
            Self::Ending => "Ending",
        }
    }
}

impl core::fmt::Debug for SlicePhase<'_> {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Refused(error) => formatter.debug_tuple("Refused").field(error).finish(),
            phase => formatter.write_str(phase.name()),
        }
    }
}

impl<'o> Denied<'o> {
    pub(super) fn new(observed: Observed<'o>, decision: &ResourceSliceCondition) -> Self {
        Self {
            observed,
            reason: decision.reason.clone(),
            message: decision.message.clone(),
        }
    }

    /// Why, in one word of the provider's.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Why, in a sentence of the provider's. It is not escaped.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Removes the identity that the slice may have had, as Liqo does.
    ///
    /// # Errors
    /// What cannot be read.
    pub fn withdraw(&self) -> Result<Step, Error> {
        let mut step = Step::default();
        let Some(identity) = self.observed.identity else {
            if let Some(slice) = self.observed.slice() {
                step.wait.awaiting.push(Awaited::SliceDecision(slice.id()));
            }
            return Ok(step);
        };
        let renew = self.observed.renew.clone()?;
        step.effects.extend(renew.and_then(removal));
        step.effects
            .extend(self.observed.kubeconfig.and_then(removal));
        step.effects.extend(removal(identity));
        if step.effects.is_empty() {
            step.wait.awaiting.push(Awaited::End(identity.id()));
        }
        Ok(step)
    }
}

/// The deletion of what is not being deleted already.
fn removal<K: Resource>(stored: &K) -> Option<Effect> {
    let goes = stored.metadata().deletion_timestamp.is_some();
    (!goes).then(|| Effect::delete(stored))
}
