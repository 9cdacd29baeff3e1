//! The rest of a peering's life, on the consumer's side: slices, renewals, the
//! end, keys and AWS, beside a provider that the test itself plays.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)] // Tests may panic, and read files.
#![cfg(feature = "yaml")]

mod aws;
mod ending;
#[path = "../exchange/mod.rs"]
mod exchange;
mod home;
mod keys;
mod later_keys;
#[cfg(feature = "rsa")]
mod recorded;
#[cfg(feature = "rsa")]
#[path = "../recording/mod.rs"]
mod recording;
mod renew_now;
mod renewal;
mod slices;
