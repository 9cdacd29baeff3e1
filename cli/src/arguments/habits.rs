//! What people type by habit with liqoctl: what means the same is taken, and what is not
//! taken is refused with what to do instead.

use clap::{
    Error,
    builder::StyledStr,
    error::{ContextKind, ContextValue, ErrorKind},
};

use super::pages;
use crate::output::{escaped, masked, printable};

/// The level of `--verbose`, which liqoctl has as a switch.
pub(super) fn level(text: &str) -> Result<u8, String> {
    match (text, text.parse()) {
        (_, Ok(level @ 0..=10)) => Ok(level),
        ("true", _) => Ok(1),
        ("false", _) => Ok(0),
        _ => Err("expected a level from 0 to 10, or true or false".to_owned()),
    }
}

/// The error of a command line, with the help page without the values of switches, and with
/// what to do instead of a habit.
pub(crate) fn explained(error: Error) -> Error {
    let error = with_advice(with_escapes(error));
    let text = error.render().to_string();
    let shown = printable(&text);
    match error.use_stderr() && shown != text {
        true => Error::raw(error.kind(), shown.trim_start_matches("error: ")),
        false => error,
    }
}

/// What was typed, with its control characters shown. Otherwise they are dropped.
fn with_escapes(mut error: Error) -> Error {
    for kind in [
        ContextKind::InvalidSubcommand,
        ContextKind::InvalidArg,
        ContextKind::InvalidValue,
    ] {
        if let Some(ContextValue::String(typed)) = error.get(kind) {
            let typed = match typed.contains("://") {
                true => masked(typed),
                false => typed.clone(),
            };
            let shown = ContextValue::String(escaped(&typed));
            error.insert(kind, shown);
        }
    }
    error
}

fn with_advice(mut error: Error) -> Error {
    let word = match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let command = match error.kind() {
                ErrorKind::DisplayHelp => pages::screens(),
                _ => pages::start(),
            };
            let page = command.try_get_matches().err();
            return page
                .filter(|page| page.kind() == error.kind())
                .unwrap_or(error);
        }
        ErrorKind::InvalidSubcommand => error.get(ContextKind::InvalidSubcommand),
        ErrorKind::UnknownArgument => error.get(ContextKind::InvalidArg),
        _ => return error,
    };
    let Some(ContextValue::String(word)) = word else {
        return error;
    };
    let usage = error.get(ContextKind::Usage).map(ToString::to_string);
    let is_deletion = usage.is_some_and(|usage| usage.contains(" delete"));
    let ended = is_deletion && ENDED.contains(&word.as_str());
    let Some(advice) = ended.then_some(END).or_else(|| instead_of(word)) else {
        return error;
    };
    let advice = StyledStr::from(pages::with_program(advice));
    error.remove(ContextKind::SuggestedArg);
    error.remove(ContextKind::SuggestedSubcommand);
    error.insert(
        ContextKind::Suggested,
        ContextValue::StyledStrs(vec![advice]),
    );
    error
}

/// What to do instead of a command or an option of liqoctl.
fn instead_of(word: &str) -> Option<&'static str> {
    let word = match word.strip_prefix("--remote-") {
        Some(option) => format!("--{option}"),
        None => word.to_owned(),
    };
    let found = INSTEAD
        .iter()
        .find(|(words, _)| words.contains(&word.as_str()));
    found.map(|(_, advice)| *advice)
}

/// What nobody deletes as an object: its peering ends.
const ENDED: &[&str] = &[
    "peer",
    "peering",
    "tenant",
    "tenants",
    "identity",
    "identities",
];
const END: &str = "`liqo-auth unauthenticate` ends a peering on both sides";

const INSTEAD: &[(&[&str], &str)] = &[
    (
        &["peer"],
        "`liqo-auth authenticate`, then `liqo-auth create resourceslice`; the network is liqoctl's: `liqoctl network connect`",
    ),
    (
        &["unpeer"],
        "`liqo-auth delete resourceslice`, then `liqo-auth unauthenticate`; the network is liqoctl's: `liqoctl network reset`",
    ),
    (
        &["info", "list", "ls"],
        "`liqo-auth status`, or `liqo-auth doctor`",
    ),
    (
        &["describe", "explain", "show", "verify"],
        "`liqo-auth inspect` for a file, `liqo-auth status --tree` for all peers",
    ),
    (
        &["check", "fix", "repair", "diagnose"],
        "`liqo-auth doctor` finds what is wrong, and prints each remedy",
    ),
    (&["invite"], "`liqo-auth create nonce`"),
    (&["uninvite"], "`liqo-auth delete nonce`"),
    (
        &["revoke"],
        "`liqo-auth unauthenticate` at the consumer, or `liqo-auth drain tenant` at the provider",
    ),
    (&["logs", "log", "events"], "`liqo-auth audit show`"),
    (
        &["pin", "unpin", "trust"],
        "a key is pinned when it is verified first; `liqo-auth release` forgets it",
    ),
    (
        &["force"],
        "annotate the ForeignCluster with liqo.io/foreign-cluster-permanently-unreachable=true, as liqoctl does; then `liqo-auth delete resourceslice` and `liqo-auth unauthenticate --remote-cluster-id ID` end a peering on this side alone",
    ),
    (
        &[
            "install",
            "upgrade",
            "uninstall",
            "network",
            "offload",
            "unoffload",
            "move",
            "test",
            "configuration",
            "gatewayserver",
            "gatewayclient",
            "publickey",
        ],
        "this is not about authentication: use liqoctl for it",
    ),
    (
        &["virtualnode", "vn"],
        "`liqo-auth create resourceslice` asks for a virtual node, too; any other one is liqoctl's: `liqoctl create virtualnode`",
    ),
    (
        &["-n", "--namespace"],
        "the objects of a peer are in its tenant namespace; --liqo-namespace names the namespace of Liqo",
    ),
    (
        &["--in-band"],
        "`liqo-auth authenticate` takes it on two clusters; here, name the proxy with --proxy-url",
    ),
    (
        &["--global-labels", "--global-annotations"],
        "leave it out: objects have only the fields that both sides verify",
    ),
    (
        &[
            "-s",
            "--server",
            "--tls-server-name",
            "--certificate-authority",
            "--insecure-skip-tls-verify",
            "--client-certificate",
            "--client-key",
            "--token",
            "--as",
            "--as-group",
            "--as-uid",
            "--as-user-extra",
        ],
        "write it into a kubeconfig with `kubectl config set-cluster` or `set-credentials`, and name that with --kubeconfig",
    ),
    (&["--request-timeout"], "--timeout"),
    (
        &["--cache-dir", "--disable-compression", "--no-descriptions"],
        "leave it out",
    ),
    (&["-g", "--get"], "-o jsonpath='{…}'"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_a_number_or_a_switch() {
        for (text, expected) in [("0", 0), ("6", 6), ("10", 10), ("true", 1), ("false", 0)] {
            assert_eq!(level(text), Ok(expected), "{text}");
        }
        for wrong in ["", "11", "-1", "yes", "4.5"] {
            assert!(level(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn no_advice_is_about_an_option_that_is_taken_everywhere() {
        let parser = pages::parser();
        for word in INSTEAD.iter().flat_map(|(words, _)| *words) {
            let is_taken = parser.get_arguments().any(|argument| {
                argument
                    .get_long()
                    .is_some_and(|long| *word == format!("--{long}"))
            });
            assert!(
                !is_taken && parser.find_subcommand(word).is_none(),
                "{word}"
            );
        }
    }
}
