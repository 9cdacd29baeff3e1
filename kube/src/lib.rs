//! Both sides of Liqo's inter-cluster authentication on real clusters. This crate
//! drives the library [`liqo_auth`] with [kube-rs](kube).
//!
//! | item | use |
//! |---|---|
//! | [`Cluster`] | a cluster: its client, its ID, its keys, and the names of its users and groups |
//! | [`Controller`] | watches a cluster and runs the provider's side, the consumer's side, or both |
//! | [`Handle`] | gives the administrator's orders to a running controller |
//! | [`Transport`] | carries messages to the peer; [`Link`] carries them to another controller |
//! | [`RemoteCluster`] | carries messages through the peer's API server, as `liqoctl` does |
//! | [`ControllerBuilder::replicate`] | carries slices and renewals to the providers, as Liqo's crd-replicator does |
//! | [`config_of_identity`] | makes a client's configuration from a verified identity |
//! | [`client_within`] | makes a client that connects to allowed addresses only |
//! | [`config_of`], [`client_of`] | make a client from a kubeconfig, by the proxy that `kubectl` would use |
//! | [`resource`] | describes a kind of the library to kube-rs, for your own requests |
//! | [`list`], [`get`], [`answered`] | read the objects that a tool needs for one command |
//! | [`LimitsEnforcement`] | how strict the Quotas are that a controller makes for offloading |
//! | [`command_of`], [`sentence_of`] | the command of the tool that is a remedy, and a sentence with it |
//! | [`apply`] | sends one [`Effect`](liqo_auth::machine::Effect) to the API server |
//!
//! The library decides, and this crate does the I/O. Watches feed a
//! [`Mirror`](liqo_auth::machine::Mirror). Each look at a peer returns a
//! [`Step`](liqo_auth::machine::Step). The step's effects become API requests that
//! carry the observed `resourceVersion`. Another controller may run at the same
//! time: the slower of two writers gets a conflict and looks again.
//!
//! The controller lists only the objects that the library's watches select. It gets
//! each other Secret that it needs by name.
//!
//! # In a program
//! The program enables the version of Kubernetes in k8s-openapi, of which there can be only
//! one: the oldest that the program meets. This crate enables none, and does not build without.
//! A library that uses this crate enables a version in its dev-dependencies alone.
//!
//! ```toml
//! [dependencies]
//! k8s-openapi = { version = "0.29", default-features = false, features = ["v1_33"] }
//! liqo-auth = "0.1"
//! liqo-auth-kube = "0.1"
//! ```
//!
//! [`kube`] is kube-rs in the version of this crate's signatures. TLS is that of rustls, with the
//! cryptography of AWS-LC (the feature `aws-lc-rs`, the default) or of ring (`ring`).
#![allow(
    clippy::disallowed_methods,
    reason = "the driver has the clock, and the library has none"
)]

#[cfg(liqo_auth_cheap_signatures)]
compile_error!("liqo_auth_cheap_signatures makes signatures that everybody can forge");

mod apply;
mod bounded;
mod clock;
mod cluster;
mod controller;
mod error;
mod foreign_clusters;
mod identity;
mod in_band;
mod live;
mod object;
mod offloading;
mod proxy;
mod remedies;
mod tenant_namespaces;
mod transport;
mod watching;

pub use apply::{Applied, apply};
pub use clock::Clock;
pub use cluster::{Cluster, Opened, ProviderKeys};
pub use controller::{Controller, ControllerBuilder, Counts, Handle};
pub use error::Error;
pub use identity::config_of_identity;
pub use in_band::{InBandError, in_band_address, in_band_proxy};
pub use kube;
pub use live::{answered, follow, list};
pub use object::{find, get, resource};
pub use offloading::LimitsEnforcement;
pub use proxy::{Unreachable, client_of, client_within, config_of};
pub use remedies::{command_of, sentence_of};
pub use transport::{Link, RemoteCluster, Transport};

/// The README's example, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
