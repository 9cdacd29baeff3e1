//! The clusters that tests set up in memory, and the backends of those
//! clusters.

pub(crate) mod exchange;
pub(crate) mod iam;
pub(crate) mod notary;
pub(crate) mod pool;
pub(crate) mod randomness;
pub(crate) mod store;
pub(crate) mod succession;
