//! A peer that makes thousands of resource slices.

use std::hint::black_box;

use liqo_auth::{
    Machine,
    model::{Metadata, ResourceSlice, TenantCondition, names},
};

use super::super::{
    clock::Stage,
    clusters::{Clusters, consumer_id, env, provider_id},
};

pub(super) fn stages() -> Vec<Stage> {
    vec![
        look("one look, 1,000 new slices", 1000, TenantCondition::Active),
        look("one look, 8,000 new slices", 8000, TenantCondition::Active),
        look(
            "one look, 1,000 slices of a drained peer",
            1000,
            TenantCondition::Drained,
        ),
        look(
            "one look, 8,000 slices of a drained peer",
            8000,
            TenantCondition::Drained,
        ),
    ]
}

/// The provider's first look at so many slices.
fn look(name: &'static str, slices: usize, condition: TenantCondition) -> Stage {
    let clusters = Clusters::new();
    let mut objects = clusters.authenticated();
    let peer = consumer_id();
    let namespace = names::tenant_namespace(&peer);
    let mut tenant = objects
        .get::<liqo_auth::model::Tenant>(&namespace, peer.as_str())
        .unwrap()
        .clone();
    tenant.spec.tenant_condition = Some(condition);
    objects.insert(tenant.into());
    for number in 0..slices {
        objects.insert(slice(number).into());
    }
    Stage::new(name, move || {
        let view = objects.view(&peer);
        let step = clusters.provider.reconcile(&view, env()).unwrap();
        assert!(black_box(step).effects.len() >= slices);
    })
}

/// A replica that asks for resources, and says that it has some.
fn slice(number: usize) -> ResourceSlice {
    let labels = [
        (names::REPLICATION_LABEL, "false"),
        (names::REPLICATED_LABEL, "true"),
        (names::REPLICATION_DESTINATION_LABEL, provider_id().as_str()),
        (names::REPLICATION_ORIGIN_LABEL, consumer_id().as_str()),
        (names::REMOTE_CLUSTER_ID_LABEL, consumer_id().as_str()),
    ]
    .map(|(label, value)| (label.to_owned(), value.to_owned()));
    let mut slice = ResourceSlice {
        metadata: Metadata {
            name: format!("pool{number}"),
            namespace: names::tenant_namespace(&consumer_id()),
            labels: labels.into(),
            ..Metadata::default()
        },
        ..ResourceSlice::default()
    };
    slice.spec.consumer_cluster_id = Some(consumer_id().to_string());
    slice.spec.provider_cluster_id = Some(provider_id().to_string());
    slice.status.resources = [("cpu".to_owned(), "1".into())].into();
    slice
}
