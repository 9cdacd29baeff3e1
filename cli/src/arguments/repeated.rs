//! Options that are given twice: the last value counts, as with pflag. Those that may be
//! repeated have all their values.

use clap::Command;

/// The command, and those below it, with this rule.
pub(super) fn last_counts(command: Command) -> Command {
    command
        .args_override_self(true)
        .mut_subcommands(last_counts)
}

#[cfg(test)]
mod tests {
    use clap::{ArgMatches, FromArgMatches};

    use crate::arguments::{self, Arguments, Command, Get};

    fn matches(words: &str) -> ArgMatches {
        let matches = arguments::parser().try_get_matches_from(words.split(' '));
        matches.unwrap_or_else(|error| panic!("{words}: {error}"))
    }

    #[test]
    fn the_last_value_of_a_switch_counts() {
        for (words, is_on) in [
            ("liqo-auth rbac -y --skip-confirm", true),
            ("liqo-auth rbac --yes=false -y", true),
            ("liqo-auth rbac --skip-confirm --skip-confirm=false", false),
            ("liqo-auth rbac -y --yes=false --skip-confirm=0", false),
            // Before the command, and after it.
            ("liqo-auth --skip-confirm rbac --skip-confirm=false", false),
            ("liqo-auth -y=false rbac -y", true),
        ] {
            assert_eq!(matches(words).get_flag("skip_confirm"), is_on, "{words}");
        }
    }

    #[test]
    fn the_last_value_of_an_option_counts() {
        for (words, seconds) in [
            ("liqo-auth rbac --timeout 1s --timeout 2s", 2),
            ("liqo-auth --timeout=2s --timeout=1s rbac", 1),
            ("liqo-auth --timeout 1s rbac --timeout 2s", 2),
        ] {
            let arguments = Arguments::from_arg_matches(&matches(words)).unwrap();
            assert_eq!(arguments.global.timeout.as_secs(), seconds, "{words}");
        }
        let words = "liqo-auth get nonce --remote-cluster-id a --remote-cluster-id b";
        let arguments = Arguments::from_arg_matches(&matches(words)).unwrap();
        let Command::Get(Get::Nonce(nonce)) = arguments.command else {
            panic!("{words}");
        };
        assert_eq!(nonce.remote_cluster_id.unwrap().as_str(), "b");
    }

    #[test]
    fn what_may_be_repeated_has_all_its_values() {
        let matches = matches("liqo-auth apply -f a -f b --filename c");
        let apply = matches.subcommand_matches("apply").unwrap();
        let files = apply.get_many::<std::path::PathBuf>("files").unwrap();
        assert_eq!(files.count(), 3);
        // A further word is still too much.
        let words = "liqo-auth cordon resourceslice a b".split(' ');
        let refused = arguments::parser().try_get_matches_from(words);
        assert!(refused.is_err());
    }
}
