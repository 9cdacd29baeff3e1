//! The objects as they travel, and the always-valid values inside them.

mod cluster_id;
mod timestamp;

pub use cluster_id::{ClusterId, ClusterIdError};
pub use timestamp::{Timestamp, TimestampError};
