//! Pictures of peerings, in the languages of Graphviz and Mermaid.

use liqo_auth::model::TenantCondition;

use crate::{
    arguments::Picture,
    home::Home,
    overview::{Peering, Role},
};

/// All peerings of a cluster. An arrow leads from a consumer to its provider.
pub(super) fn of_peerings(home: &Home, peerings: &[Peering], picture: Picture) -> String {
    let own = home.cluster_id().as_str();
    let edges = peerings.iter().map(|peering| {
        let ends = match peering.role {
            Role::Consumer => (peering.peer.as_str(), own),
            Role::Provider => (own, peering.peer.as_str()),
        };
        let slices = match peering.slices.len() {
            0 => String::new(),
            1 => ", 1 slice".to_owned(),
            number => format!(", {number} slices"),
        };
        let condition = match peering.condition {
            None | Some(TenantCondition::Active) => String::new(),
            Some(condition) => format!(", {condition:?}"),
        };
        (ends, format!("{}{condition}{slices}", peering.phase))
    });
    match picture {
        Picture::Dot => {
            let mut text =
                format!("digraph peerings {{\n  rankdir=LR;\n  \"{own}\" [style=bold];\n");
            for ((from, to), label) in edges {
                text.push_str(&format!("  \"{from}\" -> \"{to}\" [label=\"{label}\"];\n"));
            }
            text.push_str("}\n");
            text
        }
        Picture::Mermaid => {
            // A cluster ID may be a word of Mermaid, so nodes have names of their own.
            let mut nodes = vec![own.to_owned()];
            let mut number = |id: &str| match nodes.iter().position(|known| known == id) {
                Some(at) => at,
                None => {
                    nodes.push(id.to_owned());
                    nodes.len() - 1
                }
            };
            let edges: String = edges
                .map(|((from, to), label)| {
                    let (from, to) = (number(from), number(to));
                    format!("  c{from} -- \"{label}\" --> c{to}\n")
                })
                .collect();
            let nodes = nodes.iter().enumerate();
            let nodes: String = nodes
                .map(|(at, id)| format!("  c{at}[\"{id}\"]\n"))
                .collect();
            format!("flowchart LR\n{nodes}{edges}  style c0 stroke-width:3px\n")
        }
    }
}

/// The phases of one peering, with the present one marked.
pub(super) fn of_phases(peering: &Peering, picture: Picture) -> String {
    let steps = match peering.role {
        Role::Consumer => PROVIDERS,
        Role::Provider => CONSUMERS,
    };
    let present = peering.phase;
    let is_known = steps
        .iter()
        .any(|(from, to, _)| [*from, *to].contains(&present));
    match picture {
        Picture::Dot => {
            let mut text = format!("digraph phases {{\n  label=\"{}\";\n", peering.peer);
            for (from, to, label) in steps {
                text.push_str(&format!("  {from} -> {to} [label=\"{label}\"];\n"));
            }
            text.push_str(&format!(
                "  {present} [style=filled, fillcolor=palegreen];\n}}\n"
            ));
            text
        }
        Picture::Mermaid => {
            let mut text = "stateDiagram-v2\n".to_owned();
            for (from, to, label) in steps {
                text.push_str(&format!("  {from} --> {to}: {label}\n"));
            }
            if !is_known {
                text.push_str(&format!("  {present}\n"));
            }
            text.push_str(&format!(
                "  classDef present fill:#9f9,stroke-width:3px\n  class {present} present\n"
            ));
            text
        }
    }
}

/// The phases of a provider: from, to, and what leads there.
const PROVIDERS: &[(&str, &str, &str)] = &[
    ("Uninvited", "AwaitsTenant", "create nonce"),
    ("AwaitsTenant", "NeedsApproval", "apply the Tenant"),
    ("NeedsApproval", "Authenticated", "approve"),
    ("AwaitsTenant", "Authenticated", "apply the Tenant"),
    ("AwaitsTenant", "Refused", "a Tenant that breaks a rule"),
    ("Refused", "AwaitsTenant", "create nonce --replace"),
    ("Authenticated", "Drained", "drain"),
    ("Drained", "Authenticated", "uncordon"),
    ("Authenticated", "Ended", "unauthenticate"),
    ("Ended", "AwaitsTenant", "create nonce"),
];
/// The phases of a consumer.
const CONSUMERS: &[(&str, &str, &str)] = &[
    ("AwaitsNonce", "AwaitsIdentity", "generate tenant"),
    ("AwaitsIdentity", "Authenticated", "apply the Identity"),
    (
        "AwaitsIdentity",
        "Refused",
        "an Identity that breaks a rule",
    ),
    ("Refused", "AwaitsIdentity", "generate tenant"),
    ("Authenticated", "Ending", "unauthenticate"),
    ("Ending", "AwaitsNonce", "the objects are gone"),
];
