//! Roles, their bindings, and service accounts.

use liqo_auth::model::{
    ClusterRole, ClusterRoleBinding, Metadata, PolicyRule, RbacSubject, Resource, Role,
    RoleBinding, RoleRef, ServiceAccount, names,
};

use crate::{report::Report, text::escaped};

pub(crate) fn role_binding(binding: &RoleBinding) -> Report {
    let mut report = Report::new(&binding.id().to_string());
    report.say(
        "Where",
        format!("in the namespace {}", escaped(&binding.metadata.namespace)),
    );
    bound(&binding.role_ref, &binding.subjects, &mut report);
    owner(&binding.metadata, &mut report);
    report
}

pub(crate) fn cluster_role_binding(binding: &ClusterRoleBinding) -> Report {
    let mut report = Report::new(&binding.id().to_string());
    report.say("Where", "in the whole cluster");
    bound(&binding.role_ref, &binding.subjects, &mut report);
    owner(&binding.metadata, &mut report);
    report
}

pub(crate) fn role(role: &Role) -> Report {
    let mut report = Report::new(&role.id().to_string());
    report.say(
        "Where",
        format!("in the namespace {}", escaped(&role.metadata.namespace)),
    );
    rules(&role.rules, &mut report);
    owner(&role.metadata, &mut report);
    report
}

pub(crate) fn cluster_role(role: &ClusterRole) -> Report {
    let mut report = Report::new(&role.id().to_string());
    let purpose = role.metadata.labels.get(names::APP_NAME_LABEL);
    match purpose.map(String::as_str) {
        Some(names::CONTROL_PLANE_ROLE) => report.say(
            "For",
            "every authenticated consumer, in its tenant namespace",
        ),
        Some(names::CLUSTER_WIDE_ROLE) => report.say(
            "For",
            "the virtual nodes of every authenticated consumer, in the whole cluster",
        ),
        _ => {}
    }
    rules(&role.rules, &mut report);
    report
}

pub(crate) fn service_account(account: &ServiceAccount) -> Report {
    let mut report = Report::new(&account.id().to_string());
    report.say(
        "Kind",
        "a service account: for programs, or for a home cluster of Liqo 0.2",
    );
    owner(&account.metadata, &mut report);
    report
}

fn bound(role: &RoleRef, subjects: &[RbacSubject], report: &mut Report) {
    report.say(
        "Role",
        format!("{} {}", escaped(&role.kind), escaped(&role.name)),
    );
    for subject in subjects {
        let namespace = match subject.namespace.as_str() {
            "" => String::new(),
            namespace => format!("{}/", escaped(namespace)),
        };
        report.say(
            "To",
            format!(
                "{} {namespace}{}",
                escaped(&subject.kind),
                escaped(&subject.name)
            ),
        );
    }
    if subjects.is_empty() {
        report.say("To", "nobody");
    }
}

fn rules(rules: &[PolicyRule], report: &mut Report) {
    for rule in rules {
        let resources = match rule.resources.is_empty() {
            true => rule.non_resource_urls.join(", "),
            false => rule.resources.join(", "),
        };
        let groups: Vec<&str> = rule
            .api_groups
            .iter()
            .map(String::as_str)
            .filter(|group| !group.is_empty())
            .collect();
        let mut text = format!("{} {}", rule.verbs.join(", "), resources);
        if !groups.is_empty() {
            text.push_str(&format!(" ({})", groups.join(", ")));
        }
        if !rule.resource_names.is_empty() {
            text.push_str(&format!(", only {}", rule.resource_names.join(", ")));
        }
        report.say("May", escaped(&text));
    }
}

/// The peer, the manager and the peering user, according to the labels.
fn owner(metadata: &Metadata, report: &mut Report) {
    let label = |key: &str| metadata.labels.get(key);
    let peer = label(names::REMOTE_CLUSTER_ID_LABEL).or(label(names::DISCOVERY_CLUSTER_ID_LABEL));
    if let Some(peer) = peer {
        report.say("Peer", escaped(peer));
    }
    if let Some(manager) = label(names::MANAGED_BY_LABEL) {
        report.say("Managed by", escaped(manager));
    }
    if let Some(user) = label(names::PEERING_USER_LABEL) {
        report.say("Peering user", escaped(user));
    }
}
