//! Many settled peers on a real API server: each has authenticated, with all its objects and
//! a certificate. `e2e/run many` then starts a controller on them.

use std::{collections::BTreeMap, env, sync::Arc, time::Duration};

use futures::{StreamExt, stream};
use getrandom::SysRng;
use kube::Client;
use liqo_auth::{
    Consumer, Machine, Provider,
    consumer::ConsumerConfig,
    crypto::{Algorithm, Authority, Entropy, KeyPair, OneKey},
    machine::{Env, Message, MessageBody, Objects, Step, View},
    model::{ClusterId, Kind, Object, ObjectRef},
    provider::{AuthoritySigner, NameTable, Phase},
};
use liqo_auth_kube::{Applied, Clock, Cluster, apply, list};

use crate::{
    clusters::{id, on_this_machine},
    login::Administered,
};

#[tokio::test]
#[ignore = "needs the clusters that e2e/run starts"]
async fn many_peers_authenticate() {
    let count: usize = env::var("LIQO_AUTH_PEERS").unwrap().parse().unwrap();
    let milan = Administered::by("LIQO_AUTH_MILAN").await;
    let cluster = Cluster::open(milan.client.clone()).await.unwrap();
    let environment = environment();
    let authority = Authority::new("milan-ca", environment.now, YEAR, &environment.entropy);
    let signer = AuthoritySigner::new(authority.unwrap(), environment.entropy);
    let provider = Provider::builder(cluster.id().clone(), milan.endpoint(), cluster.record_key())
        .key(cluster.key())
        .principals(Arc::new(NameTable::default()))
        .signer(Arc::new(signer))
        .build();
    let roles = roles(&milan.client, &provider).await;
    assert!(!roles.is_empty(), "Liqo's roles are missing");
    let peers = (0..count).map(|index| id(&format!("peer-{index}")));
    let authenticated = stream::iter(peers)
        .map(|peer| {
            let mut exchange = Exchange::new(&milan.client, &provider, peer, &roles);
            async move { exchange.authenticate().await }
        })
        .buffer_unordered(AT_ONCE)
        .count()
        .await;
    assert_eq!(authenticated, count);
}

/// One exchange: the provider's objects are on the API server, and the consumer's in memory.
struct Exchange<'a> {
    client: &'a Client,
    provider: &'a Provider,
    consumer: Consumer,
    at_provider: BTreeMap<ObjectRef, Object>,
    at_consumer: Objects,
}

impl<'a> Exchange<'a> {
    fn new(client: &'a Client, provider: &'a Provider, peer: ClusterId, roles: &[Object]) -> Self {
        let key = KeyPair::generate(Algorithm::Ed25519, &mut SysRng).unwrap();
        let keys = Arc::new(OneKey(Arc::new(key)));
        let roles = roles.iter().map(|role| (role.id(), role.clone()));
        Self {
            client,
            provider,
            consumer: Consumer::new(on_this_machine(ConsumerConfig::new(peer)), keys),
            at_provider: roles.collect(),
            at_consumer: Objects::new(&environment().entropy),
        }
    }

    async fn authenticate(&mut self) {
        let invited = self.provider.invite(&self.view(), environment()).unwrap();
        let mut outbox = self.write(invited).await;
        while !self.is_authenticated() {
            let mut answers = Vec::new();
            for body in outbox.drain(..) {
                answers.extend(self.ask_consumer(body));
            }
            for body in answers {
                let peer = self.consumer.cluster_id();
                let message = Message::new(peer, self.provider.cluster_id(), body);
                let view = self.view();
                let step = self.provider.receive(&view, message, environment());
                self.write(step.unwrap()).await;
            }
            let step = self.provider.reconcile(&self.view(), environment());
            outbox = self.write(step.unwrap()).await;
        }
        // The record of the certificate is written, and nothing is left to do.
        loop {
            let step = self.provider.reconcile(&self.view(), environment());
            let step = step.unwrap();
            if step.is_settled() {
                return;
            }
            self.write(step).await;
        }
    }

    fn view(&self) -> View<'_> {
        View::of(self.consumer.cluster_id(), self.at_provider.values())
    }

    fn is_authenticated(&self) -> bool {
        let status = self.provider.look(&self.view(), environment().now).unwrap();
        matches!(status.phase, Phase::Authenticated(_))
    }

    /// Writes the effects of the provider's step. Returns its messages.
    async fn write(&mut self, step: Step) -> Vec<MessageBody> {
        for effect in &step.effects {
            match apply(self.client, effect).await.unwrap() {
                Applied::Written(object) => {
                    self.at_provider.insert(object.id(), *object);
                }
                Applied::Deleted => {
                    self.at_provider.remove(&effect.id());
                }
                other => panic!("{}: {other:?}", effect.id()),
            }
        }
        step.outbox
            .into_iter()
            .map(|message| message.body)
            .collect()
    }

    /// Gives the consumer a message. Returns its answers.
    fn ask_consumer(&mut self, body: MessageBody) -> Vec<MessageBody> {
        let provider = self.provider.cluster_id();
        let message = Message::new(provider, self.consumer.cluster_id(), body);
        let view = self.at_consumer.view(provider);
        let mut step = self
            .consumer
            .receive(&view, message, environment())
            .unwrap();
        loop {
            for effect in &step.effects {
                self.at_consumer.apply(effect).unwrap();
            }
            if step.is_settled() {
                return step.outbox.into_iter().map(|it| it.body).collect();
            }
            let view = self.at_consumer.view(provider);
            step = self.consumer.reconcile(&view, environment()).unwrap();
        }
    }
}

/// The roles that Liqo has for peers.
async fn roles(client: &Client, provider: &Provider) -> Vec<Object> {
    let mut watches = provider.watches();
    watches.retain(|watch| watch.kind == Kind::ClusterRole);
    list(client, watches).await.unwrap()
}

fn environment() -> Env {
    Env {
        now: Clock::default().now().unwrap(),
        entropy: Entropy::draw(&mut SysRng).unwrap(),
    }
}

const YEAR: Duration = Duration::from_secs(31_536_000);
/// The number of exchanges that go on at the same time.
const AT_ONCE: usize = 16;
