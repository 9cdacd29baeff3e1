//! The tool as a program, on homes and on clusters.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "a test panics"
)]

mod clusters;
#[path = "../../../kube/tests/it/connect_proxy.rs"]
mod connect_proxy;
mod exchange;
#[path = "../../../kube/tests/it/fake/mod.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "the tool's tests use a part of the API server"
)]
mod fake;
mod fake_clusters;
mod homes;
mod legacy;
mod output;
mod tool;
mod walk_through;
