//! The life of a peering on real API servers, which `e2e/run` starts.

use liqo_auth::model::Kind;
use tokio::task::JoinSet;

use crate::{
    clusters::controllers,
    life::Life,
    login::{Administered, may_list, whoami},
};

#[tokio::test]
#[ignore = "needs the clusters that e2e/run starts"]
async fn a_life_on_real_api_servers() {
    let rome = Administered::by("LIQO_AUTH_ROME").await;
    let milan = Administered::by("LIQO_AUTH_MILAN").await;
    let mut running = JoinSet::new();
    let (consumer, provider) = controllers(
        rome.client.clone(),
        milan.client.clone(),
        &milan.endpoint(),
        &mut running,
    )
    .await;
    let life = Life {
        consumer: &consumer,
        provider: &provider,
        rome: &rome.client,
        milan: &milan.client,
    };

    life.begin().await;
    let kubeconfig = life.kubeconfigs().await.remove(0);
    let peer = rome.log_in("liqo-tenant-milan", &kubeconfig).await;
    assert_eq!(whoami(&peer).await, "rome");
    assert!(may_list(&peer, Kind::ResourceSlice, "liqo-tenant-rome").await);
    assert!(!may_list(&peer, Kind::Secret, "liqo").await);

    life.lose_a_binding().await;
    assert!(may_list(&peer, Kind::ResourceSlice, "liqo-tenant-rome").await);

    life.end().await;
    assert!(!may_list(&peer, Kind::ResourceSlice, "liqo-tenant-rome").await);

    life.begin().await;
    let kubeconfig = life.kubeconfigs().await.remove(0);
    let peer = rome.log_in("liqo-tenant-milan", &kubeconfig).await;
    assert_eq!(whoami(&peer).await, "rome");
}
