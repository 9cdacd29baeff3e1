//! Liqo beside the controllers: its own authentication module, and what it shows of peerings.

use std::collections::BTreeSet;

use kube::api::DynamicObject;
use serde_json::Value;

use super::Finding;
use crate::{output::program, overview::Peering};

/// Liqo's authentication module and the controllers that take its place, if both run.
pub(super) fn both_answer(deployments: &[DynamicObject]) -> Option<Finding> {
    let of_liqo = deployments.iter().find(|it| has_module(it))?;
    let controllers = deployments.iter().find(|it| has_controllers(it))?;
    Some(Finding::new(
        format!(
            "Liqo's authentication module and the controllers run at once, and both answer the peers: Deployments {} and {}",
            name(of_liqo),
            name(controllers)
        ),
        format!(
            "Switch Liqo's module off (the value authentication.enabled=false of its chart), or leave it on and let the controllers be a guard in front of it ({} run --guard, the value guard.enabled=true of their chart).",
            program()
        ),
    ))
}

/// The peers of peerings in which something was granted.
pub(super) fn on_record(peerings: &[Peering]) -> BTreeSet<&str> {
    let granted = peerings
        .iter()
        .filter(|it| it.certificate.is_some() || it.is_tolerated);
    granted.map(|it| it.peer.as_str()).collect()
}

/// What it costs that Liqo's ForeignClusters do not show the peerings with these peers. That is
/// no finding: without Liqo's module, it stays so.
pub(super) fn unseen(
    foreign: &[DynamicObject],
    peers: &BTreeSet<&str>,
    options: &str,
) -> Option<String> {
    let blind = foreign.iter().filter(|it| !shows_peering(it));
    let of_peers = blind.filter_map(|it| {
        let id = it.data.pointer("/spec/clusterID")?.as_str()?;
        peers.get(id).copied()
    });
    let unseen: BTreeSet<&str> = of_peers.collect();
    let few: Vec<&str> = unseen.iter().take(MOST_NAMES).copied().collect();
    let more = match unseen.len() - few.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!unseen.is_empty()).then(|| {
        format!(
            "Liqo's ForeignClusters do not show the peerings with {}{more}, as is usual with Liqo's authentication module off. So liqoctl info says that their authentication is disabled, and liqoctl unpeer takes a peering in both directions for one in a single direction and resets the network of both. `{} status {options}` shows them.",
            few.join(", "),
            program()
        )
    })
}

/// Whether this is Liqo's controller manager, with its authentication module.
fn has_module(deployment: &DynamicObject) -> bool {
    runs(deployment)
        && containers(deployment).any(|words| {
            let mut said = words
                .iter()
                .filter_map(|word| match word.strip_prefix(MODULE)? {
                    "" => Some("true"),
                    value => value.strip_prefix('='),
                });
            // The last one counts.
            match said.next_back() {
                Some(value) => !FALSE.contains(&value),
                // Liqo's module is on by default.
                None => words.first().is_some_and(|it| it.ends_with(MANAGER)),
            }
        })
}

/// Whether these are the controllers, not a guard.
fn has_controllers(deployment: &DynamicObject) -> bool {
    let labels = deployment.metadata.labels.as_ref();
    let name = labels.and_then(|labels| labels.get("app.kubernetes.io/name"));
    let is_guard = |word: &&str| *word == "--guard" || word.starts_with("--guard=");
    name.is_some_and(|name| name == "liqo-auth")
        && runs(deployment)
        && containers(deployment).any(|words| words.contains(&"run") && !words.iter().any(is_guard))
}

/// Whether a Deployment has pods.
fn runs(deployment: &DynamicObject) -> bool {
    let replicas = deployment.data.pointer("/spec/replicas");
    replicas.and_then(Value::as_i64) != Some(0)
}

/// The commands of a Deployment's containers, with their arguments.
fn containers(deployment: &DynamicObject) -> impl Iterator<Item = Vec<&str>> {
    let containers = deployment.data.pointer("/spec/template/spec/containers");
    let containers = containers.and_then(Value::as_array).into_iter().flatten();
    containers.map(|container| {
        let fields = ["command", "args"].into_iter();
        let words = fields.filter_map(|field| container.get(field)?.as_array());
        words.flatten().filter_map(Value::as_str).collect()
    })
}

fn name(deployment: &DynamicObject) -> String {
    let metadata = &deployment.metadata;
    let namespace = metadata.namespace.as_deref().unwrap_or_default();
    format!(
        "{namespace}/{}",
        metadata.name.as_deref().unwrap_or_default()
    )
}

/// Whether Liqo sees the peering. It may not have looked at a new ForeignCluster yet.
fn shows_peering(foreign: &DynamicObject) -> bool {
    let Some(status) = foreign.data.get("status") else {
        return true;
    };
    let is_enabled = status.pointer("/modules/authentication/enabled");
    status.get("role").and_then(Value::as_str) != Some("Unknown")
        && is_enabled.and_then(Value::as_bool) != Some(false)
}

const MANAGER: &str = "liqo-controller-manager";
const MODULE: &str = "--authentication-enabled";
/// What Go's flags take for false.
const FALSE: [&str; 6] = ["0", "f", "F", "false", "FALSE", "False"];
/// How many peers a note names.
const MOST_NAMES: usize = 5;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(content: Value) -> DynamicObject {
        serde_json::from_value(content).unwrap()
    }

    fn deployment(label: &str, replicas: &Value, command: &[&str], args: &[&str]) -> DynamicObject {
        object(json!({
            "metadata": {
                "name": label,
                "namespace": "liqo",
                "labels": { "app.kubernetes.io/name": label },
            },
            "spec": {
                "replicas": replicas,
                "template": { "spec": { "containers": [{ "command": command, "args": args }] } },
            },
        }))
    }

    #[test]
    fn the_module_is_on_unless_its_argument_says_otherwise() {
        let module = |command: &str, args: &[&str]| {
            let deployment = deployment("controller-manager", &json!(1), &[command], args);
            has_module(&deployment)
        };
        let liqo = "/usr/bin/liqo-controller-manager";
        for args in [
            &["--authentication-enabled=true"][..],
            &["--authentication-enabled"],
            &[
                "--authentication-enabled=false",
                "--authentication-enabled=1",
            ],
            &["--offloading-enabled=false"],
        ] {
            assert!(module(liqo, args), "{args:?}");
        }
        for value in FALSE {
            let argument = format!("--authentication-enabled={value}");
            assert!(!module(liqo, &[&argument]), "{value}");
        }
        // Another program that is called a controller manager.
        assert!(!module("/manager", &["--leader-elect"]));
        assert!(module("/manager", &["--authentication-enabled=true"]));
        assert!(!module("/manager", &["--authentication-enabled-too=true"]));
    }

    #[test]
    fn a_deployment_without_pods_answers_nobody() {
        let args = ["run", "--in-cluster"];
        for (replicas, runs) in [(json!(0), false), (json!(2), true), (json!(null), true)] {
            let controllers = deployment("liqo-auth", &replicas, &[], &args);
            assert_eq!(has_controllers(&controllers), runs, "{replicas}");
            let manager = [MANAGER];
            let of_liqo = deployment("controller-manager", &replicas, &manager, &[]);
            assert_eq!(has_module(&of_liqo), runs, "{replicas}");
            assert!(!has_controllers(&of_liqo));
        }
        for other in [
            &["run", "--guard"][..],
            &["run", "--guard=audit"],
            &["version"],
        ] {
            let other = deployment("liqo-auth", &json!(1), &[], other);
            assert!(!has_controllers(&other));
        }
        let of_another = deployment("another", &json!(1), &[], &args);
        assert!(!has_controllers(&of_another));
    }

    #[test]
    fn a_note_names_few_of_many_peers() {
        let ids: Vec<String> = (0..8).map(|number| format!("peer-{number}")).collect();
        let foreign = ids.iter().map(|id| {
            object(json!({
                "metadata": { "name": id },
                "spec": { "clusterID": id },
                "status": { "role": "Unknown" },
            }))
        });
        let foreign: Vec<DynamicObject> = foreign.collect();
        let peers = |number: usize| -> BTreeSet<&str> {
            ids.iter().take(number).map(String::as_str).collect()
        };
        let note = unseen(&foreign, &peers(7), "--home x").unwrap();
        let names = " with peer-0, peer-1, peer-2, peer-3, peer-4 and 2 more, ";
        assert!(note.contains(names), "{note}");
        let note = unseen(&foreign, &peers(5), "--home x").unwrap();
        assert!(note.contains(", peer-3, peer-4, as "), "{note}");
        assert_eq!(unseen(&foreign, &BTreeSet::new(), ""), None);
    }

    #[test]
    fn what_liqo_has_not_looked_at_yet_is_not_hidden() {
        let shows = |status: Value| shows_peering(&object(json!({ "status": status })));
        assert!(shows_peering(&object(json!({ "metadata": {} }))));
        let of_module = |is_enabled: bool| json!({ "authentication": { "enabled": is_enabled } });
        for (role, is_enabled, expected) in [
            ("Consumer", true, true),
            ("Consumer", false, false),
            ("Unknown", true, false),
            ("Unknown", false, false),
        ] {
            let status = json!({ "role": role, "modules": of_module(is_enabled) });
            assert_eq!(shows(status), expected, "{role} {is_enabled}");
        }
        assert!(shows(json!({ "role": "Provider" })));
        assert!(shows(json!({ "modules": of_module(true) })));
    }
}
