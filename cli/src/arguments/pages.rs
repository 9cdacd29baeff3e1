//! The help pages: the global options are described once, and each page has examples.

use clap::{Arg, Command, CommandFactory, builder::StyledStr};

use super::{Arguments, continued::continued, examples, first_page, repeated, start, switches};

/// The whole command line, with its help pages.
pub(crate) fn command() -> Command {
    let command = Arguments::command();
    let globals: Vec<Arg> = command
        .get_arguments()
        .filter(|argument| argument.is_global_set())
        .map(|argument| argument.clone().hide(true))
        .collect();
    let command = match plugin() {
        Some(plugin) => command.bin_name(plugin),
        None => command,
    };
    let command = command.after_long_help(with_commands(examples::LONG_HELP));
    command.mut_subcommands(|page| with_pages("", page, &globals))
}

/// The same, with the [first page](first_page) in place of the short page of all commands.
pub(super) fn screens() -> Command {
    let command = command();
    let first = first_page::of(&command, &with_program(first_page::MORE));
    with_short_page(command, first)
}

/// The same, with the [start] in its place.
pub(super) fn start() -> Command {
    let command = command();
    let first = start::of(&command, with_program);
    with_short_page(command, first)
}

fn with_short_page(mut command: Command, first: StyledStr) -> Command {
    let long = command.render_long_help();
    command
        .help_template("{after-help}")
        // Both pages have their lines already.
        .term_width(0)
        .after_help(first)
        .after_long_help(long)
}

/// What parses a command line: the same with the values of switches, which no page shows, and
/// with options that are given twice.
pub(crate) fn parser() -> Command {
    repeated::last_counts(switches::with_values(command()))
}

/// A command of that path, and the commands below it.
fn with_pages(above: &str, page: Command, globals: &[Arg]) -> Command {
    let path = format!("{above}{}", page.get_name());
    let own = page.get_after_help().map(ToString::to_string);
    let shown = own.or_else(|| examples::of(&path).map(str::to_owned));
    let long = shown.map_or_else(String::new, |shown| {
        format!("{}\n\n", with_commands(&shown))
    });
    let of_no_cluster = ["completion", "man", "version"].contains(&path.as_str());
    let globals_here = globals.iter().cloned().map(|argument| {
        let names_a_cluster = ["home", "kubeconfig"].contains(&argument.get_id().as_str());
        match path.as_str() {
            "options" => argument.hide(false),
            _ if names_a_cluster && !of_no_cluster => {
                argument.hide(false).help_heading(None::<&str>)
            }
            _ => argument,
        }
    });
    let page = page.args(globals_here);
    let page = match usage(&path, &page) {
        None => page,
        Some(usage) => page.override_usage(usage),
    };
    let note = with_commands(NOTE);
    page.after_long_help(format!("{long}{note}"))
        .after_help(note)
        .mut_subcommands(|page| with_pages(&format!("{path} "), page, globals))
}

/// The name of the program as a plug-in of kubectl, if it is called as one.
fn plugin() -> Option<&'static str> {
    Some(crate::output::program()).filter(|program| program.starts_with("kubectl "))
}

/// A text with commands in lines that fit. The commands are those of the plug-in, if the
/// program is called as one.
fn with_commands(text: &str) -> String {
    continued(&with_program(text))
}

/// A text with the commands of the plug-in, if the program is called as one.
pub(super) fn with_program(text: &str) -> String {
    match plugin() {
        None => text.to_owned(),
        Some(plugin) => text.replace("liqo-auth ", &format!("{plugin} ")),
    }
}

/// The usage of a command in lines that fit, since clap writes one line. None if that line
/// fits.
fn usage(path: &str, page: &Command) -> Option<String> {
    let usage = page.clone().render_usage().to_string();
    let options = usage.strip_prefix(&format!("{TITLE}{}", page.get_name()))?;
    let line = format!(
        "{}{} {path}{options}",
        " ".repeat(TITLE.len()),
        crate::output::program()
    );
    let lines = continued(&line);
    let is_broken = lines != line;
    is_broken.then(|| lines.replace(" \\\n", "\n").trim_start().to_owned())
}

/// What clap writes before the usage.
const TITLE: &str = "Usage: ";

const NOTE: &str = "\
Every command also takes the global options, such as --context NAME,
--dry-run and --now TIME. `liqo-auth options` lists them.";

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(command: Command, path: String, each: &mut dyn FnMut(String, Command)) {
        for page in command.get_subcommands() {
            if page.get_name() != "help" {
                pages(page.clone(), format!("{path} {}", page.get_name()), each);
            }
        }
        each(path, command);
    }

    #[test]
    fn each_page_has_examples_and_no_global_options() {
        command().debug_assert();
        pages(command(), "liqo-auth".to_owned(), &mut |path, mut page| {
            let (short, long) = (page.render_help(), page.render_long_help());
            let (short, long) = (short.to_string(), long.to_string());
            assert!(long.contains("Examples:"), "{path}: {long}");
            let lists = ["liqo-auth", "liqo-auth options"].contains(&path.as_str());
            assert_eq!(long.contains("Global options:"), lists, "{path}: {long}");
            let of_no_cluster = ["completion", "man", "version"]
                .iter()
                .any(|name| path == format!("liqo-auth {name}"));
            for option in ["--home <DIR>", "--kubeconfig <FILE>"] {
                assert_eq!(long.contains(option), !of_no_cluster, "{path}: {long}");
            }
            // The columns of the short page are as wide as its longest option.
            let words = |page: &str| page.split_whitespace().count();
            assert!(words(&short) <= words(&long), "{path}");
        });
    }
}
