//! The state of a peering, in one form for both sides.

use serde::Serialize;

use super::{
    Awaited, Holder, Notice, Refused,
    json::{awaited_with_remedies, certificate_in_short, notices_with_remedies},
};
use crate::{
    crypto::Certificate,
    error::Error,
    model::{ClusterId, ObjectRef, ResourceSliceConditionStatus, TenantCondition, Timestamp},
};

/// The state of one peering, as [`Machine::look`](super::Machine::look) returns
/// it. The `look` of each side returns more.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Status {
    /// The role of this side in the peering.
    pub side: Side,
    /// The other cluster.
    pub peer: ClusterId,
    /// The peer's Tenant. `None` at a consumer, and at a provider without a Tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<ObjectRef>,
    /// The condition in force for the peer (rule 6). `None` at a consumer, and at a provider
    /// without a Tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<TenantCondition>,
    /// Whether the provider's record holds the condition, since the Tenant itself says a milder
    /// one. Only an administrator of the provider lifts it
    /// ([`Remedy::LiftCondition`](super::Remedy::LiftCondition)).
    #[serde(rename = "conditionHeld")]
    pub is_condition_held: bool,
    /// When the nonce that is to be signed, or whose answer is awaited, expires. `None` without
    /// such a nonce, and for a nonce that does not name its end, as Liqo makes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nonce_until: Option<Timestamp>,
    /// The control plane's identity.
    pub control_plane: HolderStatus,
    /// The identities of the resource slices.
    pub slices: Vec<HolderStatus>,
    /// Facts that a person may want to know.
    #[serde(serialize_with = "notices_with_remedies")]
    pub notices: Vec<Notice>,
    /// Whether this side has something to do, so that
    /// [`reconcile`](super::Machine::reconcile) returns effects.
    #[serde(rename = "due")]
    pub is_due: bool,
    /// What the peering waits for: each with the party that acts, and the remedy. A look asks no
    /// backend, so each answer for which a step asks is awaited until it is stored.
    #[serde(serialize_with = "awaited_with_remedies")]
    pub awaits: Vec<Awaited>,
    /// The refused objects, with the reasons.
    pub refused: Vec<Refused>,
}

/// The role of a side in a peering.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Side {
    /// This side offers its resources to the peer.
    Provider,
    /// This side uses the peer's resources.
    Consumer,
}

/// The state of one holder's identity.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct HolderStatus {
    /// The control plane, or a slice.
    #[serde(flatten)]
    pub holder: Holder,
    /// The name of the phase, in the terms of this side.
    pub phase: &'static str,
    /// The stage that the phase belongs to.
    pub stage: Stage,
    /// The certificate that the holder has got, in any phase: it may have expired, or count no
    /// more. At a provider it is the one on record, which the peer cannot write; at a consumer
    /// the one that this side has verified. `None` without one, for AWS keys, and at a provider
    /// without a Tenant.
    #[serde(
        serialize_with = "certificate_in_short",
        skip_serializing_if = "Option::is_none"
    )]
    pub certificate: Option<Certificate>,
    /// When the certificate that counts in this phase expires; `None` without such a certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid_until: Option<Timestamp>,
    /// When the certificate is due for renewal; `None` while it is being renewed,
    /// or if it is not renewed at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renewal_due_at: Option<Timestamp>,
    /// Why the identity or its renewal is refused, also by the API server that does not let the
    /// certificate in (`certificate-not-trusted`). If the provider denied a slice by a condition,
    /// the slice has no error here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<Error>,
    /// The provider's decision on the request of a slice: at a provider by its record and the
    /// phase, at a consumer the provider's word. `None` without a decision, and for the control
    /// plane.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authentication: Option<ResourceSliceConditionStatus>,
    /// The same on the resources of a slice. At a provider it is `None` as well if another
    /// controller decides on the class: its word is in the slice's status, which the peer may
    /// write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourceSliceConditionStatus>,
    /// Whether the slice is cordoned, by itself or with its peer. At a provider, its record and
    /// the condition in force say so, which the peer cannot write; at a consumer, the slice's
    /// annotations. `None` for the control plane: [`Status::condition`] is that of the peer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cordoned: Option<bool>,
}

/// The meaning of a phase. Both sides use the same stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Stage {
    /// This side or one of its backends has to act next.
    InProgress,
    /// The peer or an administrator has to act next.
    Waiting,
    /// The identity is complete.
    Authenticated,
    /// The identity is refused.
    Refused,
    /// The identity is being revoked.
    Ending,
}

/// Declares the phases of a holder, each with its stage.
///
/// `Debug` shows the name of the phase, and the error of a refusal.
macro_rules! phases {
    ($(#[$about:meta])* pub enum $Phase:ident {
        $(
            $(#[$meta:meta])*
            $Variant:ident $(($($tuple:tt)*))? $({ $($fields:tt)* })? => $Stage:ident
        ),+ $(,)?
    }) => {
        $crate::model::named! {
            $(#[$about])*
            pub enum $Phase {
                $($(#[$meta])* $Variant $(($($tuple)*))? $({ $($fields)* })?,)+
            }
        }

        impl $Phase {
            pub(crate) const fn stage(&self) -> $crate::machine::Stage {
                match self {
                    $(Self::$Variant { .. } => $crate::machine::Stage::$Stage,)+
                }
            }

            /// The status of a holder in this phase, without a credential.
            pub(crate) fn of_holder(
                &self,
                holder: $crate::machine::Holder,
            ) -> $crate::machine::HolderStatus {
                $crate::machine::HolderStatus {
                    holder,
                    phase: self.name(),
                    stage: self.stage(),
                    certificate: None,
                    valid_until: None,
                    renewal_due_at: None,
                    refused: match self {
                        Self::Refused(error) => Some(error.clone()),
                        _ => None,
                    },
                    authentication: None,
                    resources: None,
                    cordoned: None,
                }
            }
        }

        impl core::fmt::Debug for $Phase {
            fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match self {
                    Self::Refused(error) => formatter.debug_tuple("Refused").field(error).finish(),
                    phase => formatter.write_str(phase.name()),
                }
            }
        }
    };
}

pub(crate) use phases;

impl Status {
    /// The control plane and the slices, in this order.
    pub fn holders(&self) -> impl Iterator<Item = &HolderStatus> {
        core::iter::once(&self.control_plane).chain(&self.slices)
    }
}
