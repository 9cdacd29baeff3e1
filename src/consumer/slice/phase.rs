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

/// The state of one resource slice.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SliceStatus {
    /// The slice.
    pub slice: ObjectRef,
    /// The phase of its identity.
    pub phase: SlicePhase,
    /// The provider's decision on the resources. The decision on the identity is a
    /// separate one.
    pub resources: ResourcesDecision,
}

/// The phases of a slice's identity.
#[derive(Clone)]
#[non_exhaustive]
pub enum SlicePhase {
    /// The key store has no key, or has not answered yet.
    NeedsKey,
    /// The slice lacks the cluster IDs, or a certificate request by the key that the
    /// provider knows. Slices made by a person or by `liqoctl` begin here.
    NeedsRequest,
    /// The request is complete; the provider has not decided yet.
    AwaitsDecision,
    /// The control plane has no Identity yet. The slice's API server and CA must be
    /// the same as the control plane's.
    AwaitsControlPlane,
    /// The provider gave a certificate, which is verified. The next step stores the
    /// certificate in the Identity.
    NeedsIdentity(Box<OfferedIdentity>),
    /// The Identity is verified. The next step stores its kubeconfig.
    NeedsKubeconfig(Box<AcceptedIdentity>),
    /// The kubeconfig is stored.
    Held(Box<StoredIdentity>),
    /// The provider denied the identity. The objects that were made for it are
    /// deleted.
    Denied {
        /// The provider's reason, in one word.
        reason: String,
        /// The provider's message. It is not escaped.
        message: String,
    },
    /// The provider's answer or an object of this side cannot be accepted.
    Refused(Error),
    /// The slice is being deleted.
    Ending,
}

/// The provider's decision on the resources of a slice.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResourcesDecision {
    /// The provider has not decided yet.
    Undecided,
    /// The provider granted these resources, which may be fewer than requested.
    Granted(BTreeMap<String, Quantity>),
    /// The provider denied the resources.
    Denied {
        /// The reason, in one word.
        reason: String,
        /// The provider's message. It is not escaped.
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
