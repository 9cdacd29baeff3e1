//! What a peer is given, and what takes it back.

mod grants;
#[cfg(feature = "proptest")]
mod withdrawal;
