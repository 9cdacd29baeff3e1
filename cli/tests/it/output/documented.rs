//! Each option of each command is in the book.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use crate::tool::{Folder, commands_of};

#[test]
fn each_option_is_in_the_book() {
    let mut book = String::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                book.push_str(&fs::read_to_string(path).unwrap());
            }
        }
    }
    let folder = Folder::new();
    let (mut commands, mut options) = (vec![String::new()], BTreeSet::new());
    while let Some(command) = commands.pop() {
        let page = folder.ok(&format!("{command} --help"));
        let below = commands_of(&page);
        commands.extend(below.iter().map(|name| format!("{command} {name}")));
        options.extend(options_of(&page).map(str::to_owned));
    }
    assert!(options.len() > 100, "{options:?}");
    let words: BTreeSet<&str> = book
        .split(|next: char| !next.is_ascii_alphanumeric() && next != '-')
        .collect();
    options.retain(|option| !words.contains(option.as_str()));
    assert_eq!(options, BTreeSet::new());
}

/// The long names in the list of a help page: `-f, --filename <FILE>`.
fn options_of(page: &str) -> impl Iterator<Item = &str> {
    let lines = page.lines().map(str::trim_start);
    lines.filter_map(|line| {
        let line = match line.get(..4) {
            Some(short) if short.starts_with('-') && short.ends_with(", ") => &line[4..],
            _ => line,
        };
        let name = line.split([' ', '[', '=', ',']).next()?;
        name.starts_with("--").then_some(name)
    })
}
