//! Rights by roles and their bindings, as a cluster with RBAC checks them.

use std::{fs, path::Path};

use http::Method;
use serde_json::Value;

use super::Target;

/// The rules of a role, and where they hold.
#[derive(Debug, Clone)]
pub struct Rule {
    place: Place,
    groups: Vec<String>,
    resources: Vec<String>,
    names: Vec<String>,
    verbs: Vec<String>,
}

/// Where the rules of a role hold.
#[derive(Debug, Clone, PartialEq)]
enum Place {
    Everywhere,
    Namespace(String),
    /// In the namespaces that have a RoleBinding to this ClusterRole.
    BindingsTo(String),
}

impl Rule {
    /// The rules of a manifest in `deploy/chart/rbac`.
    pub fn of_manifest(file: &str) -> Vec<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/chart/rbac");
        let text = fs::read_to_string(folder.join(file)).unwrap();
        let documents = text.split("\n---\n").map(|document| {
            let object: Value = serde_saphyr::from_str(document).unwrap();
            object
        });
        let documents: Vec<Value> = documents.collect();
        let is_bound = |role: &Value| {
            let mut documents = documents.iter();
            documents.any(|it| {
                it["kind"] == "ClusterRoleBinding"
                    && it["roleRef"]["name"] == role["metadata"]["name"]
            })
        };
        let rules = documents.iter().flat_map(|role| {
            let mut rules = Self::of_role(role);
            if role["kind"] == "ClusterRole" && !is_bound(role) {
                let name = role["metadata"]["name"].as_str().unwrap();
                for rule in &mut rules {
                    rule.place = Place::BindingsTo(name.to_owned());
                }
            }
            rules
        });
        rules.collect()
    }

    /// The rules of a Role, or of a ClusterRole that is bound in the whole cluster.
    pub fn of_role(role: &Value) -> Vec<Self> {
        let place = match role["kind"].as_str().unwrap() {
            "Role" => {
                let namespace = role["metadata"]["namespace"].as_str().unwrap();
                Place::Namespace(namespace.to_owned())
            }
            "ClusterRole" => Place::Everywhere,
            _ => return Vec::new(),
        };
        let texts = |value: &Value| {
            let texts = value.as_array().into_iter().flatten();
            texts.map(|it| it.as_str().unwrap().to_owned()).collect()
        };
        let rules = role["rules"].as_array().unwrap().iter();
        let rule = |rule: &Value| Self {
            place: place.clone(),
            groups: texts(&rule["apiGroups"]),
            resources: texts(&rule["resources"]),
            names: texts(&rule["resourceNames"]),
            verbs: texts(&rule["verbs"]),
        };
        rules.map(rule).collect()
    }

    /// The same rights, each as a rule of its own: one verb on one resource, and one name if
    /// the rule has names.
    pub fn pairs(&self) -> Vec<Self> {
        let names: Vec<Vec<String>> = match self.names.is_empty() {
            true => vec![Vec::new()],
            false => self.names.iter().map(|name| vec![name.clone()]).collect(),
        };
        let mut pairs = Vec::new();
        for group in &self.groups {
            for resource in &self.resources {
                for verb in &self.verbs {
                    pairs.extend(names.iter().map(|names| Self {
                        place: self.place.clone(),
                        groups: vec![group.clone()],
                        resources: vec![resource.clone()],
                        names: names.clone(),
                        verbs: vec![verb.clone()],
                    }));
                }
            }
        }
        pairs
    }

    /// Whether the rule allows what is asked. `bindings` are the RoleBindings of the cluster.
    pub fn allows(&self, asked: &Asked, bindings: &[Value]) -> bool {
        let has = |texts: &[String], text: &str| texts.iter().any(|it| it == text);
        let is_there = match &self.place {
            Place::Everywhere => true,
            Place::Namespace(namespace) => *namespace == asked.namespace,
            Place::BindingsTo(role) => bindings.iter().any(|binding| {
                binding["metadata"]["namespace"] == asked.namespace
                    && binding["roleRef"]["name"] == *role
            }),
        };
        is_there
            && has(&self.groups, &asked.group)
            && has(&self.resources, &asked.resource)
            && (self.names.is_empty() || has(&self.names, &asked.name))
            && has(&self.verbs, asked.verb)
    }
}

impl std::fmt::Display for Rule {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts = [&self.verbs, &self.resources, &self.groups, &self.names];
        let parts = parts.map(|texts| texts.join(","));
        let named = parts.iter().filter(|part| !part.is_empty());
        let named: Vec<&str> = named.map(String::as_str).collect();
        formatter.write_str(&named.join(" "))?;
        match &self.place {
            Place::Everywhere => Ok(()),
            Place::Namespace(namespace) => write!(formatter, " in {namespace}"),
            Place::BindingsTo(role) => write!(formatter, " by {role}"),
        }
    }
}

/// What a request needs the right for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Asked {
    verb: &'static str,
    group: String,
    /// With its subresource.
    resource: String,
    namespace: String,
    name: String,
}

impl Asked {
    /// The words of an API server for the want of this right.
    pub fn refused(&self) -> String {
        let Self {
            verb,
            group,
            resource,
            namespace,
            name,
        } = self;
        let object = match name.is_empty() {
            true => resource.clone(),
            false => format!("{resource} \"{name}\""),
        };
        let place = match namespace.is_empty() {
            true => "at the cluster scope".to_owned(),
            false => format!("in the namespace \"{namespace}\""),
        };
        format!(
            "{object} is forbidden: User \"jane\" cannot {verb} resource \"{resource}\" in API group \"{group}\" {place}"
        )
    }

    /// What a request asks for. To bind a role and to approve for a signer are rights of
    /// their own.
    pub fn by(method: &Method, is_watch: bool, target: &Target, content: &Value) -> Vec<Self> {
        let group = target.group.split('/').nth(1).unwrap_or_default();
        let is_core = target.group.starts_with("api/");
        let verb = match *method {
            Method::GET if is_watch => "watch",
            Method::GET if target.name.is_empty() => "list",
            Method::GET => "get",
            Method::POST => "create",
            Method::PUT => "update",
            Method::PATCH => "patch",
            _ => "delete",
        };
        let subresource = match target.subresource.as_str() {
            "" => String::new(),
            subresource => format!("/{subresource}"),
        };
        let mut asked = vec![Self {
            verb,
            group: if is_core {
                String::new()
            } else {
                group.to_owned()
            },
            resource: format!("{}{subresource}", target.plural),
            namespace: target.namespace.clone(),
            name: target.name.clone(),
        }];
        if let Some(role) = content.pointer("/roleRef/name").and_then(Value::as_str) {
            asked.push(Self {
                verb: "bind",
                group: group.to_owned(),
                resource: "clusterroles".to_owned(),
                namespace: target.namespace.clone(),
                name: role.to_owned(),
            });
        }
        if target.subresource == "approval" {
            asked.push(Self {
                verb: "approve",
                group: group.to_owned(),
                resource: "signers".to_owned(),
                namespace: String::new(),
                name: "kubernetes.io/kube-apiserver-client".to_owned(),
            });
        }
        asked
    }
}
