//! The peer's rights: their grant, the peer's condition, their withdrawal.

mod bindings;
mod condition;
mod condition_lift;
mod held;
mod namespace_maps;
mod origins;
mod tolerated;
mod withdrawal;

pub(super) use bindings::{Granted, missing_bindings, notices};
pub(super) use condition::{lift, tighten};
pub(super) use condition_lift::{apply_lift, set_condition};
pub(super) use namespace_maps::delete_namespace_maps;
pub(super) use origins::correct_origins;
pub(super) use tolerated::{tolerate, tolerates};
pub(super) use withdrawal::{is_ending, let_tenant_go, withdraw};
