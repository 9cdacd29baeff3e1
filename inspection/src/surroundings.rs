//! Objects around the exchange: namespaces, config maps, foreign clusters.

use liqo_auth::model::{ConfigMap, ForeignCluster, Namespace, Resource, names};

use crate::{report::Report, text::escaped};

pub(crate) fn namespace(namespace: &Namespace) -> Report {
    let mut report = Report::new(&namespace.id().to_string());
    let labels = &namespace.metadata.labels;
    let is_tenant = labels
        .get(names::TENANT_NAMESPACE_LABEL)
        .map(String::as_str);
    let peer = labels.get(names::REMOTE_CLUSTER_ID_LABEL);
    match (is_tenant, peer) {
        (Some(names::TRUE), Some(peer)) => {
            report.say("Kind", format!("the tenant namespace of {}", escaped(peer)));
        }
        (Some(names::TRUE), None) => report.wrong(
            "metadata.labels: the tenant namespace does not name a cluster. Set liqo.io/remote-cluster-id, or remove liqo.io/tenant-namespace."
                .to_owned(),
        ),
        _ if namespace.metadata.name == names::LIQO_NAMESPACE => {
            report.say("Kind", "the namespace of Liqo itself");
        }
        _ => report.say("Kind", "not a tenant namespace"),
    }
    report
}

pub(crate) fn config_map(config_map: &ConfigMap) -> Report {
    let mut report = Report::new(&config_map.id().to_string());
    match config_map.cluster_id() {
        Some(id) => report.say("Cluster ID", escaped(id)),
        None => report.say("Kind", "not the ConfigMap with the cluster's ID"),
    }
    report
}

pub(crate) fn foreign_cluster(cluster: &ForeignCluster) -> Report {
    let mut report = Report::new(&cluster.id().to_string());
    let identity = &cluster.spec.cluster_identity;
    if !identity.cluster_id.is_empty() {
        report.say("Cluster ID", escaped(&identity.cluster_id));
    }
    if !identity.cluster_name.is_empty() {
        report.say("Name", escaped(&identity.cluster_name));
    }
    if !cluster.spec.auth_url().is_empty() {
        report.say("Auth URL", escaped(cluster.spec.auth_url()));
    }
    report.say("Authentication", cluster.status.auth_status().to_string());
    report
}
