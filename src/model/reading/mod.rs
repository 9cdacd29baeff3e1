//! From text to objects: JSON and YAML, within limits.

pub(super) mod absent;
pub(super) mod document;
pub(super) mod excerpt;
pub mod manifest;
pub(super) mod parsed;
pub(super) mod scalar;
// Only the messages of the token protocol are read by it; its error is one of
// the peer's faults with and without that protocol.
#[cfg_attr(not(feature = "legacy"), allow(dead_code))]
pub(super) mod strict_json;
pub(super) mod strict_value;
pub(super) mod unreadable;
#[cfg(feature = "yaml")]
pub(super) mod yaml;
