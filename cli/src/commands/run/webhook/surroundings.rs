//! The objects beside the one that is judged.

use std::collections::BTreeMap;

use anyhow::{Context, ensure};
use futures::{FutureExt, future::BoxFuture};
use kube::{
    Api, Client,
    api::{DynamicObject, ListParams},
};
use liqo_auth::model::{
    ClusterId, Kind, Namespace, NamespaceName, Object, Resource, ResourceSlice, RoleBinding,
    Secret, Tenant, names,
};
use liqo_auth_kube::{Handle, resource};

/// Finds the objects that a verdict depends on.
pub(crate) trait Surroundings: Send + Sync + 'static {
    fn namespace<'s>(&'s self, name: &'s str) -> Found<'s, Option<Namespace>>;

    /// Two Tenants of the same name, and one in the same namespace. More are not needed for a
    /// verdict, and a peer may make as many as it likes.
    fn tenants_beside<'s>(&'s self, tenant: &'s Tenant) -> Found<'s, Vec<Tenant>>;

    fn slices_named<'s>(&'s self, name: &'s str) -> Found<'s, Vec<ResourceSlice>>;

    /// The RoleBindings in a namespace.
    fn bindings<'s>(&'s self, namespace: &'s str) -> Found<'s, Vec<RoleBinding>>;

    /// The record of a peer, with the tokens that lift its condition: none unless the API server
    /// alone gets the answers.
    fn record<'s>(&'s self, _: &'s ClusterId) -> Found<'s, Option<Secret>> {
        async { Ok(None) }.boxed()
    }

    /// Has the consumer's side accept a slice as no slice of the provider: nothing unless the
    /// API server alone is heard.
    fn vouch<'s>(
        &'s self,
        _provider: &'s ClusterId,
        _before: Option<&'s Object>,
        _slice: &'s Object,
    ) -> Found<'s, ()> {
        async { Ok(()) }.boxed()
    }
}

pub(crate) type Found<'s, T> = BoxFuture<'s, anyhow::Result<T>>;

/// Asks the API server each time: what the controllers have seen may be older than the
/// change that is judged. Anybody who reaches the webhook may send a review, so a name from a
/// review gets into a path or a selector only if it can be a name.
pub(crate) struct OnCluster {
    pub(crate) client: Client,
    /// Where the provider's records are, if reviews come from the API server alone.
    pub(crate) records_in: Option<String>,
    /// The running controllers, under the same condition.
    pub(crate) controllers: Option<Handle>,
}

impl Surroundings for OnCluster {
    fn namespace<'s>(&'s self, name: &'s str) -> Found<'s, Option<Namespace>> {
        async move {
            let name = namespace_name(name)?;
            let api = Api::all_with(self.client.clone(), &resource(Kind::Namespace));
            let found = api.get_opt(name.as_str()).await;
            let found = found.context("the namespace")?;
            found.map(read).transpose()
        }
        .boxed()
    }

    fn tenants_beside<'s>(&'s self, tenant: &'s Tenant) -> Found<'s, Vec<Tenant>> {
        async move {
            let metadata = &tenant.metadata;
            let namespace = namespace_name(&metadata.namespace)?;
            let two = named(&metadata.name)?.limit(2);
            let named = self.list::<Tenant>(None, &two).await?;
            let one = ListParams::default().limit(1);
            let near = self.list(Some(&namespace), &one).await?;
            let all = named.into_iter().chain(near);
            let by_place = all.map(|tenant| (tenant.id(), tenant));
            Ok(by_place.collect::<BTreeMap<_, _>>().into_values().collect())
        }
        .boxed()
    }

    fn slices_named<'s>(&'s self, name: &'s str) -> Found<'s, Vec<ResourceSlice>> {
        async move { self.list(None, &named(name)?).await }.boxed()
    }

    fn bindings<'s>(&'s self, namespace: &'s str) -> Found<'s, Vec<RoleBinding>> {
        async move {
            let namespace = namespace_name(namespace)?;
            self.list(Some(&namespace), &ListParams::default()).await
        }
        .boxed()
    }

    fn record<'s>(&'s self, peer: &'s ClusterId) -> Found<'s, Option<Secret>> {
        async move {
            let Some(namespace) = &self.records_in else {
                return Ok(None);
            };
            let (client, secrets) = (self.client.clone(), resource(Kind::Secret));
            let api: Api<DynamicObject> = Api::namespaced_with(client, namespace, &secrets);
            let name = format!("{}{peer}", names::PROVIDER_RECORD_PREFIX);
            let found = api.get_opt(&name).await.context("the record of the peer")?;
            found.map(read).transpose()
        }
        .boxed()
    }

    fn vouch<'s>(
        &'s self,
        provider: &'s ClusterId,
        before: Option<&'s Object>,
        slice: &'s Object,
    ) -> Found<'s, ()> {
        async move {
            let Some(controllers) = &self.controllers else {
                return Ok(());
            };
            let vouched = controllers.vouch(provider, before, slice).await;
            vouched.context("the record of the slice")
        }
        .boxed()
    }
}

impl OnCluster {
    async fn list<K: Resource + Clone + Default>(
        &self,
        namespace: Option<&NamespaceName>,
        selected: &ListParams,
    ) -> anyhow::Result<Vec<K>> {
        let (client, resource) = (self.client.clone(), resource(K::KIND));
        let api: Api<DynamicObject> = match namespace {
            None => Api::all_with(client, &resource),
            Some(namespace) => Api::namespaced_with(client, namespace.as_str(), &resource),
        };
        let listed = api.list(selected).await;
        let listed = listed.with_context(|| format!("the list of {}s", K::KIND))?;
        listed.items.into_iter().map(read).collect()
    }
}

fn namespace_name(name: &str) -> anyhow::Result<NamespaceName> {
    name.parse().context("the namespace of the review")
}

/// Selects the objects with this name, which is as Kubernetes demands of the names of Tenants
/// and slices (RFC 1123).
fn named(name: &str) -> anyhow::Result<ListParams> {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let fits = |part: &str| {
        let bytes = part.as_bytes();
        let ends = [bytes.first(), bytes.last()];
        ends.iter()
            .all(|end| end.is_some_and(|byte| is_inner(*byte)))
            && bytes.iter().all(|byte| is_inner(*byte) || *byte == b'-')
    };
    ensure!(
        name.len() <= 253 && name.split('.').all(fits),
        "the name of the review cannot be the name of an object"
    );
    Ok(ListParams::default().fields(&format!("metadata.name={name}")))
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
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use http::{Request, Response};
    use kube::client::Body;
    use liqo_auth::crypto::BoxError;
    use serde_json::json;
    use tower::service_fn;

    use super::*;

    #[tokio::test]
    async fn a_name_that_is_none_gets_into_no_request() {
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = asked.clone();
        let service = service_fn(move |_: Request<Body>| {
            counted.fetch_add(1, Ordering::Relaxed);
            async { Err::<Response<Body>, BoxError>("asked".into()) }
        });
        let cluster = OnCluster {
            client: Client::new(service, "default"),
            records_in: None,
            controllers: None,
        };
        for name in ["", "..", "a/../../secrets", "a%2fb", "a?b", "a,b=c", "A"] {
            assert!(cluster.namespace(name).await.is_err(), "{name}");
            assert!(cluster.slices_named(name).await.is_err(), "{name}");
            assert!(cluster.bindings(name).await.is_err(), "{name}");
            let mut tenant = Tenant::default();
            "rome".clone_into(&mut tenant.metadata.name);
            name.clone_into(&mut tenant.metadata.namespace);
            assert!(cluster.tenants_beside(&tenant).await.is_err(), "{name}");
        }
        assert_eq!(asked.load(Ordering::Relaxed), 0);
        assert!(cluster.namespace("liqo-tenant-rome").await.is_err());
        assert_eq!(asked.load(Ordering::Relaxed), 1);
    }

    /// A cluster with a Tenant of that name elsewhere, one in the same namespace, a slice, and
    /// the record of `rome`.
    fn answered(asked: &str) -> serde_json::Value {
        let list = |items: serde_json::Value| json!({"metadata": {}, "items": items});
        let of_liqo = "/apis/authentication.liqo.io/v1beta1";
        match asked.strip_prefix(of_liqo).unwrap_or(asked) {
            "/tenants?&fieldSelector=metadata.name%3Drome&limit=2" => {
                list(json!([{"metadata": {"name": "rome", "namespace": "elsewhere"}}]))
            }
            "/namespaces/liqo-tenant-rome/tenants?&limit=1" => {
                list(json!([{"metadata": {"name": "near", "namespace": "liqo-tenant-rome"}}]))
            }
            "/resourceslices?&fieldSelector=metadata.name%3Dpool" => {
                list(json!([{"metadata": {"name": "pool", "namespace": "liqo-tenant-rome"}}]))
            }
            "/apis/rbac.authorization.k8s.io/v1/namespaces/liqo-tenant-rome/rolebindings?" => {
                let role = json!({"apiGroup": "", "kind": "ClusterRole", "name": "view"});
                list(json!([{"metadata": {"name": "binding"}, "roleRef": role}]))
            }
            "/api/v1/namespaces/liqo-tenant-rome" => {
                json!({"metadata": {"name": "liqo-tenant-rome"}})
            }
            "/api/v1/namespaces/liqo/secrets/liqo-auth-provider-rome" => {
                json!({"metadata": {"name": "liqo-auth-provider-rome"}, "data": {"record": "e30="}})
            }
            other => panic!("{other}"),
        }
    }

    #[tokio::test]
    async fn a_cluster_is_asked_for_what_a_verdict_needs() {
        let service = service_fn(|request: Request<Body>| async move {
            let asked = request.uri().path_and_query().map(|asked| asked.as_str());
            let answer = answered(asked.unwrap_or_default()).to_string();
            Ok::<_, BoxError>(Response::new(Body::from(answer.into_bytes())))
        });
        let cluster = OnCluster {
            client: Client::new(service, "default"),
            records_in: Some("liqo".to_owned()),
            controllers: None,
        };
        let namespace = cluster.namespace("liqo-tenant-rome").await.unwrap();
        assert_eq!(namespace.unwrap().metadata.name, "liqo-tenant-rome");
        let mut tenant = Tenant::default();
        "rome".clone_into(&mut tenant.metadata.name);
        "liqo-tenant-rome".clone_into(&mut tenant.metadata.namespace);
        let tenants = cluster.tenants_beside(&tenant).await.unwrap();
        let names = tenants.iter().map(|tenant| tenant.metadata.name.as_str());
        assert_eq!(names.collect::<Vec<_>>(), ["rome", "near"]);
        let slices = cluster.slices_named("pool").await.unwrap();
        assert_eq!(slices.len(), 1);
        assert_eq!(slices[0].metadata.name, "pool");
        let bindings = cluster.bindings("liqo-tenant-rome").await.unwrap();
        assert_eq!(
            (bindings.len(), bindings[0].role_ref.name.as_str()),
            (1, "view")
        );
        let record = cluster.record(&"rome".parse().unwrap()).await.unwrap();
        assert_eq!(record.unwrap().get("record"), Some(&b"{}"[..]));
    }

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
