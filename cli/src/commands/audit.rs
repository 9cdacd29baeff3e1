//! `audit verify` and `audit show`: the log of this home's decisions.

use crate::{
    arguments::audit::{Audit, VerifyAudit},
    context::Context,
    failure::Result,
    home::Use,
    output::Table,
};

pub(super) fn run(context: &Context, arguments: &Audit) -> Result<()> {
    match arguments {
        Audit::Verify(arguments) => verify(context, arguments),
        Audit::Show => show(context),
    }
}

fn verify(context: &Context, arguments: &VerifyAudit) -> Result<()> {
    let home = context.open_folder(Use::Read)?;
    let summary = home.verify_log(arguments.head, |_| {})?;
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
    context.printer.result(&text)
}

fn show(context: &Context) -> Result<()> {
    let home = context.open_folder(Use::Read)?;
    let mut table = Table::new(["TIME", "PEER", "DECISION", "RULE", "OBJECT", "DETAILS"]);
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
