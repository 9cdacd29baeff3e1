//! The common base of both sides: the view of the objects, and the step to apply.
//!
//! ```text
//!     Objects ──▶ View ──▶ (a machine) ──▶ Step { effects, outbox, refused, notices, events, wait }
//!        ▲                                                  │
//!        └────────────────────── apply ─────────────────────┘
//! ```
//!
//! A [`View`] borrows one peer's objects. A machine returns an owned [`Step`]:
//! [`Effect`]s on local objects, [`Message`]s for the peer, refusals, notices,
//! and when to call again ([`Wait`]). [`Machine`] is the trait that both sides
//! implement. A [`Mirror`] caches the objects that a controller watches, by peer; without it,
//! [`peers_of`] finds the peers of stored objects. [`drive`] says what a driver does next.
//! [`Objects`] is an in-memory store to which effects are applied, for tests and for tools.
//! [`replication`] copies slices and renewals between two clusters
//! whose objects the caller can read and write.

pub(crate) mod answering;
mod applying;
mod awaited;
pub mod drive;
mod driving;
mod holder;
pub mod json;
pub(crate) mod merge_patch;
mod message;
mod mirror;
pub(crate) mod missing;
mod notice;
mod objects;
pub(crate) mod plan;
pub(crate) mod record;
pub(crate) mod record_bytes;
mod remedy;
mod renewal;
pub mod replication;
mod request;
pub(crate) mod sealed;
mod status;
mod step;
mod tenancy;
pub(crate) mod view;
mod watch;

pub use applying::ApplyError;
pub use awaited::{Awaited, Party};
pub use driving::Machine;
pub use holder::Holder;
pub use message::{Message, MessageBody};
pub use mirror::{Follower, Mirror, MirrorError, NotYet, peers_of};
pub use notice::Notice;
pub use objects::Objects;
pub use remedy::Remedy;

pub(crate) use renewal::{due_at, expired_at};
pub use request::{ApiRequest, Method};
pub(crate) use status::phases;
pub use status::{HolderStatus, Side, Stage, Status};
pub use step::{Effect, Env, Part, Refused, Step, Version, Wait};
pub use view::{Interest, View};
pub use watch::{Concerns, Requirement, Watch};
