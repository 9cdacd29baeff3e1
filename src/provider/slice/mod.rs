//! Resource slices, as the provider sees them: beside the phase of the control
//! plane, each for itself.
//!
//! ```text
//!     AwaitsPeer ──▶ AwaitsRequest ──▶ NeedsRecord ──▶ NeedsCredential ──▶ NeedsDecision ──▶ NeedsStatus ──▶ Accepted │ Denied
//!                                           │                 ▲                                                 │
//!                                        Refused              └───────────────── expired ───────────────────────┘
//!     any ──▶ Drained ──▶ Ending ──▶ LeftBehind
//! ```
//!
//! A slice counts only if it is a replica of the peer's own, in the peer's
//! tenant namespace. Its status is what the record says, whatever stands there.

mod ceiling;
mod leaving;
mod phase;
mod policy;
mod replica;
mod replicas;
mod settled;
mod status;

pub use ceiling::Ceiling;
pub use phase::{NeedsSliceCredential, SlicePhase, SliceStatus};
pub use policy::{LiqoClasses, ResourceSlicePolicy, SliceDecision, SliceRequest};
pub(super) use replicas::Slices;
pub use settled::SettledSlice;

use crate::{crypto::PublicKey, model::AuthParams};

/// What the control plane's authentication gives to the peer's slices.
#[derive(Clone)]
pub(super) struct SliceTerms {
    /// The key that the slices have to be of; none where no handshake is
    /// required.
    pub(super) key: Option<PublicKey>,
    /// The Tenant that the proof is for.
    pub(super) tenant_uid: String,
    /// What the peer needs to reach this cluster: all but its credential.
    pub(super) address: AuthParams,
}

/// When to try again what failed on this side.
const RETRY: core::time::Duration = core::time::Duration::from_secs(60);
