//! The administrator's calls.

pub(super) mod ending;
pub(super) mod transcript;
