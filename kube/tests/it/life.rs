//! The life of a peering, on API servers in memory or on real ones: all that the tests
//! know, they read by a client.

use std::time::Duration;

use kube::{
    Api, Client,
    api::{DeleteParams, DynamicObject, ListParams},
};
use liqo_auth::model::Kind;
use liqo_auth_kube::{Handle, resource};

use crate::clusters::{authenticated, id};

pub struct Life<'a> {
    pub consumer: &'a Handle,
    pub provider: &'a Handle,
    pub rome: &'a Client,
    pub milan: &'a Client,
}

impl Life<'_> {
    /// The provider invites the consumer, which gets one certificate and a kubeconfig.
    pub async fn begin(&self) {
        self.provider.invite(&id("rome")).await.unwrap();
        authenticated(self.consumer, self.provider).await;
        assert_eq!(bindings_of_rome(self.milan).await.len(), 1);
        assert_eq!(self.kubeconfigs().await.len(), 1);
        assert_eq!(self.provider.peers(), [id("rome")]);
        assert_eq!(self.consumer.peers(), [id("milan")]);
    }

    /// Somebody deletes the peer's RoleBinding: it is made again.
    pub async fn lose_a_binding(&self) {
        let [lost] = &bindings_of_rome(self.milan).await[..] else {
            panic!("not one binding");
        };
        let name = lost.metadata.name.as_deref().unwrap();
        api(self.milan, Kind::RoleBinding, "liqo-tenant-rome")
            .delete(name, &DeleteParams::default())
            .await
            .unwrap();
        until("the binding is there again", async || {
            let there = bindings_of_rome(self.milan).await;
            there.len() == 1 && there[0].metadata.uid != lost.metadata.uid
        })
        .await;
    }

    /// Both sides end the peering: neither rights nor the kubeconfig are left.
    pub async fn end(&self) {
        self.provider.end(&id("rome")).await.unwrap();
        until("the Tenant is gone", async || {
            names(self.milan, Kind::Tenant, "liqo-tenant-rome")
                .await
                .is_empty()
        })
        .await;
        // The Tenant goes last.
        assert_eq!(bindings_of_rome(self.milan).await, []);
        self.consumer.unauthenticate(&id("milan")).await.unwrap();
        until("the kubeconfig is gone", async || {
            self.kubeconfigs().await.is_empty()
        })
        .await;
    }

    /// The names of the kubeconfigs at the consumer.
    pub async fn kubeconfigs(&self) -> Vec<String> {
        let mut secrets = names(self.rome, Kind::Secret, "liqo-tenant-milan").await;
        secrets.retain(|name| name.starts_with("kubeconfig-"));
        secrets
    }
}

pub fn api(client: &Client, kind: Kind, namespace: &str) -> Api<DynamicObject> {
    Api::namespaced_with(client.clone(), namespace, &resource(kind))
}

/// The bindings of the peer rome. The account of the controllers may have its own.
async fn bindings_of_rome(milan: &Client) -> Vec<DynamicObject> {
    let mut bindings = items(&api(milan, Kind::RoleBinding, "liqo-tenant-rome")).await;
    bindings.retain(|binding| binding.metadata.name.as_deref() != Some("liqo-auth"));
    bindings
}

async fn items(api: &Api<DynamicObject>) -> Vec<DynamicObject> {
    api.list(&ListParams::default()).await.unwrap().items
}

async fn names(client: &Client, kind: Kind, namespace: &str) -> Vec<String> {
    let items = items(&api(client, kind, namespace)).await;
    items
        .into_iter()
        .filter_map(|item| item.metadata.name)
        .collect()
}

/// Waits for a condition, for half a minute at most.
pub async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    for _ in 0..600 {
        if holds().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("not seen within half a minute: {what}");
}
