//! The calls of the administrator.

pub(super) mod ending;
pub(super) mod transcript;
