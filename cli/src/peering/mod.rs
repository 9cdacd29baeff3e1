//! A peering of a home: what the commands ask of each side, and the driver that does it.

mod aws_users;
pub(crate) mod consumer_side;
pub(crate) mod driver;
pub(crate) mod pair;
pub(crate) mod provider_side;
pub(crate) mod signer;
