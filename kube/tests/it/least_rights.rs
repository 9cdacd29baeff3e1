//! The rights in `deploy/`: they are enough for a life, and without any of them, something is
//! refused.

use std::{future::ready, panic::AssertUnwindSafe, time::Duration};

use futures::{FutureExt, StreamExt, stream};
use serde_json::json;
use tokio::time::{sleep, timeout};

use liqo_auth_kube::ControllerBuilder;

use crate::{
    clusters::{Configure, as_account},
    fake::{FakeApiServer, Rule},
    whole_life::{live, milan, rome},
};

#[tokio::test(start_paused = true)]
async fn the_granted_rights_are_enough_for_a_life() {
    let (rome, milan) = (
        rome().with_rights(of_manifests(&OF_CONSUMER)),
        milan().with_rights(of_manifests(&OF_PROVIDER)),
    );
    let life = live(rome.clone(), milan.clone(), as_account);
    timeout(LONGEST_LIFE, life).await.unwrap();
    assert_eq!(rome.forbidden(), []);
    assert_eq!(milan.forbidden(), []);
}

#[tokio::test(start_paused = true)]
async fn without_any_right_of_the_consumer_something_is_refused() {
    let needless = needless(&OF_CONSUMER, as_account, |rights| {
        let rome = rome().with_rights(rights);
        [rome.clone(), rome, milan()]
    });
    let needless = needless.await;
    assert!(needless.is_empty(), "nothing needs {needless:#?}");
}

#[tokio::test(start_paused = true)]
async fn without_any_right_of_the_provider_something_is_refused() {
    let needless = needless(&OF_PROVIDER, as_account, |rights| {
        let milan = milan().with_rights(rights);
        [milan.clone(), rome(), milan]
    });
    let needless = needless.await;
    assert!(needless.is_empty(), "nothing needs {needless:#?}");
}

#[tokio::test(start_paused = true)]
async fn with_one_watch_for_all_secrets_the_granted_rights_are_enough() {
    let of_side = |files: &[&str]| [of_manifests(files), of_manifests(&ALL_SECRETS)].concat();
    let (rome, milan) = (
        rome().with_rights(of_side(&OF_CONSUMER)),
        milan().with_rights(of_side(&OF_PROVIDER)),
    );
    let life = live(rome.clone(), milan.clone(), watching_all);
    timeout(LONGEST_LIFE, life).await.unwrap();
    for server in [rome, milan] {
        assert_eq!(server.forbidden(), []);
        let requests = server.requests();
        let watched = requests.iter().filter(|it| it.contains("watch=true"));
        let watched = watched.filter(|it| it.contains("/liqo-tenant-") && it.contains("/secrets"));
        assert_eq!(watched.count(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn one_watch_for_all_secrets_needs_its_further_rights() {
    for right in of_manifests(&ALL_SECRETS).iter().flat_map(Rule::pairs) {
        let others = of_manifests(&ALL_SECRETS).into_iter();
        let others = others.flat_map(|rule| rule.pairs());
        let others = others.filter(|it| it.to_string() != right.to_string());
        let rome = rome().with_rights([of_manifests(&OF_CONSUMER), others.collect()].concat());
        assert!(is_refused(&rome.clone(), rome, milan(), watching_all).await);
    }
}

fn watching_all(builder: ControllerBuilder) -> ControllerBuilder {
    as_account(builder).watch_all_secrets()
}

/// The rights of these manifests without which a life meets no refusal. A right is one verb on
/// one resource, or on one named object. `servers` makes the server that has the given rights
/// only, and then the servers of a life: rome and milan.
async fn needless(
    files: &[&str],
    configure: Configure,
    servers: impl Fn(Vec<Rule>) -> [FakeApiServer; 3],
) -> Vec<String> {
    let all: Vec<Rule> = of_manifests(files).iter().flat_map(Rule::pairs).collect();
    assert!(!all.is_empty());
    let lives = (0..all.len()).map(|index| {
        let mut others = all.clone();
        let right = others.remove(index);
        let [server, rome, milan] = servers(others);
        async move {
            let is_needed = is_refused(&server, rome, milan, configure).await;
            (!is_needed).then(|| right.to_string())
        }
    });
    let lives = stream::iter(lives).buffer_unordered(LIVES_AT_ONCE);
    lives.filter_map(ready).collect().await
}

/// Whether the server refuses something during a life, which ends then. The life may fail for
/// this reason.
async fn is_refused(
    server: &FakeApiServer,
    rome: FakeApiServer,
    milan: FakeApiServer,
    configure: Configure,
) -> bool {
    let life = AssertUnwindSafe(live(rome, milan, configure)).catch_unwind();
    let refused = async {
        while server.forbidden().is_empty() {
            sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::select! {
        _ = timeout(LONGEST_LIFE, life) => {}
        () = refused => {}
    }
    !server.forbidden().is_empty()
}

/// The rights of one side, with those of both.
pub fn of(file: &str) -> Vec<Rule> {
    of_manifests(&["both.yaml", "tenant.yaml", file])
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

fn of_manifests(files: &[&str]) -> Vec<Rule> {
    let files = files.iter();
    files.flat_map(|file| Rule::of_manifest(file)).collect()
}

const OF_CONSUMER: [&str; 5] = [
    "both.yaml",
    "tenant.yaml",
    "consumer.yaml",
    "offloading/consumer.yaml",
    "replicator/consumer.yaml",
];
const ALL_SECRETS: [&str; 1] = ["all-secrets/both.yaml"];
const OF_PROVIDER: [&str; 4] = [
    "both.yaml",
    "tenant.yaml",
    "provider.yaml",
    "offloading/provider.yaml",
];
/// Lives wait most of their time.
const LIVES_AT_ONCE: usize = 12;
const LONGEST_LIFE: Duration = Duration::from_secs(120);
