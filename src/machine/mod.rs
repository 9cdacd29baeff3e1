//! What both sides stand on: what is seen, and what is to be done.
//!
//! ```text
//!     Objects ──▶ View ──▶ (a machine) ──▶ Step { effects, outbox, refused, notices, events, wait }
//!        ▲                                                  │
//!        └────────────────────── apply ─────────────────────┘
//! ```
//!
//! A [`View`] borrows one peer's objects. A machine answers with a [`Step`],
//! which is owned: [`Effect`]s on local objects, [`Message`]s for the peer,
//! refusals, notices, and what it waits for ([`Wait`]). [`Machine`] is what both
//! sides have in common. A [`Mirror`] keeps what a
//! controller watches, by peer. [`Objects`] is a store in memory that effects are
//! applied to, for tests and for tools. [`replication`] carries slices
//! and renewals between two clusters at hand.

mod driving;
mod holder;
pub mod json;
pub(crate) mod merge_patch;
mod message;
mod mirror;
pub(crate) mod missing;
mod objects;
pub(crate) mod plan;
pub(crate) mod record;
mod renewal;
pub mod replication;
mod request;
pub(crate) mod sealed;
mod status;
mod step;
mod view;
mod watch;

pub use driving::Machine;
pub use holder::Holder;
pub use message::{Message, MessageBody, MessageDigest};
pub use mirror::{Follower, Mirror, MirrorError, NotYet};
pub use objects::{ApplyError, Objects};
pub use renewal::due_at;
pub use request::{ApiRequest, Method};
pub use status::{HolderStatus, Side, Stage, Status};
pub use step::{Awaited, Effect, Env, Notice, Part, Refused, Step, Version, Wait};
pub use view::{Interest, View};
pub use watch::{Concerns, Requirement, Watch};
