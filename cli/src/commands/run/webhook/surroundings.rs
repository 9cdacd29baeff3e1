//! The objects beside the one that is judged.

use std::collections::BTreeMap;

use anyhow::Context;
use futures::{FutureExt, future::BoxFuture};
use kube::{
    Api, Client,
    api::{DynamicObject, ListParams},
};
use liqo_auth::model::{Kind, Namespace, Object, Resource, ResourceSlice, Tenant};
use liqo_auth_kube::resource;

/// Finds the objects that a verdict depends on.
pub(crate) trait Surroundings: Send + Sync + 'static {
    fn namespace<'s>(&'s self, name: &'s str) -> Found<'s, Option<Namespace>>;

    /// The Tenants of the same name, and those in the same namespace.
    fn tenants_beside<'s>(&'s self, tenant: &'s Tenant) -> Found<'s, Vec<Tenant>>;

    fn slices_named<'s>(&'s self, name: &'s str) -> Found<'s, Vec<ResourceSlice>>;
}

pub(crate) type Found<'s, T> = BoxFuture<'s, anyhow::Result<T>>;

/// Asks the API server each time: what the controllers have seen may be older than the
/// change that is judged.
pub(crate) struct OnCluster(pub(crate) Client);

impl Surroundings for OnCluster {
    fn namespace<'s>(&'s self, name: &'s str) -> Found<'s, Option<Namespace>> {
        async move {
            let api = self.api(Kind::Namespace, "");
            let found = api.get_opt(name).await.context("the namespace")?;
            found.map(read).transpose()
        }
        .boxed()
    }

    fn tenants_beside<'s>(&'s self, tenant: &'s Tenant) -> Found<'s, Vec<Tenant>> {
        async move {
            let metadata = &tenant.metadata;
            let named = self.list::<Tenant>("", &named(&metadata.name)).await?;
            let all = ListParams::default();
            let near = self.list(&metadata.namespace, &all);
            let all = named.into_iter().chain(near.await?);
            let by_place = all.map(|tenant| (tenant.id(), tenant));
            Ok(by_place.collect::<BTreeMap<_, _>>().into_values().collect())
        }
        .boxed()
    }

    fn slices_named<'s>(&'s self, name: &'s str) -> Found<'s, Vec<ResourceSlice>> {
        async move { self.list("", &named(name)).await }.boxed()
    }
}

impl OnCluster {
    async fn list<K: Resource + Clone + Default>(
        &self,
        namespace: &str,
        selected: &ListParams,
    ) -> anyhow::Result<Vec<K>> {
        let listed = self.api(K::KIND, namespace).list(selected).await;
        let listed = listed.with_context(|| format!("the list of {}s", K::KIND))?;
        listed.items.into_iter().map(read).collect()
    }

    fn api(&self, kind: Kind, namespace: &str) -> Api<DynamicObject> {
        let resource = resource(kind);
        match namespace {
            "" => Api::all_with(self.0.clone(), &resource),
            namespace => Api::namespaced_with(self.0.clone(), namespace, &resource),
        }
    }
}

fn named(name: &str) -> ListParams {
    ListParams::default().fields(&format!("metadata.name={name}"))
}

/// The items of a list have no kind. An object that cannot be read counts with its metadata:
/// it has a name, and does not hold up others.
fn read<K: Resource + Clone + Default>(mut found: DynamicObject) -> anyhow::Result<K> {
    found.metadata.managed_fields = None;
    found.types = Some(kube::core::TypeMeta {
        api_version: K::KIND.api_version().to_owned(),
        kind: K::KIND.as_str().to_owned(),
    });
    let value = serde_json::to_value(found).context("an object of the cluster")?;
    let object = Object::from_value(value);
    if let Some(readable) = K::from_object(&object) {
        return Ok(readable.clone());
    }
    let mut known = K::default();
    if let Some(unreadable) = object.as_unreadable() {
        *known.metadata_mut() = (*unreadable.metadata).clone();
    }
    Ok(known)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_unreadable_object_keeps_its_name() {
        let pool: Vec<u32> = (0..3000).collect();
        let found = json!({
            "metadata": {"name": "pool", "namespace": "n", "labels": {"liqo.io/replication": "true"}},
            "spec": {"padding": pool},
        });
        let slice: ResourceSlice = read(serde_json::from_value(found).unwrap()).unwrap();
        assert_eq!(slice.metadata.name, "pool");
        assert_eq!(
            slice.metadata.labels.get("liqo.io/replication").unwrap(),
            "true"
        );
    }
}
