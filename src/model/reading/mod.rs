//! From text to objects: JSON and YAML, within limits.

pub(super) mod absent;
pub(super) mod bounded;
pub(super) mod document;
pub(super) mod excerpt;
pub mod manifest;
pub(super) mod parsed;
pub(super) mod scalar;
pub(super) mod strict_value;
pub(super) mod unreadable;
#[cfg(feature = "yaml")]
pub(super) mod yaml;
