//! A consumer whose private key stays in another program, such as a KMS or a hardware
//! module. The kubeconfigs name a program that signs with that key.
//!
//! ```sh
//! cargo run -p liqo-auth-kube --example consumer_key_elsewhere
//! ```
//!
//! The cluster is that of the current kubeconfig. Stop the program with Ctrl-C.

use std::sync::Arc;

use liqo_auth::{
    consumer::{Consumer, ConsumerConfig},
    crypto::{
        Algorithm, Answer, BoxError, ClientKey, KeyPair, OneKey, Payload, PublicKey, Signature,
        SigningKey,
    },
    model::ExecCredential,
};
use liqo_auth_kube::{Cluster, Controller};

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let cluster = Cluster::open(kube::Client::try_default().await?).await?;
    let key = RemoteKey::new()?;
    println!(
        "{} signs with {}",
        cluster.id(),
        key.public_key().fingerprint()
    );
    let config = ConsumerConfig::new(cluster.id().clone());
    let consumer = Consumer::new(config, Arc::new(OneKey(Arc::new(key))));

    let (controller, handle) = Controller::builder(&cluster).consumer(consumer).build();
    let running = tokio::spawn(controller.run(async {
        let _ = tokio::signal::ctrl_c().await;
    }));
    handle.synchronized().await;
    for peer in handle.peers() {
        for status in handle.status(&peer)? {
            println!("{peer}: {}", status.control_plane.phase);
        }
    }
    Ok(running.await?)
}

/// A key in another program. Here a key pair stands for that program, so that the
/// example runs.
#[derive(Debug)]
struct RemoteKey {
    program: KeyPair,
    login: ClientKey,
}

impl RemoteKey {
    fn new() -> Result<Self, BoxError> {
        Ok(Self {
            program: KeyPair::generate(Algorithm::Ed25519, &mut getrandom::SysRng)?,
            login: ClientKey::Exec(ExecCredential {
                api_version: "client.authentication.k8s.io/v1".to_owned(),
                command: "kubectl-kms-login".to_owned(),
                args: Vec::new(),
                env: Vec::new(),
            }),
        })
    }
}

impl SigningKey for RemoteKey {
    fn public_key(&self) -> &PublicKey {
        self.program.public_key()
    }

    /// A program that answers later returns [`Answer::Pending`], and the controller
    /// asks again.
    fn sign(&self, payload: &Payload<'_>) -> Result<Answer<Signature>, BoxError> {
        self.program.sign(payload)
    }

    fn client_key(&self) -> ClientKey {
        self.login.clone()
    }
}
