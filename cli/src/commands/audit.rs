//! `audit verify` and `audit show`: the log of this home's decisions.

use serde_json::{Value, json};

use crate::{
    arguments::audit::{Audit, AuditFormat, VerifyAudit},
    context::Context,
    failure::Result,
    home::Use,
    output::Table,
};

pub(super) fn run(context: &Context, arguments: &Audit) -> Result<()> {
    match arguments {
        Audit::Verify(arguments) => verify(context, arguments),
        Audit::Show { output } => show(context, *output),
    }
}

fn verify(context: &Context, arguments: &VerifyAudit) -> Result<()> {
    let home = context.open_folder(Use::Read)?;
    let mut repairs = Vec::new();
    let summary = home.verify_log(arguments.head, |entry| {
        let entry = entry.content();
        if entry.decision == REPAIR {
            repairs.push((
                entry.sequence,
                entry.time,
                entry.details.get("bytes").cloned(),
            ));
        }
    })?;
    if let Some(AuditFormat::Json) = arguments.output {
        let repairs: Vec<_> = repairs.iter().map(|(sequence, ..)| sequence).collect();
        let all = json!({
            "entries": summary.entries,
            "first": summary.first.map(|time| time.to_string()),
            "last": summary.last.map(|time| time.to_string()),
            "head": summary.head.map(|head| head.to_string()),
            "repairs": repairs,
        });
        return context.printer.result(&format!("{all:#}\n"));
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
    for (sequence, time, bytes) in repairs {
        context.printer.warning(&format!(
            "entry {sequence} of {time}: an incomplete line of {} bytes was removed from the end of the log, as a crash leaves it. A decision before {time} may be missing.",
            bytes.unwrap_or_default()
        ));
    }
    Ok(())
}

fn show(context: &Context, output: Option<AuditFormat>) -> Result<()> {
    let home = context.open_folder(Use::Read)?;
    if let Some(AuditFormat::Json) = output {
        let mut entries: Vec<Value> = Vec::new();
        home.verify_log(None, |entry| {
            entries.extend(serde_json::from_str::<Value>(entry.line()).ok());
        })?;
        let entries = Value::Array(entries);
        return context.printer.result(&format!("{entries:#}\n"));
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
            details.join(" "),
        ]);
    })?;
    if table.is_empty() {
        context.printer.message("The log has no entries yet.");
        return Ok(());
    }
    context.printer.result(&table.to_text())
}

/// The decision with which the log notes its own repair.
const REPAIR: &str = "LogRepaired";
