//! The token protocol of Liqo before 0.11, over HTTP.

#[cfg(feature = "yaml")]
mod conversation;
#[cfg(feature = "yaml")]
mod documents;
mod hostile;
pub(crate) mod pair;
mod steps;
