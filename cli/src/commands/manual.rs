//! `man`: the manual pages, made from the help of the commands.

use std::{fs, path::Path};

use anyhow::Context as _;
use clap_mangen::Man;

use crate::{
    arguments,
    context::Context,
    failure::{Failure, Result},
};

pub(super) fn run(context: &Context, folder: Option<&Path>) -> Result<()> {
    let command = arguments::command();
    let Some(folder) = folder else {
        let mut page = Vec::new();
        Man::new(command).render(&mut page)?;
        return context.printer.result(&String::from_utf8_lossy(&page));
    };
    if fs::metadata(folder).is_ok_and(|found| !found.is_dir()) {
        return Err(Failure::usage(format!(
            "--dir {}: it is not a folder",
            folder.display()
        )));
    }
    let named = || folder.display().to_string();
    fs::create_dir_all(folder).with_context(named)?;
    clap_mangen::generate_to(command, folder).with_context(named)?;
    Ok(())
}
