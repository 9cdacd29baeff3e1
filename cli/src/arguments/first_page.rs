//! The first page: `liqo-auth -h`. It has all commands in groups, on one screen.

use clap::{Command, builder::StyledStr};

/// The commands, by what a person wants to do.
const GROUPS: &[(&str, &[&str])] = &[
    (
        "Exchange",
        &[
            "init",
            "authenticate",
            "create",
            "generate",
            "apply",
            "transcript",
            "replicate",
            "renew",
            "delete",
            "unauthenticate",
        ],
    ),
    ("Look", &["status", "get", "inspect", "audit"]),
    (
        "Operate",
        &[
            "approve", "deny", "cordon", "drain", "uncordon", "activate", "set", "rotate", "export",
        ],
    ),
    ("Repair", &["doctor", "sign-again", "release"]),
    ("Controllers", &["run", "rbac"]),
    ("Older Liqo", &["legacy"]),
];

/// The page of this command line, which ends with where more can be read.
pub(super) fn of(command: &Command, more: &str) -> StyledStr {
    let styles = command.get_styles();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let about = command.get_about().map(ToString::to_string);
    let about = about.unwrap_or_default();
    let mut page = format!("{about}\n\n{}\n", command.clone().render_usage().ansi());
    for (title, names) in GROUPS {
        page.push_str(&format!("\n{header}{title}:{header:#}"));
        for name in *names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            page.push_str(&format!("\n  {literal}{name:<14}{literal:#}  {about}"));
        }
    }
    page.push_str(&format!(
        "\n{header}Also:{header:#} completion, man, options, version\n\n{more}"
    ));
    StyledStr::from(page)
}

pub(super) const MORE: &str = "\
`liqo-auth COMMAND --help` has examples. `liqo-auth --help` has all options.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_has_its_line_on_one_screen() {
        let command = crate::arguments::command();
        let page = of(&command, MORE).to_string();
        for one in command.get_subcommands().map(Command::get_name) {
            let grouped = GROUPS.iter().flat_map(|(_, names)| *names);
            let times = grouped.filter(|name| **name == one).count();
            let others = ["completion", "man", "options", "version"];
            let expected = usize::from(!others.contains(&one));
            assert_eq!(times, expected, "{one}");
            assert!(page.contains(one), "{one}: {page}");
        }
        assert!(page.lines().count() <= 45, "{page}");
        for line in page.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}
