//! The phases of a resource slice, as the consumer sees them.

use std::collections::BTreeMap;

use crate::{
    consumer::{AcceptedIdentity, OfferedIdentity, StoredIdentity},
    crypto::Certificate,
    error::Error,
    machine::phases,
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
    /// The certificate of the slice that this side has verified. It may have expired.
    pub certificate: Option<Certificate>,
    /// The provider's decision on the identity, by its word. `None` without one.
    pub authentication: Option<ResourceSliceConditionStatus>,
    /// The provider's decision on the resources. The decision on the identity is
    /// separate.
    pub resources: ResourcesDecision,
    /// Whether this side wants a VirtualNode for the slice: what the request on record says,
    /// or else the slice's annotation `liqo.io/create-virtual-node`. If the provider is a
    /// consumer of this cluster as well, it may write the annotation, but not the record.
    pub virtual_node: bool,
    /// Whether the slice's annotations say that it is cordoned, by itself or with its tenant.
    pub cordoned: bool,
}

phases! {
    /// The phases of a slice's identity.
    #[derive(Clone)]
    #[non_exhaustive]
    pub enum SlicePhase {
        /// The key store has no key, or has not answered yet.
        NeedsKey => InProgress,
        /// The slice lacks the cluster IDs, or a certificate request by the key that the
        /// provider knows. Slices made by a person or by `liqoctl` begin here.
        NeedsRequest => InProgress,
        /// The request is complete; the provider has not decided yet.
        AwaitsDecision => Waiting,
        /// The control plane has no Identity yet. The slice's API server and CA must be
        /// the same as the control plane's.
        AwaitsControlPlane => Waiting,
        /// The provider gave a certificate, which is verified. The next step stores the
        /// certificate in the Identity.
        NeedsIdentity(Box<OfferedIdentity>) => InProgress,
        /// The Identity is verified. The next step stores its kubeconfig.
        NeedsKubeconfig(Box<AcceptedIdentity>) => InProgress,
        /// The kubeconfig is stored.
        Held(Box<StoredIdentity>) => Authenticated,
        /// The provider denied the identity. The objects that were made for it are
        /// deleted.
        Denied {
            /// The provider's reason, in one word.
            reason: String,
            /// The provider's message. It is not escaped.
            message: String,
        } => Refused,
        /// The provider's answer or an object of this side cannot be accepted.
        Refused(Error) => Refused,
        /// The slice is being deleted.
        Ending => Ending,
    }
}

impl SlicePhase {
    /// The verified identity that is stored.
    pub(super) fn stored(&self) -> Option<&AcceptedIdentity> {
        match self {
            Self::NeedsKubeconfig(accepted) => Some(accepted),
            Self::Held(stored) => Some(&stored.accepted),
            _ => None,
        }
    }
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
        let status = &slice.status;
        match status.condition(ResourceSliceConditionType::Resources) {
            None => Self::Undecided,
            Some(condition) if condition.status == ResourceSliceConditionStatus::Denied => {
                Self::Denied {
                    reason: condition.reason.clone(),
                    message: condition.message.clone(),
                }
            }
            Some(_) => Self::Granted(status.resources.clone()),
        }
    }

    /// The decision alone, without its content.
    pub(in crate::consumer) const fn in_short(&self) -> Option<ResourceSliceConditionStatus> {
        match self {
            Self::Undecided => None,
            Self::Granted(_) => Some(ResourceSliceConditionStatus::Accepted),
            Self::Denied { .. } => Some(ResourceSliceConditionStatus::Denied),
        }
    }
}
