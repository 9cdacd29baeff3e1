//! Further knowledge about the other side, beyond the proofs of the exchange.
//!
//! | question | see |
//! |---|---|
//! | Is this the right provider? | [`commitment`] |
//! | Does the new key belong to the holder of the old one? | [`succession`] |
//! | Do both administrators see the same objects? | [`transcript`] |
//! | Which version does the peer run? | [`peer_version`] |

pub mod commitment;
pub(crate) mod key_and_signature;
pub mod peer_version;
pub mod succession;
pub mod transcript;
