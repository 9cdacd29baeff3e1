//! The peer's rights: giving them, keeping to its condition, taking them back.

mod bindings;
mod condition;
mod condition_lift;
mod tolerated;
mod withdrawal;

pub(super) use bindings::{Granted, notices};
pub(super) use condition::{lift, tighten};
pub(super) use condition_lift::{apply_lift, offer_lift, set_condition};
pub(super) use tolerated::{tolerate, tolerates};
pub(super) use withdrawal::{is_ending, let_tenant_go, withdraw};
