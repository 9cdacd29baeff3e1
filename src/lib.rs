//! Both sides of Liqo's inter-cluster authentication, as a state machine without I/O.

pub mod commitment;
pub mod consumer;
pub mod crypto;
pub mod error;
mod merge_patch;
pub mod model;
pub mod objects;
pub mod policy;
pub mod provider;
#[cfg(feature = "proptest")]
pub mod rehearsal;
pub mod step;
pub mod verify;
pub mod view;
