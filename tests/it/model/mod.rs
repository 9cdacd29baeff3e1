//! How manifests are read and written.

mod hostile;
#[cfg(feature = "yaml")]
mod vectors;
