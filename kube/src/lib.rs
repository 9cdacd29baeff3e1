//! Both sides of Liqo's inter-cluster authentication on real clusters: the
//! library [`liqo_auth`] driven by [kube-rs](kube).
//!
//! | item | use |
//! |---|---|
//! | [`Cluster`] | a cluster: its client, its ID, its keys, and the names that are taken in it |
//! | [`Controller`] | watches a cluster and runs the provider's side, the consumer's side, or both |
//! | [`Handle`] | gives the administrator's orders to a running controller |
//! | [`Transport`] | carries messages to the peer; [`Link`] carries them to another controller |
//! | [`RemoteCluster`] | carries messages by the peer's API server, as `liqoctl` does |
//! | [`resource`] | a kind of the library, for requests of your own by kube-rs |
//! | [`list`], [`get`], [`answered`] | read what a tool needs for one command |
//! | [`apply`] | sends one [`Effect`](liqo_auth::machine::Effect) to the API server |
//!
//! The library decides, and this crate does the input and output: watches feed a
//! [`Mirror`](liqo_auth::machine::Mirror), each look at a peer gives a
//! [`Step`](liqo_auth::machine::Step), and its effects become API requests that
//! name the version which was seen. Another controller may run at the same time:
//! the slower of two writers gets a conflict and looks again.
//!
//! The controller lists nothing but what the library's watches select. It gets other
//! Secrets only by a name that it needs itself.
#![allow(
    clippy::disallowed_methods,
    reason = "the driver has the clock, which the library has not"
)]

mod apply;
mod clock;
mod cluster;
mod controller;
mod error;
mod live;
mod object;
mod transport;
mod watching;

pub use apply::{Applied, apply};
pub use clock::Clock;
pub use cluster::Cluster;
pub use controller::{Controller, ControllerBuilder, Counts, Handle};
pub use error::Error;
pub use live::{answered, list};
pub use object::{get, resource};
pub use transport::{Link, RemoteCluster, Transport};

/// The README's example, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
