//! The switches, which are on or off. Each takes `=true` and `=false`, as liqoctl's do.

use clap::{Arg, ArgAction, Command};

/// The command with switches that take a value. Help pages do not show the value, since it is
/// the same for each switch.
pub(super) fn with_values(command: Command) -> Command {
    command
        .mut_args(|argument| match is_switch(&argument) {
            true => argument
                .num_args(0..=1)
                .require_equals(true)
                .default_missing_value("true")
                .value_name("BOOL")
                .value_parser(truth),
            false => argument,
        })
        .mut_subcommands(with_values)
}

/// Whether the argument is on or off. A required one is a consent, and is never off.
fn is_switch(argument: &Arg) -> bool {
    matches!(argument.get_action(), ArgAction::SetTrue) && !argument.is_required_set()
}

/// The values of Go's `strconv.ParseBool`.
pub(super) fn truth(text: &str) -> Result<bool, String> {
    match text {
        "true" | "True" | "TRUE" | "t" | "T" | "1" => Ok(true),
        "false" | "False" | "FALSE" | "f" | "F" | "0" => Ok(false),
        _ => Err("expected true or false".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments;

    fn switches(path: String, command: &Command, each: &mut dyn FnMut(&str, &Arg)) {
        for argument in command.get_arguments() {
            if matches!(argument.get_action(), ArgAction::SetTrue) {
                each(&path, argument);
            }
        }
        for below in command.get_subcommands() {
            switches(format!("{path} {}", below.get_name()), below, each);
        }
    }

    #[test]
    fn each_switch_takes_true_and_false() {
        let parser = arguments::parser();
        parser.clone().debug_assert();
        let mut seen = 0;
        switches("liqo-auth".to_owned(), &parser, &mut |path, switch| {
            seen += 1;
            let is_consent = switch.get_id() == "trust_whoever_holds_the_token";
            let takes_a_value = switch.is_require_equals_set();
            assert_eq!(takes_a_value, !is_consent, "{path}: {switch}");
        });
        assert!(seen > 50, "{seen}");
    }

    #[test]
    fn a_switch_is_what_it_is_set_to() {
        let skips = |words: &str| {
            let words = words.split(' ');
            let matches = arguments::parser().try_get_matches_from(words);
            matches.map(|matches| matches.get_flag("skip_confirm"))
        };
        for (words, is_on) in [
            ("liqo-auth rbac", false),
            ("liqo-auth rbac --skip-confirm", true),
            ("liqo-auth rbac --skip-confirm=true", true),
            ("liqo-auth rbac --skip-confirm=false", false),
            ("liqo-auth --skip-confirm=false rbac", false),
            ("liqo-auth --skip-confirm=1 rbac", true),
            ("liqo-auth rbac -y", true),
            ("liqo-auth rbac -y=F", false),
            ("liqo-auth rbac -yv=4", true),
            ("liqo-auth rbac --yes=True --provider", true),
        ] {
            assert_eq!(skips(words).unwrap(), is_on, "{words}");
        }
        for wrong in [
            "liqo-auth rbac --skip-confirm=",
            "liqo-auth rbac --skip-confirm=yes",
            "liqo-auth rbac --skip-confirm true",
        ] {
            assert!(skips(wrong).is_err(), "{wrong}");
        }
    }
}
