//! Lists of objects, as tables or as manifests.

use liqo_auth::model::{
    Kind, Metadata, NamespaceName, ObjectRef, Resource, Timestamp, Unreadable, names,
};
use liqo_auth_jsonpath::Template;
use serde_json::json;

use crate::{
    arguments::{Format, List, ListFormat, Shown, output_format::Output},
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
    print_all(context, &portable(home, ids), format)
}

fn portable(home: &Home, ids: &[ObjectRef]) -> Vec<SecretValue> {
    let values = ids.iter().filter_map(|id| home.value(id));
    values.map(SecretValue::portable).collect()
}

/// Prints one manifest as itself, and several as a List.
pub(super) fn print_all(context: &Context, values: &[SecretValue], format: Format) -> Result<()> {
    match values {
        [value] => context.manifest(value, format),
        values => context.manifest(&list_of(values), format),
    }
}

fn list_of(values: &[SecretValue]) -> SecretValue {
    let items: Vec<_> = values.iter().map(|value| (**value).clone()).collect();
    SecretValue::new(json!({
        "apiVersion": "v1",
        "items": items,
        "kind": "List",
    }))
}

/// Prints objects of a kind in place of a table: as manifests, only their names, or what a
/// template picks from them.
pub(super) fn listed(
    context: &Context,
    home: &Home,
    list: &List,
    kind: Kind,
    ids: &[ObjectRef],
    printed: &Printed,
) -> Result<()> {
    let readable = all_readable(home, list, kind);
    if ids.is_empty() {
        readable?;
        is_there(list, kind)?;
        return in_place_of_table(context, home, ids, list.name.is_some(), printed);
    }
    in_place_of_table(context, home, ids, list.name.is_some(), printed)?;
    readable
}

/// Fails if one object is asked for by its name, but was not found.
fn is_there(list: &List, kind: Kind) -> Result<()> {
    match &list.name {
        None => Ok(()),
        Some(name) => Err(Failure::waiting(format!(
            "there is no {kind} {} in this home",
            escaped(name)
        ))),
    }
}

/// Prints objects as manifests, only their names, or what a template picks from them. As for
/// kubectl, only an object that is asked for alone is no list.
pub(super) fn in_place_of_table(
    context: &Context,
    home: &Home,
    ids: &[ObjectRef],
    is_alone: bool,
    printed: &Printed,
) -> Result<()> {
    match printed {
        Printed::Manifests(format) => manifests(context, home, ids, *format),
        Printed::Picked(template) => {
            let values = portable(home, ids);
            match values.as_slice() {
                [value] if is_alone => context.picked(value, template),
                values => context.picked(&list_of(values), template),
            }
        }
        Printed::Names => {
            let line = |id: &ObjectRef| {
                let kind = id.kind.as_str().to_lowercase();
                let group = match id.kind {
                    Kind::Secret => String::new(),
                    _ => format!(".{}", names::API_GROUP),
                };
                format!("{kind}{group}/{}\n", escaped(&id.name))
            };
            context
                .printer
                .result(&ids.iter().map(line).collect::<String>())
        }
    }
}

/// What is printed in place of a table.
#[derive(Debug)]
pub(super) enum Printed<'l> {
    Manifests(Format),
    Names,
    Picked(&'l Template),
}

impl Shown {
    /// What to print in place of a table.
    pub(super) fn printed(&self) -> Option<Printed<'_>> {
        Some(match self.output.as_ref()? {
            Output::Format(ListFormat::Yaml) => Printed::Manifests(Format::Yaml),
            Output::Format(ListFormat::Json) => Printed::Manifests(Format::Json),
            Output::Format(ListFormat::Name) => Printed::Names,
            Output::Format(ListFormat::Wide) => return None,
            Output::JsonPath(template) => Printed::Picked(template),
        })
    }

    /// Whether the table has more columns.
    pub(super) fn is_wide(&self) -> bool {
        self.output == Some(Output::Format(ListFormat::Wide))
    }

    pub(super) fn has_namespace_of(&self, metadata: &Metadata) -> bool {
        let namespace = self.namespace.as_ref().map(NamespaceName::as_str);
        namespace.is_none_or(|namespace| namespace == metadata.namespace)
    }
}

impl List {
    pub(super) fn printed(&self) -> Option<Printed<'_>> {
        self.shown.printed()
    }

    pub(super) fn is_wide(&self) -> bool {
        self.shown.is_wide()
    }

    pub(super) fn asks_for(&self, metadata: &Metadata) -> bool {
        self.shown.has_namespace_of(metadata)
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
    if table.is_empty() {
        is_there(list, kind)?;
        context.printer.message(&format!("No {kind} found."));
        return Ok(());
    }
    let table = if list.shown.all_namespaces {
        table
    } else {
        table.without_first()
    };
    context.printer.result(&table.text(list.is_wide()))?;
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
