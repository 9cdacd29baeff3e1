//! What the peer may do, and how it is taken back.

pub(super) mod bindings;
pub(super) mod condition;
pub(super) mod condition_lift;
pub(super) mod tolerated;
pub(super) mod withdrawal;
