//! The commands that follow a remedy or the advice of an error, as they are typed on this side.

mod carried;
mod damaged;
mod pinned;
mod unread;

use std::fmt;

use liqo_auth::{
    error::{Error, Fault, PeerIncompatible},
    machine::{Notice, Remedy, Side},
    model::ClusterId,
};
use liqo_auth_kube::{command_of, sentence_of};
use serde::Serialize;

use self::{carried::Carried, pinned::pinned};
pub(crate) use self::{
    carried::{carrier, earlier},
    unread::{unread, without_slice_record},
};
use crate::{
    home::{Home, Signer},
    output::{printable, program},
};

/// What a peer is to this side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Role {
    Consumer,
    Provider,
}

impl Role {
    /// The side that this cluster is on.
    fn own_side(self) -> Side {
        match self {
            Self::Consumer => Side::Provider,
            Self::Provider => Side::Consumer,
        }
    }
}

/// How to have what is pinned for a peer forgotten.
pub(crate) fn release_command(home: &Home, peer: impl fmt::Display) -> String {
    let release = format!("release --remote-cluster-id {peer}");
    format!("The command is {}.", with_options(home, &release))
}

/// How to lift a drain.
pub(crate) fn lift_drain(home: &Home, consumer: impl fmt::Display) -> String {
    format!(
        "{consumer} is drained: it gets neither a certificate nor rights until that is lifted. The command is {}.",
        with_options(home, &format!("uncordon tenant {consumer}"))
    )
}

/// What a cordon means, and the command that lifts it.
pub(crate) fn lift_cordon(home: &Home, consumer: impl fmt::Display) -> String {
    format!(
        "{consumer} is cordoned: it gets no new slice until that is lifted. The command is {}.",
        with_options(home, &format!("uncordon tenant {consumer}"))
    )
}

/// How a consumer gets the next Identity of a provider.
pub(crate) fn authenticate_again(home: &Home, provider: impl fmt::Display) -> String {
    let (program, options, own) = (program(), home.site().options(), home.cluster_id());
    let [first, second] = other_cluster(home);
    let together = with_options(home, &format!("authenticate {first}"));
    format!(
        "To authenticate again with access to both clusters, run `{together}` (or {second}). By files, the administrator of {provider} runs `{program} create nonce --remote-cluster-id {own} --replace`, and this side goes on with `{program} generate tenant {options} --remote-cluster-id {provider} --nonce NONCE`. Then {provider} runs `{program} apply -f FILE` and `{program} generate identity --remote-cluster-id {own}`, and this side `{program} apply -f FILE {options}`."
    )
}

/// The options that name the other cluster of a command: the likely one first.
fn other_cluster(home: &Home) -> [&'static str; 2] {
    let mut options = ["--remote-home DIR", "--remote-kubeconfig FILE"];
    if home.is_live() {
        options.reverse();
    }
    options
}

/// How a consumer gets the present nonce of a provider.
pub(crate) fn present_nonce(home: &Home, provider: impl fmt::Display) -> String {
    let (program, own) = (program(), home.cluster_id());
    format!(
        "The administrator of {provider} prints it by `{program} get nonce --remote-cluster-id {own}`, and first makes one by `{program} create nonce --remote-cluster-id {own}` if there is none."
    )
}

/// What to do about a refusal: the library's advice, and the commands of its remedy.
pub(crate) fn way_out(home: &Home, peer: &ClusterId, role: Role, error: &Error) -> String {
    if let Some(way_out) = damaged::damaged(home, peer, error) {
        return way_out;
    }
    let advice = error.advice();
    match error
        .remedy()
        .and_then(|remedy| deed(home, peer, role, error, &remedy))
    {
        Some(deed) => format!("{advice} {deed}"),
        None => advice.to_owned(),
    }
}

/// A notice, and the command of its remedy.
pub(crate) fn noticed(home: &Home, peer: &ClusterId, role: Role, notice: &Notice) -> String {
    let told = notice.remedy().and_then(|remedy| {
        let command = command(home, peer, role, &remedy)?;
        Some(sentence_of(&remedy, peer, &command))
    });
    match told {
        Some(told) => format!("{notice} {told}"),
        None => notice.to_string(),
    }
}

/// What follows the advice.
fn deed(
    home: &Home,
    peer: &ClusterId,
    role: Role,
    error: &Error,
    remedy: &Remedy,
) -> Option<String> {
    let command = || command(home, peer, role, remedy);
    Some(match remedy {
        Remedy::Release if role == Role::Provider => changed_endpoint(home, peer, error),
        Remedy::AuthenticateAgain if is_for_another_key(error) => {
            format!(
                "{} {}",
                restored(home, peer),
                authenticate_again(home, peer)
            )
        }
        Remedy::AuthenticateAgain => authenticate_again(home, peer),
        Remedy::CarryAnswer { object } => {
            let again = Carried::of(home, object)?.answer_again(home, peer);
            match is_for_another_key(error) && role == Role::Provider {
                true => format!("{again} {}", released(home, peer)),
                false => again,
            }
        }
        Remedy::CarryRequest { object } => {
            Carried::of(home, object)?.request_again(home, peer, &command()?)
        }
        Remedy::CarryNonce if role == Role::Provider => {
            let present = present_nonce(home, peer);
            format!("{present} Then the command is {}.", command()?)
        }
        Remedy::CarryNonce => format!(
            "The nonce to sign is printed by {}. {peer} signs it by `{} {}`.",
            command()?,
            program(),
            command_of(remedy, home.cluster_id(), Side::Consumer)?
        ),
        _ => sentence_of(remedy, peer, &command()?),
    })
}

/// How to go on if the address or the CA of a provider differs from the pinned one.
fn changed_endpoint(home: &Home, provider: &ClusterId, error: &Error) -> String {
    let mut sentences: Vec<String> = pinned(home, provider, error).into_iter().collect();
    sentences.push(release_command(home, provider));
    sentences.push(authenticate_again(home, provider));
    let object = error.at().object.as_ref();
    sentences.push(match object.and_then(|object| Carried::of(home, object)) {
        Some(carried) => format!(
            "If what is pinned is right, the answer is from before. {}",
            carried.sentence(home, provider)
        ),
        None => format!(
            "If what is pinned is right again, nothing has to be released. By files, the administrator of {provider} runs `{} generate identity --remote-cluster-id {}`, and this side `{}`.",
            program(),
            home.cluster_id(),
            with_options(home, "apply -f FILE")
        ),
    });
    sentences.join(" ")
}

/// Whether a certificate is for another key than this cluster's.
fn is_for_another_key(error: &Error) -> bool {
    matches!(
        error.fault(),
        Fault::PeerIncompatible(PeerIncompatible::CertificateKey { .. })
    )
}

/// What to do if a cluster has an earlier key again.
fn restored(home: &Home, peer: &ClusterId) -> String {
    let (program, own) = (program(), home.cluster_id());
    format!(
        "If this cluster or {peer} was restored from a backup, an earlier key is back. Then have the administrator of {peer} run {program} release --remote-cluster-id {own}, and {program} create nonce --remote-cluster-id {own}."
    )
}

/// What to do if a cluster has an earlier key again, with the commands of this side.
fn released(home: &Home, peer: &ClusterId) -> String {
    let together = with_options(home, &format!("authenticate {}", other_cluster(home)[0]));
    let sign = format!("generate tenant --remote-cluster-id {peer} --nonce NONCE");
    format!(
        "{} After that, this side authenticates again by {together}, or signs that nonce by {}.",
        restored(home, peer),
        with_options(home, &sign)
    )
}

/// The command that is a remedy. None if a person has to do or to decide something else first.
pub(crate) fn command(
    home: &Home,
    peer: &ClusterId,
    role: Role,
    remedy: &Remedy,
) -> Option<String> {
    let typed = match remedy {
        Remedy::AnswerRequest { .. }
            if home.settings.signer == Signer::Aws || home.is_signed_elsewhere() =>
        {
            return None;
        }
        Remedy::AuthenticateAgain => format!("authenticate {}", other_cluster(home)[0]),
        Remedy::CarryAnswer { object } => return Some(Carried::of(home, object)?.ask(home, peer)),
        Remedy::CarryRequest { object } => {
            Carried::of(home, object)?;
            "apply -f FILE".to_owned()
        }
        // On a cluster, Liqo's chart makes it.
        Remedy::CreateClusterRole { .. } if !home.is_live() => "renew".to_owned(),
        // Somebody deletes it at AWS first.
        Remedy::DeleteAccessKey { .. } => return None,
        remedy => printable(&command_of(remedy, peer, role.own_side())?),
    };
    Some(with_options(home, &typed))
}

/// The command that does what is due. None on a cluster, where the controllers do it.
pub(crate) fn run(home: &Home) -> Option<String> {
    (!home.is_live()).then(|| with_options(home, "renew"))
}

/// The command as it is typed, with the options that name this side.
fn with_options(home: &Home, typed: &str) -> String {
    let at = typed.find(" --remote-").unwrap_or(typed.len());
    let (deed, peer) = typed.split_at(at);
    let options = home.site().options();
    let space = if options.is_empty() { "" } else { " " };
    format!("{} {deed}{space}{options}{peer}", program())
}
