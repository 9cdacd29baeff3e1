//! What `liqo-auth` alone prints: what it is, the first commands, and how to see all of them.

use clap::{Command, builder::StyledStr};

/// The start of this command line. A function names the program in a command as it was called.
pub(super) fn of(command: &Command, with_program: fn(&str) -> String) -> StyledStr {
    let styles = command.get_styles();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let about = command.get_about().map(ToString::to_string);
    let mut page = about.unwrap_or_default();
    for (title, commands) in FIRST {
        page.push_str(&format!("\n{header}{title}:{header:#}"));
        for typed in *commands {
            let typed = with_program(typed);
            page.push_str(&format!("\n  {literal}{typed}{literal:#}"));
        }
    }
    StyledStr::from(page)
}

/// The first commands, by what a person wants.
const FIRST: &[(&str, &[&str])] = &[
    (
        "With access to two clusters",
        &["liqo-auth authenticate --kubeconfig FILE --remote-kubeconfig FILE"],
    ),
    (
        "Without clusters, with a folder in place of each",
        &[
            "liqo-auth init --home rome",
            "liqo-auth init --home milan",
            "liqo-auth authenticate --home rome --remote-home milan",
            "liqo-auth status --home rome",
        ],
    ),
    (
        "All commands, and the examples of one",
        &["liqo-auth -h", "liqo-auth authenticate --help"],
    ),
];
