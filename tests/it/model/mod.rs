//! How manifests are read and written.

mod hostile;
mod limits;
mod streams;
#[cfg(feature = "yaml")]
mod vectors;
