//! `man`: the manual pages, made from the help of the commands.

use std::{fs, path::Path};

use anyhow::Context as _;
use clap::Command;
use clap_mangen::Man;

use crate::{
    arguments,
    context::Context,
    failure::{Failure, Result},
};

pub(super) fn run(context: &Context, folder: Option<&Path>) -> Result<()> {
    let command = arguments::command();
    let Some(folder) = folder else {
        return context.printer.result(&page(&Man::new(command))?);
    };
    if fs::metadata(folder).is_ok_and(|found| !found.is_dir()) {
        return Err(Failure::usage(format!(
            "--dir {}: it is not a folder",
            folder.display()
        )));
    }
    let named = || folder.display().to_string();
    fs::create_dir_all(folder).with_context(named)?;
    let mut command = command.disable_help_subcommand(true);
    command.build();
    write_pages(command, folder).with_context(named)?;
    Ok(())
}

/// A page for the command, and for each of its commands.
fn write_pages(command: Command, folder: &Path) -> anyhow::Result<()> {
    for command in command.get_subcommands().filter(|it| !it.is_hide_set()) {
        write_pages(command.clone(), folder)?;
    }
    let man = Man::new(command);
    fs::write(folder.join(man.get_filename()), page(&man)?)?;
    Ok(())
}

/// The page of a command. What its help says at its end keeps its lines, so that its examples can
/// be copied.
fn page(man: &Man) -> anyhow::Result<String> {
    let mut page = Vec::new();
    man.render(&mut page)?;
    let page = String::from_utf8(page)?;
    let Some((before, end)) = page.split_once(END) else {
        return Ok(page);
    };
    let at = end.find("\n.SH ").unwrap_or(end.len());
    let (end, after) = end.split_at(at);
    let (title, end) = match end.strip_prefix("Examples:\n") {
        Some(examples) => ("EXAMPLES", examples),
        None => ("NOTES", end),
    };
    Ok(format!("{before}\n.SH {title}\n.nf\n{end}\n.fi{after}"))
}

/// The heading of what a command's help says at its end.
const END: &str = "\n.SH EXTRA\n";
