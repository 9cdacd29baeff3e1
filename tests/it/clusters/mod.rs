//! The clusters that tests set up in memory, and their backends.

pub(crate) mod exchange;
pub(crate) mod iam;
pub(crate) mod notary;
pub(crate) mod pool;
