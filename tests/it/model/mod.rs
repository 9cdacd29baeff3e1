//! How manifests are read and written.

mod hostile;
mod streams;
#[cfg(feature = "yaml")]
mod vectors;
