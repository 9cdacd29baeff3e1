//! `audit verify` and `audit show`: the log of this home's decisions.

use serde_json::{Value, json};

use crate::{
    arguments::{
        audit::{Audit, LogFormat, VerifyAudit},
        output_format::{DocumentFormat, Output},
    },
    context::Context,
    failure::Result,
    home::{Use, repair},
    output::Table,
};

pub(super) fn run(context: &Context, arguments: &Audit) -> Result<()> {
    match arguments {
        Audit::Verify(arguments) => verify(context, arguments),
        Audit::Show { output } => show(context, output.as_ref()),
    }
}

fn verify(context: &Context, arguments: &VerifyAudit) -> Result<()> {
    let home = context.open_folder(Use::Read)?;
    let mut repairs = Vec::new();
    let summary = home.verify_log(arguments.head, |entry| {
        let entry = entry.content();
        repairs.extend(repair(entry).map(|found| (entry.sequence, entry.time, found)));
    })?;
    if let Some(output) = &arguments.output {
        let repairs: Vec<_> = repairs.iter().map(|(sequence, ..)| sequence).collect();
        let all = json!({
            "entries": summary.entries,
            "first": summary.first.map(|time| time.to_string()),
            "last": summary.last.map(|time| time.to_string()),
            "head": summary.head.map(|head| head.to_string()),
            "repairs": repairs,
        });
        return context.document(&all, output);
    }
    let mut text = format!("entries  {}\n", summary.entries);
    for (name, value) in [
        ("first", summary.first.map(|time| time.to_string())),
        ("last", summary.last.map(|time| time.to_string())),
        ("head", summary.head.map(|head| head.to_string())),
    ] {
        if let Some(value) = value {
            text.push_str(&format!("{name:<7}  {value}\n"));
        }
    }
    context.printer.result(&text)?;
    for (sequence, time, found) in repairs {
        context.printer.warning(&format!(
            "entry {sequence} of {time}: {found}. A decision before {time} may be missing."
        ));
    }
    Ok(())
}

fn show(context: &Context, output: Option<&Output<LogFormat>>) -> Result<()> {
    let home = context.open_folder(Use::Read)?;
    let document = match output {
        None | Some(Output::Format(LogFormat::Wide)) => None,
        Some(Output::Format(LogFormat::Json)) => Some(Output::Format(DocumentFormat::Json)),
        Some(Output::Format(LogFormat::Yaml)) => Some(Output::Format(DocumentFormat::Yaml)),
        Some(Output::JsonPath(template)) => Some(Output::JsonPath(template.clone())),
    };
    if let Some(document) = document {
        let mut entries: Vec<Value> = Vec::new();
        home.verify_log(None, |entry| {
            entries.extend(serde_json::from_str::<Value>(entry.line()).ok());
        })?;
        let entries = Value::Array(entries);
        return context.document(&entries, &document);
    }
    let mut table = Table::new(["TIME", "PEER", "DECISION", "RULE", "OBJECT", "DETAILS"])
        .optional(["RULE", "OBJECT"]);
    home.verify_log(None, |entry| {
        let entry = entry.content();
        let key = entry.key.iter().map(|key| format!("key={key}"));
        let details = entry.details.iter();
        let details = details.map(|(name, value)| format!("{name}={value}"));
        let details: Vec<String> = key.chain(details).collect();
        table.row([
            entry.time.to_string(),
            entry.peer.to_string(),
            entry.decision.clone(),
            entry.rule.map_or_else(String::new, |rule| rule.to_string()),
            entry.object.clone().unwrap_or_default(),
        ]);
        table.add_parts(&details);
    })?;
    if table.is_empty() {
        context.printer.message("The log has no entries yet.");
        return Ok(());
    }
    // The other formats were printed above.
    let is_wide = output.is_some();
    context.printer.result(&table.text(is_wide))
}
