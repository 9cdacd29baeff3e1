//! Completes cluster IDs, tenants, slices and homes from what is there.

use std::{
    collections::BTreeSet,
    env,
    path::{Path, PathBuf},
};

use clap::{Arg, Command};
use clap_complete::engine::{
    ArgValueCandidates, ArgValueCompleter, CompletionCandidate, PathCompleter,
};
use liqo_auth::model::{Identity, ResourceSlice, Tenant};

use crate::{
    home::{Home, Use, lock_at_once},
    overview,
};

/// The command line, with candidates for the names in a home.
pub(crate) fn with_candidates(command: Command) -> Command {
    below("", command)
}

fn below(path: &str, command: Command) -> Command {
    let own = format!("{path} {}", command.get_name());
    let of = own.clone();
    command
        .mut_args(move |argument| with_values(&of, argument))
        .mut_subcommands(move |command| below(&own, command))
}

fn with_values(path: &str, argument: Arg) -> Arg {
    let id = argument.get_id().as_str().to_owned();
    let is_positional = argument.is_positional();
    let candidates = match id.as_str() {
        "remote_cluster_id" | "consumer_cluster_id" => ArgValueCandidates::new(peers),
        "resourceslice" => ArgValueCandidates::new(slices),
        "name" if !is_positional => return argument,
        "name" if path.ends_with(" tenant") || path.ends_with(" tenants") => {
            ArgValueCandidates::new(tenants)
        }
        "name" if path.contains("resourceslice") && !path.contains("create") => {
            ArgValueCandidates::new(slices)
        }
        "name" if path.ends_with(" identities") || path.ends_with(" kubeconfig") => {
            ArgValueCandidates::new(identities)
        }
        "home" | "remote_home" => {
            return argument.add(ArgValueCompleter::new(PathCompleter::dir()));
        }
        _ => return argument,
    };
    argument.add(candidates)
}

fn peers() -> Vec<CompletionCandidate> {
    names(|home| {
        let peers = overview::peers(home).into_iter();
        peers.map(|(peer, _)| peer.to_string()).collect()
    })
}

fn tenants() -> Vec<CompletionCandidate> {
    names(|home| {
        let tenants = home.all::<Tenant>();
        tenants.map(|tenant| tenant.metadata.name.clone()).collect()
    })
}

fn identities() -> Vec<CompletionCandidate> {
    names(|home| {
        let identities = home.all::<Identity>();
        identities
            .map(|identity| identity.metadata.name.clone())
            .collect()
    })
}

fn slices() -> Vec<CompletionCandidate> {
    names(|home| {
        let slices = home.all::<ResourceSlice>();
        slices.map(|slice| slice.metadata.name.clone()).collect()
    })
}

/// The names in the home of the command line. None without a home: a completion opens no
/// connection.
fn names(of: impl Fn(&Home) -> BTreeSet<String>) -> Vec<CompletionCandidate> {
    let home = home_of(env::args().collect::<Vec<_>>().as_slice());
    let home = home.and_then(|path| {
        // A terminal does not wait for a command that is writing the home.
        let _lock = lock_at_once(&path)?;
        Home::open_folder(&path, Use::Read).ok()
    });
    let names = home.map(|home| of(&home)).unwrap_or_default();
    names.into_iter().map(CompletionCandidate::new).collect()
}

/// The home that a command line names, or else the environment.
fn home_of(line: &[String]) -> Option<PathBuf> {
    let mut words = line.iter();
    let said = words
        .by_ref()
        .find_map(|word| match word.strip_prefix("--home") {
            Some("") => Some(None),
            Some(value) => value.strip_prefix('=').map(|value| Some(value.to_owned())),
            None => None,
        });
    let said = said.map(|value| value.or_else(|| words.next().cloned()));
    let said = said.flatten().map(PathBuf::from);
    let said = said.map(|path| expanded(&path));
    said.or_else(|| env::var_os("LIQO_AUTH_HOME").map(PathBuf::from))
}

/// The path with the home folder of the user in place of `~`, which a shell has not
/// replaced yet.
fn expanded(path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), env::var_os("HOME")) {
        (Ok(rest), Some(home)) => Path::new(&home).join(rest),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_home_of_a_command_line_is_found() {
        let line = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        for text in [
            "status --home a",
            "status --home=a",
            "--home a cordon tenant",
        ] {
            assert_eq!(home_of(&line(text)), Some(PathBuf::from("a")), "{text}");
        }
    }
}
