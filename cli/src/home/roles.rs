//! The roles that a home stands for.

use liqo_auth::model::{Timestamp, names};
use serde_json::{Value, json};

use super::{Ground, Home, content::SecretValue};
use crate::failure::Result;

impl Home {
    /// Makes the roles that are missing in a home: nobody else does. A cluster has those of Liqo's
    /// chart.
    pub(crate) fn restore_roles(&mut self, now: Timestamp) -> Result<()> {
        if let Ground::Folder(_) = self.ground {
            for role in roles().map(SecretValue::new) {
                if !self.store.contains(&role.to_object().id()) {
                    self.store.create(role, now)?;
                }
            }
        }
        Ok(())
    }
}

/// The roles of Liqo 1.2. The first two ClusterRoles are for a peer: for its
/// controllers in the tenant namespace, and for its virtual nodes in the whole
/// cluster. The other ClusterRole and the Role are for peering users.
pub(super) fn roles() -> [Value; 4] {
    let role = |name: &str, purpose: &str, rules: Value| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": { "name": name, "labels": { (names::APP_NAME_LABEL): purpose } },
            "rules": rules,
        })
    };
    let write = json!([
        "create",
        "delete",
        "deletecollection",
        "get",
        "list",
        "patch",
        "update",
        "watch"
    ]);
    [
        role(
            "liqo-remote-controlplane",
            names::CONTROL_PLANE_ROLE,
            json!([
                {
                    "apiGroups": [names::API_GROUP],
                    "resources": ["renews", "renews/status", "resourceslices", "resourceslices/status"],
                    "verbs": write,
                },
                {
                    "apiGroups": ["offloading.liqo.io"],
                    "resources": ["namespacemaps", "namespacemaps/status"],
                    "verbs": write,
                },
            ]),
        ),
        role(
            "liqo-virtual-kubelet-remote-clusterwide",
            names::CLUSTER_WIDE_ROLE,
            json!([{
                "apiGroups": ["metrics.liqo.io"],
                "resources": ["scrape/metrics"],
                "verbs": ["get", "list", "watch"],
            }]),
        ),
        peering_user_role(
            "ClusterRole",
            "liqo-peering-user-tenant-ns",
            &[
                ("", &["namespaces", "services"], &["get"]),
                ("", &["secrets"], &["create", "delete", "get", "list"]),
                ("apps", &["deployments"], &["get"]),
                (
                    names::API_GROUP,
                    &["tenants"],
                    &["create", "delete", "get", "list", "update"],
                ),
                (
                    "ipam.liqo.io",
                    &["ips"],
                    &["create", "delete", "get", "update"],
                ),
                (
                    "networking.liqo.io",
                    &[
                        "configurations",
                        "gatewayclients",
                        "gatewayservers",
                        "publickeies",
                    ],
                    &["create", "delete", "get", "list", "update"],
                ),
                ("networking.liqo.io", &["connections"], &["get", "list"]),
                (
                    "networking.liqo.io",
                    &["gatewayclients/status", "gatewayservers/status"],
                    &["get"],
                ),
            ],
        ),
        peering_user_role(
            "Role",
            "liqo-peering-user-liqo-ns",
            &[
                ("", &["configmaps"], &["get", "list", "watch"]),
                ("ipam.liqo.io", &["ips"], &["get"]),
                ("ipam.liqo.io", &["networks"], &["get", "list"]),
                (
                    "networking.liqo.io",
                    &["wggatewayclienttemplates", "wggatewayservertemplates"],
                    &["get", "list"],
                ),
            ],
        ),
    ]
}

/// A rule of a role: API group, resources, verbs.
type Rule<'a> = (&'a str, &'a [&'a str], &'a [&'a str]);

/// A role for peering users, with Liqo's labels.
fn peering_user_role(kind: &str, name: &str, rules: &[Rule<'_>]) -> Value {
    let rules: Vec<Value> = rules
        .iter()
        .map(|(group, resources, verbs)| {
            json!({ "apiGroups": [group], "resources": resources, "verbs": verbs })
        })
        .collect();
    let mut role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": kind,
        "metadata": {
            "name": name,
            "labels": {
                (names::APP_NAME_LABEL): names::PEERING_USER_COMPONENT,
                (names::APP_COMPONENT_LABEL): names::PEERING_USER_COMPONENT,
            },
        },
        "rules": rules,
    });
    if kind == "Role"
        && let Some(metadata) = role.get_mut("metadata").and_then(Value::as_object_mut)
    {
        metadata.insert("namespace".to_owned(), names::LIQO_NAMESPACE.into());
    }
    role
}
