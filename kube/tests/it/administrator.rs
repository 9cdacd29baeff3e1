//! The administrator of a cluster, who gives the orders of an exchange and carries its
//! messages, as `liqo-auth authenticate` does. The cluster's controllers do the rest.

use std::time::Duration;

use getrandom::SysRng;
use kube::Client;
use liqo_auth::{
    Env, Machine, Step, View,
    crypto::Entropy,
    error::Error,
    machine::{Effect, Message, Mirror, Watch},
    model::ClusterId,
};
use liqo_auth_kube::{Applied, Clock, Cluster, apply, list};
use tokio::time::sleep;

/// An administrator of a cluster. `side` makes the consumer or the provider.
pub struct Administrator<M> {
    client: Client,
    side: Box<dyn Fn(&Cluster) -> M>,
}

impl<M: Machine> Administrator<M> {
    pub fn new(client: Client, side: impl Fn(&Cluster) -> M + 'static) -> Self {
        let side = Box::new(side);
        Self { client, side }
    }

    /// Carries out a call of the library. If a controller has changed an object first, the
    /// call is repeated.
    pub async fn order(
        &self,
        peer: &ClusterId,
        call: impl Fn(&M, &View<'_>, Env) -> Result<Step, Error>,
    ) {
        self.carry_out(peer, call, usize::MAX).await;
    }

    /// Carries out the first effect of a call, as a tool that is killed then. The
    /// controllers do the rest.
    pub async fn begin(
        &self,
        peer: &ClusterId,
        call: impl Fn(&M, &View<'_>, Env) -> Result<Step, Error>,
    ) {
        self.carry_out(peer, call, 1).await;
    }

    async fn carry_out(
        &self,
        peer: &ClusterId,
        call: impl Fn(&M, &View<'_>, Env) -> Result<Step, Error>,
        most_effects: usize,
    ) {
        for _ in 0..MOST_ATTEMPTS {
            let (side, mirror) = self.look().await;
            let step = call(&side, &mirror.view(peer).unwrap(), env()).unwrap();
            let effects = step.effects.iter().take(most_effects);
            if self.applies(effects).await {
                return;
            }
            sleep(SHORTLY).await;
        }
        panic!("other writers keep changing the same object");
    }

    /// Takes a message of the peer.
    pub async fn receive(&self, peer: &ClusterId, message: &Message) {
        self.order(peer, |side, view, env| {
            side.receive(view, message.clone(), env)
        })
        .await;
    }

    /// The message of this name for the peer, as soon as the controllers have prepared it.
    pub async fn message(&self, peer: &ClusterId, name: &str) -> Message {
        for _ in 0..MOST_ATTEMPTS {
            let (side, mirror) = self.look().await;
            let step = side.reconcile(&mirror.view(peer).unwrap(), env()).unwrap();
            if step.is_settled() {
                let mut outbox = step.outbox.into_iter();
                if let Some(message) = outbox.find(|message| message.body.name() == name) {
                    return message;
                }
            }
            sleep(SHORTLY).await;
        }
        panic!("there is no {name} for {peer}");
    }

    /// The side, and all objects that it knows of.
    async fn look(&self) -> (M, Mirror) {
        let cluster = Cluster::open(self.client.clone()).await.unwrap();
        let side = (self.side)(&cluster);
        let mirror = Mirror::new(side.watches());
        let mut mirror = mirror.with_follower(cluster.principals());
        let watches: Vec<Watch> = mirror.watches().cloned().collect();
        for watch in watches {
            let listed = list(&self.client, [watch.clone()]).await.unwrap();
            mirror.relist(&watch, listed).unwrap();
        }
        (side, mirror)
    }

    /// Applies effects, up to the first conflict with another writer.
    async fn applies<'e>(&self, effects: impl Iterator<Item = &'e Effect>) -> bool {
        for effect in effects {
            match apply(&self.client, effect).await.unwrap() {
                Applied::Written(_) | Applied::Deleted => {}
                _ => return false,
            }
        }
        true
    }
}

fn env() -> Env {
    Env {
        now: Clock::default().now().unwrap(),
        entropy: Entropy::draw(&mut SysRng).unwrap(),
    }
}

/// Half a minute of attempts.
const MOST_ATTEMPTS: usize = 600;
const SHORTLY: Duration = Duration::from_millis(50);
