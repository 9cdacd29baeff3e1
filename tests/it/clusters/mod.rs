//! The clusters that tests set up in memory, and the backends of those
//! clusters.

use liqo_auth::policy::Policy;

pub(crate) mod bindings;
pub(crate) mod exchange;
pub(crate) mod iam;
pub(crate) mod identities;
pub(crate) mod notary;
pub(crate) mod pool;
pub(crate) mod randomness;
pub(crate) mod rest;
pub(crate) mod store;
pub(crate) mod succession;

/// The policy of a cluster whose peers are on the same machine.
pub(crate) fn allowing_loopback(mut policy: Policy) -> Policy {
    policy.addresses.allowed = vec!["127.0.0.0/8".parse().unwrap()];
    policy
}
