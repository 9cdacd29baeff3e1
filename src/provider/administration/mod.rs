//! The calls of the administrator.

pub(super) mod end;
pub(super) mod invitation;
pub(super) mod peering_user;
pub(super) mod transcript;
