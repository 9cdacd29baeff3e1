//! From the nonce to the Identity: signing the nonce, and receiving the provider's
//! answer.

pub(super) mod accepted;
pub(super) mod receiving;
pub(super) mod requests;
pub(super) mod signature;
