//! A provider whose certificates are signed by Kubernetes' own signer.
//!
//! ```sh
//! cargo run -p liqo-auth-kube --example provider -- \
//!     https://api.milan.example:6443 ca.pem cl-consumer
//! ```
//!
//! The cluster is that of the current kubeconfig. Its CA is in `ca.pem`. The cluster
//! `cl-consumer` is invited. Stop the program with Ctrl-C.
#![allow(
    clippy::disallowed_methods,
    reason = "a program has arguments and files"
)]

use std::{env, error::Error, fs};

use liqo_auth::{
    crypto::CaBundle,
    policy::Policy,
    provider::{Endpoint, Provider},
};
use liqo_auth_kube::{Cluster, Controller};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [api_server, ca, peer] = arguments.as_slice() else {
        return Err("usage: provider API-SERVER CA-FILE CLUSTER-ID".into());
    };
    let ca = CaBundle::from_pem(&fs::read(ca)?, &Policy::strict())?;
    let endpoint = Endpoint::new(api_server.parse()?, Some(&ca));

    let cluster = Cluster::open(kube::Client::try_default().await?).await?;
    let provider = Provider::builder(cluster.id().clone(), endpoint, cluster.record_key())
        .key(cluster.key())
        .principals(cluster.principals())
        .configure(|config| config.kubernetes_signer = true)
        .build();

    let (controller, handle) = Controller::builder(&cluster).provider(provider).build();
    let running = tokio::spawn(controller.run(async {
        let _ = tokio::signal::ctrl_c().await;
    }));
    handle.synchronized().await;
    let peer = peer.parse()?;
    handle.invite(&peer).await?;
    for status in handle.status(&peer)? {
        println!("{peer}: {}", status.control_plane.phase);
    }
    Ok(running.await?)
}
