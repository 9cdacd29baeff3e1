//! The values of options and settings, as people write them.

pub(crate) mod durations;
pub(crate) mod key_algorithm;
pub(crate) mod policy_name;
pub(crate) mod renewal_name;
