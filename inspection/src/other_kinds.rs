//! Objects of kinds that the exchange does not use, and objects that cannot be read.

use liqo_auth::model::{ObjectError, Unreadable};
use serde_json::Value;

use crate::{report::Report, text::escaped};

pub(crate) fn inspect(unreadable: &Unreadable, text: &[u8]) -> Report {
    let is_foreign_cluster =
        unreadable.kind == "ForeignCluster" && unreadable.api_version.starts_with("core.liqo.io/");
    match &unreadable.reason {
        _ if is_foreign_cluster => foreign_cluster(unreadable, text),
        ObjectError::UnknownKind { .. } => unexplained(&title(unreadable)),
        reason => {
            let mut report = Report::new(&title(unreadable));
            report.wrong(format!(
                "{reason}. Ask its sender to generate it again, and pass it on unchanged."
            ));
            report
        }
    }
}

pub(crate) fn unexplained(title: &str) -> Report {
    let mut report = Report::new(title);
    report.say("Kind", "not part of the exchange");
    report
}

/// A ForeignCluster of Liqo 1.0 or later: what Liqo itself knows of a peering.
fn foreign_cluster(unreadable: &Unreadable, text: &[u8]) -> Report {
    let mut report = Report::new(&title(unreadable));
    report.say("Kind", "what Liqo 1.0 or later knows of another cluster");
    let documents: Vec<Value> = std::str::from_utf8(text)
        .ok()
        .and_then(|text| serde_saphyr::from_multiple(text).ok())
        .unwrap_or_default();
    let found = documents.iter().find_map(|document| {
        find(document, &|object| {
            object.get("kind").and_then(Value::as_str) == Some("ForeignCluster")
                && object.pointer("/metadata/name").and_then(Value::as_str)
                    == Some(unreadable.id.name.as_str())
        })
    });
    let Some(found) = found else {
        return report;
    };
    let said = |path: &str| found.pointer(path).and_then(Value::as_str).map(escaped);
    for (what, path) in [
        ("Cluster ID", "/spec/clusterID"),
        ("Role", "/status/role"),
        ("API server", "/status/apiServerUrl"),
        ("Namespace", "/status/tenantNamespace/local"),
    ] {
        if let Some(text) = said(path) {
            report.say(what, text);
        }
    }
    let conditions = found.pointer("/status/modules/authentication/conditions");
    let conditions = conditions.and_then(Value::as_array);
    for condition in conditions.into_iter().flatten() {
        let field = |name: &str| condition.get(name).and_then(Value::as_str).unwrap_or("-");
        let text = format!("{}: {}", field("type"), field("status"));
        report.say("Authentication", escaped(&text));
    }
    report
}

/// The first object that fits, in a document or in the items of a list.
fn find<'v>(value: &'v Value, fits: &dyn Fn(&Value) -> bool) -> Option<&'v Value> {
    if fits(value) {
        return Some(value);
    }
    let items = value.get("items").and_then(Value::as_array);
    items
        .into_iter()
        .flatten()
        .find_map(|item| find(item, fits))
}

fn title(unreadable: &Unreadable) -> String {
    let id = &unreadable.id;
    let name = match id.namespace.as_str() {
        "" => id.name.clone(),
        namespace => format!("{namespace}/{}", id.name),
    };
    let title = format!("{} {name}", unreadable.kind);
    match title.trim() {
        "" => "An object without a kind".to_owned(),
        title => title.to_owned(),
    }
}
