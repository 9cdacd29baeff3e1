//! The rights in `deploy/`: they are enough for a life, and without any of the rules,
//! something is refused.

use std::{panic::AssertUnwindSafe, time::Duration};

use futures::{FutureExt, StreamExt, future::join_all};
use liqo_auth::model::{Kind, ObjectRef};
use liqo_auth_kube::follow;
use tokio::time::timeout;

use crate::{
    clusters::Clusters,
    fake::{FakeApiServer, Rule},
    life::Life,
};

#[tokio::test]
async fn the_granted_rights_are_enough_for_a_life() {
    let rome = FakeApiServer::with_liqo("rome").with_rights(of("consumer.yaml"));
    let milan = FakeApiServer::with_liqo("milan").with_rights(of("provider.yaml"));
    let life = timeout(Duration::from_secs(60), lived(rome, milan));
    let clusters = life.await.unwrap();
    assert_eq!(clusters.rome.forbidden(), []);
    assert_eq!(clusters.milan.forbidden(), []);
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
    let life = AssertUnwindSafe(lived(rome, milan)).catch_unwind();
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

/// A whole life of a peering.
async fn lived(rome: FakeApiServer, milan: FakeApiServer) -> Clusters {
    let clusters = Clusters::start_on(rome, milan).await;
    // An administrator looks at the life.
    let rome = clusters.rome.administrator().client();
    let milan = clusters.milan.administrator().client();
    let life = Life {
        consumer: &clusters.consumer,
        provider: &clusters.provider,
        rome: &rome,
        milan: &milan,
    };
    life.begin().await;
    life.lose_a_binding().await;
    life.end().await;
    life.begin().await;
    reads_settings(&clusters.rome).await;
    reads_settings(&clusters.milan).await;
    clusters
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

/// Each rule, with all others.
fn without_each(file: &str) -> impl Iterator<Item = (Rule, Vec<Rule>)> {
    let all = of(file);
    (0..all.len()).map(move |index| {
        let mut others = all.clone();
        (others.remove(index), others)
    })
}
