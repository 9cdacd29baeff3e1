//! A peer that writes all the time.

use std::time::Duration;

use kube::api::{Patch, PatchParams};
use liqo_auth::model::Kind;
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::{
    clusters::{id, provider_alone},
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
