//! Controllers against an API server in memory, and the same life of a peering on real
//! API servers.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    missing_docs,
    unreachable_pub,
    reason = "a test stops at the first thing that goes wrong"
)]

mod administrator;
mod applying;
mod clusters;
mod connect_proxy;
mod events;
mod exchange;
mod fake;
mod flood;
mod gone_for_good;
mod guard;
mod in_band;
mod interference;
mod least_rights;
mod life;
mod listing;
mod login;
mod many;
mod memory;
mod offloaded_rights;
mod offloading;
mod opening;
mod other_names;
mod provider_keys;
mod proxies;
mod real_clusters;
mod real_liqo;
mod remote_cluster;
mod replicating;
mod requests;
mod settings;
mod silent_servers;
mod store;
mod tenant_namespaces;
mod whole_life;
