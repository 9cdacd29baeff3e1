//! From the nonce to the Identity: the signature, and what the provider answers.

pub(super) mod accepted;
pub(super) mod keys;
pub(super) mod receiving;
pub(super) mod signature;
