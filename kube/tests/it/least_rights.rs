//! The rights in `deploy/`: they are enough for a life, and without any of the rules,
//! something is refused.

use std::{panic::AssertUnwindSafe, time::Duration};

use futures::{
    FutureExt, StreamExt,
    future::{join_all, pending},
};
use liqo_auth::{
    Consumer, Provider,
    model::{Kind, ObjectRef},
};
use liqo_auth_kube::{Cluster, Controller, follow};
use serde_json::json;
use tokio::{task::JoinSet, time::timeout};

use crate::{
    administrator::Administrator,
    clusters::{authenticated, consumer_of, id, names, provider_of, signer},
    fake::{FakeApiServer, Rule},
    life::{Life, until},
};

#[tokio::test]
async fn the_granted_rights_are_enough_for_a_life() {
    let rome = FakeApiServer::with_liqo("rome").with_rights(of("consumer.yaml"));
    let milan = FakeApiServer::with_liqo("milan").with_rights(of("provider.yaml"));
    let life = timeout(Duration::from_secs(60), live(rome.clone(), milan.clone()));
    life.await.unwrap();
    assert_eq!(rome.forbidden(), []);
    assert_eq!(milan.forbidden(), []);
}

#[tokio::test]
async fn without_any_of_the_rules_something_is_refused() {
    let consumers = without_each("consumer.yaml");
    let providers = without_each("provider.yaml");
    let at_rome = consumers.map(async |(rule, rules)| {
        let rome = FakeApiServer::with_liqo("rome").with_rights(rules);
        refuses(
            &rule,
            &rome.clone(),
            rome,
            FakeApiServer::with_liqo("milan"),
        )
        .await;
    });
    join_all(at_rome).await;
    let at_milan = providers.map(async |(rule, rules)| {
        let milan = FakeApiServer::with_liqo("milan").with_rights(rules);
        refuses(
            &rule,
            &milan.clone(),
            FakeApiServer::with_liqo("rome"),
            milan,
        )
        .await;
    });
    join_all(at_milan).await;
}

/// Runs a life until a right is missing. The life may fail for this reason.
async fn refuses(rule: &Rule, server: &FakeApiServer, rome: FakeApiServer, milan: FakeApiServer) {
    let life = AssertUnwindSafe(live(rome, milan)).catch_unwind();
    let refused = async {
        while server.forbidden().is_empty() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::select! {
        _ = timeout(Duration::from_secs(60), life) => {}
        () = refused => {}
    }
    assert!(!server.forbidden().is_empty(), "nothing needs {rule}");
}

/// A whole life of a peering, as after an installation: the controllers have the rights of
/// the servers' rules, and deliver no messages.
async fn live(rome: FakeApiServer, milan: FakeApiServer) {
    let mut running = JoinSet::new();
    let endpoint = signer(&milan, &mut running);
    let cluster = Cluster::open(rome.client()).await.unwrap();
    let (controller, consumer) = Controller::builder(&cluster)
        .consumer(consumer_of(&cluster))
        .build();
    running.spawn(controller.run(pending()));
    let cluster = Cluster::open(milan.client()).await.unwrap();
    let (controller, provider) = Controller::builder(&cluster)
        .provider(provider_of(&cluster, &endpoint))
        .build();
    running.spawn(controller.run(pending()));
    consumer.synchronized().await;
    provider.synchronized().await;

    let (at_rome, at_milan) = (rome.administrator(), milan.administrator());
    let administrators = Administrators {
        rome: Administrator::new(at_rome.client(), consumer_of),
        milan: Administrator::new(at_milan.client(), move |cluster| {
            provider_of(cluster, &endpoint)
        }),
    };
    administrators.authenticate().await;
    authenticated(&consumer, &provider).await;
    let life = Life {
        consumer: &consumer,
        provider: &provider,
        rome: &at_rome.client(),
        milan: &at_milan.client(),
    };
    life.lose_a_binding().await;
    administrators.end(&rome, &milan).await;
    administrators.authenticate().await;
    authenticated(&consumer, &provider).await;
    reads_settings(&rome).await;
    reads_settings(&milan).await;
}

/// The administrators of both clusters.
struct Administrators {
    rome: Administrator<Consumer>,
    milan: Administrator<Provider>,
}

impl Administrators {
    /// As `liqo-auth authenticate` does it.
    async fn authenticate(&self) {
        let (rome, milan) = (id("rome"), id("milan"));
        self.milan
            .order(&rome, |provider, view, env| provider.invite(view, env))
            .await;
        let nonce = self.milan.message(&rome, "nonce").await;
        self.rome.receive(&milan, &nonce).await;
        let tenant = self.rome.message(&milan, "Tenant").await;
        self.milan.receive(&rome, &tenant).await;
        let identity = self.milan.message(&rome, "Identity").await;
        self.rome.receive(&milan, &identity).await;
    }

    /// As `liqo-auth unauthenticate` does it. The provider's controller withdraws the rights.
    async fn end(&self, at_rome: &FakeApiServer, at_milan: &FakeApiServer) {
        self.milan
            .order(&id("rome"), |provider, view, _| provider.end(view))
            .await;
        until("the Tenant is gone", async || {
            names(at_milan, "tenants").is_empty()
        })
        .await;
        assert!(names(at_milan, "rolebindings").is_empty());
        self.rome
            .order(&id("milan"), |consumer, view, _| {
                consumer.unauthenticate(view)
            })
            .await;
        until("the Identity is gone", async || {
            names(at_rome, "identities").is_empty()
        })
        .await;
    }
}

/// As `liqo-auth run` follows its settings.
async fn reads_settings(server: &FakeApiServer) {
    let settings = ObjectRef::new(Kind::ConfigMap, "liqo", "liqo-auth-settings");
    let mut settings = follow(&server.client(), &settings);
    assert!(settings.next().await.unwrap().is_none());
    // The watch begins when the next state is waited for.
    let second = timeout(Duration::from_millis(100), settings.next()).await;
    assert!(second.is_err());
}

/// The rights of one side, with those of both.
pub fn of(file: &str) -> Vec<Rule> {
    let rules = [Rule::of_manifest("both.yaml"), Rule::of_manifest(file)].concat();
    // Events are no resource of this server; `events` tests them.
    rules
        .into_iter()
        .filter(|rule| !rule.is_for("events"))
        .collect()
}

/// The rights of one side that also offloads or replicates, with those that orders and
/// arriving messages need.
pub fn with(further: &str, file: &str) -> Vec<Rule> {
    let ordered = json!({
        "kind": "ClusterRole",
        "rules": [
            { "apiGroups": [""], "resources": ["namespaces"], "verbs": ["create", "get"] },
            {
                "apiGroups": ["authentication.liqo.io"],
                "resources": ["resourceslices", "tenants"],
                "verbs": ["create", "delete", "get"],
            },
        ],
    });
    let further = Rule::of_manifest(&format!("{further}/{file}"));
    [of(file), further, Rule::of_role(&ordered)].concat()
}

/// Each rule, with all others.
fn without_each(file: &str) -> impl Iterator<Item = (Rule, Vec<Rule>)> {
    let all = of(file);
    (0..all.len()).map(move |index| {
        let mut others = all.clone();
        (others.remove(index), others)
    })
}
