//! Tenants that a peer writes in its own tenant namespace under another peer's name.

use liqo_auth::{
    Machine, View,
    model::{Kind, Metadata, Namespace, Object, ObjectRef, Tenant, names},
};

use crate::clusters::{exchange::id, pool::Pool};

/// The objects of a provider's peer, looked up as `interests` says.
fn seen(pool: &Pool) -> View<'_> {
    let interests = pool.provider.interests(&id("cl-consumer"));
    let is_seen = |object: &&Object| interests.iter().any(|it| it.matches(object));
    View::of(&id("cl-consumer"), pool.at_provider.iter().filter(is_seen))
}

/// The tenant namespace of another peer, which may have any name.
fn namespace_of_other(name: &str) -> Object {
    let mut namespace = Namespace::for_tenant(&id("cl-other"));
    name.clone_into(&mut namespace.metadata.name);
    namespace.into()
}

fn tenant(namespace: &str) -> Object {
    let labels = [(names::REMOTE_CLUSTER_ID_LABEL, "cl-consumer")];
    Tenant {
        metadata: Metadata {
            name: "cl-consumer".to_owned(),
            namespace: namespace.to_owned(),
            labels: labels.into_iter().collect(),
            ..Metadata::default()
        },
        ..Tenant::default()
    }
    .into()
}

#[test]
fn a_tenant_in_the_namespace_of_another_peer_does_not_count() {
    for name in ["liqo-tenant-cl-other", "offloaded"] {
        let mut pool = Pool::new();
        pool.settle();
        pool.at_provider.insert(namespace_of_other(name));
        pool.at_provider.insert(tenant(name));
        let phase = |pool: &Pool| pool.provider.look(&seen(pool), pool.now).unwrap().phase;
        assert_eq!(phase(&pool).name(), "Authenticated", "{name}");

        // Nor does it take the place of the peer's own one.
        let own = ObjectRef::new(Kind::Tenant, "liqo-tenant-cl-consumer", "cl-consumer");
        pool.at_provider.remove(&own).unwrap();
        assert_eq!(phase(&pool).name(), "Ending", "{name}");
    }
}
