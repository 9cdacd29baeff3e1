//! The help pages: the global options are described once, and each page has examples.

use clap::{Arg, Command, CommandFactory};

use super::{Arguments, examples};

/// The whole command line, with its help pages.
pub(crate) fn command() -> Command {
    let command = Arguments::command();
    let globals: Vec<Arg> = command
        .get_arguments()
        .filter(|argument| argument.is_global_set())
        .map(|argument| argument.clone().hide(true))
        .collect();
    let command = match crate::output::program() {
        plugin if plugin.starts_with("kubectl ") => command.bin_name(plugin),
        _ => command,
    };
    command.mut_subcommands(|page| with_pages("", page, &globals))
}

/// A command of that path, and the commands below it.
fn with_pages(above: &str, page: Command, globals: &[Arg]) -> Command {
    let path = format!("{above}{}", page.get_name());
    let own = page.get_after_help().map(ToString::to_string);
    let shown = own.or_else(|| examples::of(&path).map(str::to_owned));
    let long = shown.map_or_else(String::new, |shown| format!("{shown}\n\n"));
    let is_described = path == "options";
    let globals_here = globals.iter().cloned().map(|argument| match is_described {
        true => argument.hide(false),
        false => argument,
    });
    page.args(globals_here)
        .after_help(NOTE)
        .after_long_help(format!("{long}{NOTE}"))
        .mut_subcommands(|page| with_pages(&format!("{path} "), page, globals))
}

const NOTE: &str = "\
Every command also takes the global options, such as --home DIR, --kubeconfig FILE and
--dry-run. `liqo-auth options` lists them.";

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
            // The columns of the short page are as wide as its longest option.
            let words = |page: &str| page.split_whitespace().count();
            assert!(words(&short) <= words(&long), "{path}");
        });
    }
}
