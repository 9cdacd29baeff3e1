//! What was decided: every decision of a machine, as a value.
//!
//! A [`Step`](crate::step::Step) carries the decisions that it makes. They
//! count once its effects were applied.

mod event;

pub use event::{Decision, Event};
