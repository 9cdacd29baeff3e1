//! Resource slices on the provider's side. Each slice has its own phase, in addition
//! to the phase of the control plane.
//!
//! ```text
//!     AwaitsPeer ──▶ AwaitsRequest ──▶ NeedsRecord ──▶ NeedsCredential ──▶ NeedsDecision ──▶ NeedsStatus ──▶ Accepted │ Denied
//!                                           │                 ▲                                                 │
//!                                        Refused              └───────────────── expired ───────────────────────┘
//!     any ──▶ Drained ──▶ Ending ──▶ LeftBehind
//! ```
//!
//! The provider accepts a slice only if it is a replica of the peer's own slice, in
//! the peer's tenant namespace. The provider writes the slice's status from its
//! record.

mod cordon;
mod decisions;
mod leaving;
mod phase;
mod policy;
mod recorded;
mod replica;
mod replicas;
mod settled;
mod status;
mod taken_over;

pub use phase::{NeedsSliceCredential, SlicePhase, SliceStatus};
pub use policy::{LiqoClasses, ResourceSlicePolicy, SliceDecision, SliceRequest};
pub use recorded::RecordedSlice;
pub(super) use replicas::Slices;
pub use settled::SettledSlice;
pub(super) use taken_over::unconfirmed_grants;

use crate::{crypto::PublicKey, model::AuthParams};

/// The terms for the peer's slices that result from the control plane's
/// authentication.
#[derive(Clone)]
pub(super) struct SliceTerms {
    /// The key that the slices' requests must contain; `None` if no handshake is
    /// required.
    pub(super) key: Option<PublicKey>,
    /// The UID of the peer's Tenant.
    pub(super) tenant_uid: String,
    /// The parameters with which the peer reaches this cluster, without its
    /// credential.
    pub(super) address: AuthParams,
}
