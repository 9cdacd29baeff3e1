//! What a peer is given, and how it is withdrawn.

mod grants;
#[cfg(feature = "proptest")]
mod withdrawal;
