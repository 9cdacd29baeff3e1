//! The phases of a resource slice, as the consumer sees them.

use std::collections::BTreeMap;

use crate::{
    consumer::{AcceptedIdentity, OfferedIdentity, StoredIdentity},
    error::Error,
    model::{
        ObjectRef, Quantity, ResourceSlice, ResourceSliceConditionStatus,
        ResourceSliceConditionType,
    },
};

/// Where one resource slice stands.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SliceStatus {
    /// The slice.
    pub slice: ObjectRef,
    /// The phase of its identity.
    pub phase: SlicePhase,
    /// What the provider said about the resources: a decision apart from that on
    /// the identity.
    pub resources: ResourcesDecision,
}

/// The phases of a slice's identity.
#[derive(Clone)]
#[non_exhaustive]
pub enum SlicePhase {
    /// The key store has no key, or has not answered yet.
    NeedsKey,
    /// A person or `liqoctl` made the slice: the clusters' IDs or the certificate
    /// request are missing in it.
    NeedsRequest,
    /// The request is complete; the provider has not decided yet.
    AwaitsDecision,
    /// There is no Identity of the control plane yet, by whose API server and CA
    /// the slice's could be measured.
    AwaitsControlPlane,
    /// The provider gave a certificate, which is verified: the Identity is to be
    /// made of it.
    NeedsIdentity(Box<OfferedIdentity>),
    /// The Identity is verified; its kubeconfig is to be stored.
    NeedsKubeconfig(Box<AcceptedIdentity>),
    /// The kubeconfig is stored.
    Held(Box<StoredIdentity>),
    /// The provider denied the identity: what was made for it goes.
    Denied {
        /// Why, in one word of the provider's.
        reason: String,
        /// Why, in a sentence of the provider's. It is not escaped.
        message: String,
    },
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

impl SlicePhase {
    /// The phase's name, for messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::NeedsKey => "NeedsKey",
            Self::NeedsRequest => "NeedsRequest",
            Self::AwaitsDecision => "AwaitsDecision",
            Self::AwaitsControlPlane => "AwaitsControlPlane",
            Self::NeedsIdentity(_) => "NeedsIdentity",
            Self::NeedsKubeconfig(_) => "NeedsKubeconfig",
            Self::Held(_) => "Held",
            Self::Denied { .. } => "Denied",
            Self::Refused(_) => "Refused",
            Self::Ending => "Ending",
        }
    }
}

impl core::fmt::Debug for SlicePhase {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Refused(error) => formatter.debug_tuple("Refused").field(error).finish(),
            phase => formatter.write_str(phase.name()),
        }
    }
}
