//! The users of a peer that are not in Liqo's group: an administrator has made their credentials,
//! and binds them in the tenant namespace, as on Liqo's page on declarative peering.

use k8s_openapi::api::authentication::v1::UserInfo;
use liqo_auth::model::{RbacSubject, RoleBinding, names};

/// Whether one of these bindings gives the user Liqo's role for the control plane of a peer.
pub(super) fn names_as_peer(bindings: &[RoleBinding], user: &UserInfo) -> bool {
    let of_peers = bindings.iter().filter(|binding| {
        let role = &binding.role_ref;
        role.kind == "ClusterRole" && role.name.ends_with(names::CONTROL_PLANE_ROLE)
    });
    of_peers
        .flat_map(|binding| {
            let here = binding.metadata.namespace.as_str();
            binding.subjects.iter().map(move |subject| (subject, here))
        })
        .any(|(subject, here)| is_named(subject, here, user))
}

fn is_named(subject: &RbacSubject, here: &str, user: &UserInfo) -> bool {
    let name = user.username.as_deref();
    match subject.kind.as_str() {
        "User" => name == Some(subject.name.as_str()),
        "Group" => user.groups.iter().flatten().any(|it| *it == subject.name),
        "ServiceAccount" => {
            let namespace = match subject.namespace.as_str() {
                "" => here,
                namespace => namespace,
            };
            let account = format!("system:serviceaccount:{namespace}:{}", subject.name);
            name == Some(account.as_str())
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use liqo_auth::model::{Metadata, RoleRef};

    use super::*;

    fn binding(role: RoleRef, kind: &str, namespace: &str) -> RoleBinding {
        RoleBinding {
            metadata: Metadata {
                namespace: "liqo-tenant-rome".to_owned(),
                ..Metadata::default()
            },
            role_ref: role,
            subjects: vec![RbacSubject {
                kind: kind.to_owned(),
                name: "rome-user".to_owned(),
                namespace: namespace.to_owned(),
                ..RbacSubject::default()
            }],
        }
    }

    #[test]
    fn a_binding_of_liqos_role_names_the_users_of_a_peer() {
        let liqos = || RoleRef::cluster_role("liqo-remote-controlplane");
        let user = |name: &str, group: &str| UserInfo {
            username: Some(name.to_owned()),
            groups: Some(vec!["system:authenticated".to_owned(), group.to_owned()]),
            ..UserInfo::default()
        };
        let by_name = user("rome-user", "a");
        let by_group = user("jane", "rome-user");
        let account = user("system:serviceaccount:rome:rome-user", "a");
        let account_here = user("system:serviceaccount:liqo-tenant-rome:rome-user", "a");
        let other_role = RoleRef::cluster_role("view");
        let local_role = RoleRef {
            kind: "Role".to_owned(),
            ..liqos()
        };
        let cases = [
            ("User", "", &by_name),
            ("Group", "", &by_group),
            ("ServiceAccount", "rome", &account),
            ("ServiceAccount", "", &account_here),
        ];
        for (kind, namespace, named) in cases {
            for (_, _, user) in cases {
                let found = names_as_peer(&[binding(liqos(), kind, namespace)], user);
                let is_named = std::ptr::eq(user, named);
                assert_eq!(found, is_named, "{kind} {namespace} {user:?}");
            }
            for role in [&other_role, &local_role] {
                let bindings = [binding(role.clone(), kind, namespace)];
                assert!(!names_as_peer(&bindings, named));
            }
        }
        let others = binding(other_role, "User", "");
        let both = [others, binding(liqos(), "User", "")];
        assert!(names_as_peer(&both, &by_name));
        assert!(!names_as_peer(&[binding(liqos(), "Other", "")], &by_name));
        assert!(!names_as_peer(&[], &by_name));
    }
}
