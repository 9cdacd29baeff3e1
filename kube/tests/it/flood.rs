//! A peer that writes all the time.

use std::time::Duration;

use kube::api::{Patch, PatchParams};
use liqo_auth::model::Kind;
use serde_json::json;
use tokio::{
    task::{JoinSet, yield_now},
    time::{Instant, sleep},
};

use crate::{
    clusters::{id, names, provider_alone},
    fake::FakeApiServer,
    life::api,
    remote_cluster::tenant_namespace,
};

/// Without a bound, the provider looks at the peer whenever it has written.
#[tokio::test]
async fn a_peer_that_writes_all_the_time_is_looked_at_ten_times_a_second() {
    let milan = FakeApiServer::with_liqo("milan");
    milan.put(tenant_namespace("liqo-tenant-rome"));
    milan.put(json!({
        "apiVersion": "authentication.liqo.io/v1beta1",
        "kind": "Tenant",
        "metadata": { "name": "rome", "namespace": "liqo-tenant-rome" },
        "spec": { "clusterID": "rome" },
    }));
    let (handle, _running) = provider_alone(&milan, |builder| builder).await;
    let tenants = api(&milan.client(), Kind::Tenant, "liqo-tenant-rome");
    let before = handle.counts().looks;
    let begun = Instant::now();
    let mut written = 0_u64;
    while begun.elapsed() < Duration::from_secs(2) || handle.counts().looks - before < 64 {
        written += 1;
        let annotations = json!({ "written": written.to_string() });
        let patch = json!({ "metadata": { "annotations": annotations } });
        let patch = Patch::Merge(patch);
        let params = PatchParams::default();
        tenants.patch("rome", &params, &patch).await.unwrap();
        sleep(Duration::from_millis(2)).await;
    }
    // Orders for others are carried out meanwhile, and the peer's objects are still seen.
    handle.invite(&id("turin")).await.unwrap();
    let looks = handle.counts().looks - before;
    let expected = 64 + 10 * (begun.elapsed().as_secs() + 1) + 16;
    assert!(looks <= expected, "{looks} looks after {written} writes");
}

/// Prints how long another peer waits for the first write that its event causes, beside a peer
/// that writes all the time, and without it. Only a release build tells:
///
/// ```sh
/// cargo test --release -p liqo-auth-kube --test it flood -- --ignored --nocapture
/// ```
#[tokio::test(flavor = "multi_thread")]
#[ignore = "prints times"]
async fn another_peer_waits_for_its_first_write() {
    let milan = FakeApiServer::with_liqo("milan");
    let peers = |from: u32| (from..from + 100).map(|number| format!("peer{number}"));
    let all = [0, 100, 200].into_iter().flat_map(peers);
    for peer in all.chain([String::from("rome")]) {
        let mut namespace = tenant_namespace(&format!("liqo-tenant-{peer}"));
        namespace["metadata"]["labels"]["liqo.io/remote-cluster-id"] = json!(peer);
        milan.put(namespace);
    }
    let (_handle, _running) = provider_alone(&milan, |builder| builder).await;
    let quiet = first_writes(&milan, peers(0)).await;
    println!("without a flood: {quiet:?} at the median");
    for (number, writers) in [(1, 1), (2, 4)] {
        let mut floods = JoinSet::new();
        for writer in 0..writers {
            floods.spawn(flood(milan.clone(), format!("rome{writers}-{writer}")));
        }
        sleep(Duration::from_secs(1)).await;
        let (before, begun) = (milan.requests().len(), Instant::now());
        let flooded = first_writes(&milan, peers(number * 100)).await;
        let written = milan.requests().len() - before;
        println!(
            "{writers} writers, {} requests a second: {flooded:?}, {:.2} times as long",
            u128::try_from(written).unwrap() * 1000 / begun.elapsed().as_millis(),
            flooded.as_secs_f64() / quiet.as_secs_f64(),
        );
        floods.shutdown().await;
    }
}

/// The median time from the event of a peer to the first write that follows from it.
async fn first_writes(server: &FakeApiServer, peers: impl Iterator<Item = String>) -> Duration {
    let mut times = Vec::new();
    for peer in peers {
        let record = format!("liqo-auth-provider-{peer}");
        let begun = Instant::now();
        // Whoever makes an empty nonce invites the peer.
        server.put(json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": "liqo-nonce",
                "namespace": format!("liqo-tenant-{peer}"),
                "labels": { "liqo.io/nonce": "true", "liqo.io/remote-cluster-id": peer },
            },
        }));
        while !names(server, "secrets").contains(&record) {
            sleep(Duration::from_micros(200)).await;
        }
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    times[times.len() / 2]
}

/// Writes a Tenant of rome again and again.
async fn flood(server: FakeApiServer, name: String) {
    let tenants = api(&server.client(), Kind::Tenant, "liqo-tenant-rome");
    server.put(json!({
        "apiVersion": "authentication.liqo.io/v1beta1",
        "kind": "Tenant",
        "metadata": { "name": name, "namespace": "liqo-tenant-rome" },
        "spec": { "clusterID": "rome" },
    }));
    for written in 0_u64.. {
        let annotations = json!({ "written": written.to_string() });
        let patch = Patch::Merge(json!({ "metadata": { "annotations": annotations } }));
        let patched = tenants.patch(&name, &PatchParams::default(), &patch).await;
        patched.unwrap();
        // The server answers at once, and would leave no room for others.
        yield_now().await;
    }
}
