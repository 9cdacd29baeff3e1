//! The roles and subjects of bindings, as Kubernetes writes them.

use liqo_auth::model::{RbacSubject, RoleRef, names};

pub(crate) fn role(name: &str) -> RoleRef {
    RoleRef {
        kind: "Role".to_owned(),
        ..RoleRef::cluster_role(name)
    }
}

pub(crate) fn user(name: &str) -> RbacSubject {
    subject("User", name)
}

pub(crate) fn group(name: &str) -> RbacSubject {
    subject("Group", name)
}

fn subject(kind: &str, name: &str) -> RbacSubject {
    RbacSubject {
        api_group: names::RBAC_API_GROUP.to_owned(),
        kind: kind.to_owned(),
        name: name.to_owned(),
        namespace: String::new(),
    }
}
