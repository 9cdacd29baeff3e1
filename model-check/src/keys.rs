//! The keys of the clusters, by their numbers.

use liqo_auth::crypto::{Entropy, KeyPair};

/// The number of the consumer's key.
pub const CONSUMER_KEY: u8 = 1;
/// The numbers of the keys of the provider's cluster as a consumer: the cluster's key, and
/// the key for the hostile provider alone.
pub const CLUSTER_KEY: u8 = 3;
pub const OWN_KEY: u8 = 4;

/// The key of a number.
pub fn key(number: u8) -> KeyPair {
    KeyPair::from_entropy(&Entropy::from_bytes([number; 32]))
}
