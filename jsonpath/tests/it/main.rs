//! The templates beside those of client-go and of kubectl.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test stops at the first thing that goes wrong"
)]

mod client_go;
mod kubectl;
