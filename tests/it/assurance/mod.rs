//! What each side can find out about the other.

#[cfg(all(feature = "yaml", feature = "rsa"))]
mod peer_versions;
#[cfg(all(feature = "yaml", feature = "rsa", feature = "ecdsa"))]
mod transcripts;
