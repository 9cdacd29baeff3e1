//! The library's tests in one binary, with one folder for each behaviour.
//!
//! `clusters` contains the clusters that tests set up; `recordings` contains
//! the objects that Liqo left on real clusters. The corpus is a separate
//! binary, `tests/corpus`.
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
)] // With fewer features there are fewer tests, and parts of `clusters` are unused.

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
mod embedding;
mod ending;
#[cfg(feature = "yaml")]
mod guard;
mod handshake;
mod holders;
mod hostile;
#[cfg(feature = "yaml")]
mod interoperability;
mod leaks;
#[cfg(feature = "legacy")]
mod legacy;
mod machine;
mod mirror;
mod model;
mod objects;
mod properties;
#[cfg(all(feature = "yaml", feature = "rsa"))]
mod recordings;
mod renewal;
mod rights;
mod slices;
mod status;
mod work;

/// Cargo leaves the corpus out of `cargo test` if one of its features is off. A
/// folder that the variable names must not be ignored silently.
#[cfg(not(all(feature = "ecdsa", feature = "legacy", feature = "rsa")))]
#[test]
fn a_named_corpus_is_not_ignored() {
    assert!(
        std::env::var_os("LIQO_AUTH_CORPUS").is_none(),
        "the corpus needs the features `ecdsa`, `legacy` and `rsa`: \
         cargo test --all-features --test corpus"
    );
}
