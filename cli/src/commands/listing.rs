//! Lists of objects, as tables or as manifests.

use liqo_auth::model::{
    Kind, Metadata, NamespaceName, ObjectRef, Resource, Timestamp, Unreadable, names,
};
use serde_json::json;

use crate::{
    arguments::{Format, List, ListFormat},
    context::Context,
    failure::{Failure, Result},
    home::{Home, SecretValue},
    output::{Table, age, escaped},
};

/// Prints objects like kubectl: one object as itself, several objects as a List. They are
/// [portable](SecretValue::portable), so that `kubectl apply` takes them.
pub(super) fn manifests(
    context: &Context,
    home: &Home,
    ids: &[ObjectRef],
    format: Format,
) -> Result<()> {
    let values = ids.iter().filter_map(|id| home.value(id));
    let values: Vec<SecretValue> = values.map(SecretValue::portable).collect();
    print_all(context, &values, format)
}

/// Prints one manifest as itself, and several as a List.
pub(super) fn print_all(context: &Context, values: &[SecretValue], format: Format) -> Result<()> {
    if let [value] = values {
        return context.manifest(value, format);
    }
    let items: Vec<_> = values.iter().map(|value| (**value).clone()).collect();
    let list = SecretValue::new(json!({
        "apiVersion": "v1",
        "items": items,
        "kind": "List",
    }));
    context.manifest(&list, format)
}

/// Prints objects as manifests, or only their names.
pub(super) fn listed(
    context: &Context,
    home: &Home,
    ids: &[ObjectRef],
    printed: Printed,
) -> Result<()> {
    match printed {
        Printed::Manifests(format) => manifests(context, home, ids, format),
        Printed::Names => {
            let line = |id: &ObjectRef| {
                let kind = id.kind.as_str().to_lowercase();
                format!("{kind}.{}/{}\n", names::API_GROUP, escaped(&id.name))
            };
            context
                .printer
                .result(&ids.iter().map(line).collect::<String>())
        }
    }
}

/// What is printed in place of a table.
#[derive(Debug, Clone, Copy)]
pub(super) enum Printed {
    Manifests(Format),
    Names,
}

impl List {
    /// What to print in place of a table.
    pub(super) fn printed(&self) -> Option<Printed> {
        Some(match self.output? {
            ListFormat::Yaml => Printed::Manifests(Format::Yaml),
            ListFormat::Json => Printed::Manifests(Format::Json),
            ListFormat::Name => Printed::Names,
            ListFormat::Wide => return None,
        })
    }

    /// Whether the table has more columns.
    pub(super) fn is_wide(&self) -> bool {
        self.output == Some(ListFormat::Wide)
    }

    pub(super) fn asks_for(&self, metadata: &Metadata) -> bool {
        let namespace = self.namespace.as_ref().map(NamespaceName::as_str);
        namespace.is_none_or(|namespace| namespace == metadata.namespace)
            && self.name.as_ref().is_none_or(|name| *name == metadata.name)
    }
}

pub(super) fn ids<K: Resource>(objects: &[&K]) -> Vec<ObjectRef> {
    objects.iter().map(|object| object.id()).collect()
}

/// Fails if an object of the kind cannot be read, and so is missing from the output.
pub(super) fn all_readable(home: &Home, list: &List, kind: Kind) -> Result<()> {
    let may_be = |unreadable: &&Unreadable| {
        let id = &unreadable.id;
        (id.kind == kind || id.kind == Kind::Other) && list.asks_for(&unreadable.metadata)
    };
    let unreadable: Vec<String> = home
        .unreadable()
        .filter(may_be)
        .map(|unreadable| home.site_of(&unreadable.id))
        .collect();
    if unreadable.is_empty() {
        return Ok(());
    }
    Err(Failure::at_odds(format!(
        "an object that cannot be read is missing from the output. Mend or delete it: {}",
        unreadable.join(", ")
    )))
}

/// Prints a table of objects of a kind.
pub(super) fn print(
    context: &Context,
    home: &Home,
    list: &List,
    table: Table,
    kind: Kind,
) -> Result<()> {
    let readable = all_readable(home, list, kind);
    if table.is_empty() && readable.is_err() {
        return readable;
    }
    match &list.name {
        Some(name) if table.is_empty() => {
            let name = escaped(name);
            return Err(Failure::waiting(format!(
                "there is no {kind} {name} in this home"
            )));
        }
        None if table.is_empty() => {
            context.printer.message(&format!("No {kind} found."));
            return Ok(());
        }
        _ => {}
    }
    let table = if list.all_namespaces {
        table
    } else {
        table.without_first()
    };
    context.printer.result(&table.to_text())?;
    readable
}

pub(super) fn age_of(metadata: &Metadata, now: Timestamp) -> String {
    match metadata.creation_timestamp {
        None => "<unknown>".to_owned(),
        Some(created) => age(now.since(created)),
    }
}

/// Warns of the objects that cannot be read, and so are missing from a table.
pub(super) fn warn(context: &Context, home: &Home) {
    for unreadable in home.unreadable() {
        context
            .printer
            .warning(&format!("{}: {}", unreadable.id, unreadable.reason));
    }
}
