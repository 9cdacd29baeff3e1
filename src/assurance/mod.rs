//! What one side can know of the other beyond what the exchange itself proves.
//!
//! | question | see |
//! |---|---|
//! | is the provider the one meant? | [`commitment`] |
//! | does the new key belong to the holder of the old one? | [`succession`] |
//! | did both administrators agree on the same? | [`transcript`] |
//! | which version does the peer run? | [`peer_version`] |

pub mod commitment;
pub mod peer_version;
pub mod succession;
pub mod transcript;
