//! The corpus, with RSA and ECDSA verified in Rust if the features `rsa` and `ecdsa`
//! are off.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)] // Tests may panic, and read files.

#[path = "corpus/main.rs"]
mod corpus;
