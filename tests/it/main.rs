//! The library's tests, in one binary: a folder for each behaviour.
//!
//! `clusters` has the clusters that tests set up, and `recordings` has what
//! Liqo left of real ones. The corpus is a binary of its own, `tests/corpus`.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)] // Tests may panic, read and write files, and run programs.
#![cfg_attr(
    not(all(feature = "yaml", feature = "rsa", feature = "ecdsa")),
    allow(dead_code)
)] // Fewer features have fewer tests, which use less of the clusters.

mod administration;
#[cfg(all(feature = "yaml", feature = "rsa"))]
mod admission;
mod assurance;
mod audit_log;
mod aws;
mod clusters;
#[cfg(feature = "yaml")]
mod consumer;
mod crypto;
mod data;
mod ending;
mod handshake;
#[cfg(feature = "yaml")]
mod interoperability;
#[cfg(feature = "legacy")]
mod legacy;
mod machine;
mod mirror;
mod model;
#[cfg(feature = "proptest")]
mod properties;
#[cfg(all(feature = "yaml", feature = "rsa"))]
mod recordings;
mod renewal;
mod rights;
mod slices;

/// Cargo leaves the corpus out of `cargo test` if one of its features is off. A
/// folder that somebody named is never passed over in silence.
#[cfg(not(all(feature = "ecdsa", feature = "legacy", feature = "rsa")))]
#[test]
fn a_corpus_that_is_named_is_not_passed_over() {
    assert!(
        std::env::var_os("LIQO_AUTH_CORPUS").is_none(),
        "the corpus needs the features `ecdsa`, `legacy` and `rsa`: \
         cargo test --all-features --test corpus"
    );
}
