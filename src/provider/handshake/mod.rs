//! From the nonce to the proof: who the peer is.

pub(super) mod approval;
pub(super) mod commitment;
pub(super) mod key_succession;
pub(super) mod nonce;
pub(super) mod proof;
pub(super) mod tenant;
