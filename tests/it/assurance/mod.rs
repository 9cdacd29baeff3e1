//! What each side can know about the other.

#[cfg(all(feature = "yaml", feature = "rsa"))]
mod peer_versions;
#[cfg(all(feature = "yaml", feature = "rsa", feature = "ecdsa"))]
mod transcripts;
