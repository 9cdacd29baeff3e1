//! The commands that follow a remedy or the advice of an error, as they are typed on this side.

mod carried;
mod pinned;

use std::fmt;

use liqo_auth::{
    crypto::{CertificateError, CsrError, SignatureError},
    error::{Error, Fault, PeerIncompatible, PeerMisbehaved, PolicyRefusal, Precondition},
    machine::Remedy,
    model::{ClusterId, Kind, names},
};
use serde::Serialize;

pub(crate) use self::carried::earlier;
use self::{carried::Carried, pinned::pinned};
use crate::{
    home::{Home, Signer},
    output::{escaped, program},
};

/// What a peer is to this side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Role {
    Consumer,
    Provider,
}

/// How to have what is pinned for a peer forgotten.
pub(crate) fn release_command(options: &str, peer: impl fmt::Display) -> String {
    format!(
        "The command is {} release {options} --remote-cluster-id {peer}.",
        program()
    )
}

/// How to lift a drain.
pub(crate) fn lift_drain(home: &Home, consumer: impl fmt::Display) -> String {
    format!(
        "{consumer} is drained: it gets no certificate and no rights until that is lifted. The command is {} activate tenant {consumer} {}.",
        program(),
        home.site().options()
    )
}

/// How a consumer gets the next Identity of a provider.
pub(crate) fn authenticate_again(home: &Home, provider: impl fmt::Display) -> String {
    let (program, options, own) = (program(), home.site().options(), home.cluster_id());
    format!(
        "To authenticate again with access to both clusters, run `{program} authenticate {options} --remote-home DIR` (or --remote-kubeconfig FILE). By files, the administrator of {provider} runs `{program} create nonce --remote-cluster-id {own} --replace`, and this side goes on with `{program} generate tenant {options} --remote-cluster-id {provider} --nonce NONCE`. Then {provider} runs `{program} apply -f FILE` and `{program} generate identity --remote-cluster-id {own}`, and this side `{program} apply -f FILE {options}`."
    )
}

/// How a consumer gets the present nonce of a provider.
pub(crate) fn present_nonce(home: &Home, provider: impl fmt::Display) -> String {
    let (program, own) = (program(), home.cluster_id());
    format!(
        "The administrator of {provider} prints it by `{program} get nonce --remote-cluster-id {own}`, and first makes one by `{program} create nonce --remote-cluster-id {own}` if there is none."
    )
}

/// What to do about a refusal: the library's advice, what is pinned if that is why, and the
/// commands that follow.
pub(crate) fn way_out(home: &Home, peer: &ClusterId, role: Role, error: &Error) -> String {
    let object = error.at().object.as_ref();
    let (advice, program, options) = (error.advice(), program(), home.site().options());
    let again = authenticate_again(home, peer);
    let of_nonce =
        |verb: &str| format!("{program} {verb} nonce {options} --remote-cluster-id {peer}");
    let carried = object.and_then(|object| Carried::of(home, object));
    let holder = || match object {
        Some(slice) if slice.kind == Kind::ResourceSlice => format!(
            "resourceslice {} --remote-cluster-id {peer}",
            escaped(&slice.name)
        ),
        _ => format!("tenant {peer}"),
    };
    let is_own_nonce = || object.is_some_and(|object| object.name == names::NONCE_SECRET);
    let is_for_another_key = matches!(
        error.fault(),
        Fault::PeerMisbehaved(PeerMisbehaved::Certificate(CertificateError::Key { .. }))
    );
    if role == Role::Provider
        && is_for_another_key
        && let Some(carried) = &carried
    {
        let sentence = carried.sentence(home, peer);
        return format!("The answer is for an earlier key of this cluster. {sentence}");
    }
    match (role, error.fault()) {
        (Role::Provider, Fault::PeerIncompatible(PeerIncompatible::EndpointChanged)) => {
            let pinned = pinned(home, peer, error).map(|pinned| format!("{pinned} "));
            let earlier = carried.map(|carried| {
                let sentence = carried.sentence(home, peer);
                format!(" If what is pinned is right, the answer is from before. {sentence}")
            });
            format!(
                "{advice} {}{} {again}{}",
                pinned.unwrap_or_default(),
                release_command(&options, peer),
                earlier.unwrap_or_default()
            )
        }
        (
            Role::Provider,
            Fault::PeerMisbehaved(PeerMisbehaved::Certificate(CertificateError::Key { .. })),
        ) => format!(
            "{advice} If this cluster or {peer} was restored from a backup, an earlier key is back. Then have the administrator of {peer} run {program} release --remote-cluster-id {}, and {program} create nonce --remote-cluster-id {}. {again}",
            home.cluster_id(),
            home.cluster_id()
        ),
        (
            Role::Provider,
            Fault::PeerMisbehaved(PeerMisbehaved::Commitment(_) | PeerMisbehaved::Certificate(_))
            | Fault::PeerIncompatible(PeerIncompatible::CertificateExpired { .. }),
        ) => format!("{advice} {again}"),
        (Role::Provider, Fault::PeerMisbehaved(PeerMisbehaved::NonceForOthers)) => {
            format!("{advice} {}", present_nonce(home, peer))
        }
        (Role::Provider, Fault::Precondition(Precondition::SlicesRemain { .. })) => {
            let slice = object.map_or_else(|| "NAME".into(), |slice| escaped(&slice.name));
            format!(
                "{advice} The command is {program} delete resourceslice {slice} {options} --remote-cluster-id {peer}."
            )
        }
        (Role::Provider, Fault::Policy(PolicyRefusal::SliceNotRequested)) => {
            let slice = object.map_or_else(|| "NAME".into(), |slice| escaped(&slice.name));
            format!(
                "{advice} The command is {program} create resourceslice {slice} {options} --remote-cluster-id {peer}, with the resources that you want. The setting is signSlicesMadeByAnyone: true under {peer} in peers."
            )
        }
        (Role::Consumer, Fault::Policy(PolicyRefusal::CertificateNotTrusted)) => format!(
            "{advice} The command is {program} sign-again {} --force {options}",
            holder()
        ),
        (Role::Consumer, Fault::Policy(PolicyRefusal::CredentialDenied { .. })) => {
            format!(
                "{advice} Then the command is {program} sign-again {} {options}.",
                holder()
            )
        }
        (Role::Consumer, Fault::Policy(PolicyRefusal::Disapproved { .. })) => {
            format!("{advice} The command is {program} approve tenant {peer} {options}.")
        }
        (Role::Consumer, Fault::PeerMisbehaved(PeerMisbehaved::Csr(CsrError::Key { .. }))) => {
            match carried {
                None => advice.to_owned(),
                Some(carried) => {
                    let ask =
                        carried.generate(&format!("--remote-cluster-id {}", home.cluster_id()));
                    format!(
                        "{advice} By files, the administrator of {peer} runs `{ask}`, and this side `{program} apply -f FILE {options}`."
                    )
                }
            }
        }
        (Role::Consumer, Fault::PeerMisbehaved(PeerMisbehaved::KeyChanged { .. })) => {
            format!("{advice} {}", release_command(&options, peer))
        }
        (
            Role::Consumer,
            Fault::PeerMisbehaved(PeerMisbehaved::NonceSignature(SignatureError::Mismatch)),
        ) => format!(
            "{advice} The nonce to sign is printed by {}. {peer} signs it by `{program} generate tenant --remote-cluster-id {} --nonce NONCE`.",
            of_nonce("get"),
            home.cluster_id()
        ),
        (Role::Consumer, Fault::PeerIncompatible(PeerIncompatible::NonceMissing))
            if is_own_nonce() =>
        {
            format!("{advice} The command is {}.", of_nonce("create"))
        }
        (
            Role::Consumer,
            Fault::PeerMisbehaved(PeerMisbehaved::NonceUsed | PeerMisbehaved::NonceNotOurs)
            | Fault::PeerIncompatible(PeerIncompatible::NonceExpired { .. }),
        ) if is_own_nonce() => {
            format!("{advice} The command is {} --replace.", of_nonce("create"))
        }
        _ => advice.to_owned(),
    }
}

/// The command that is a remedy. None if a person has to do or to decide something else first.
pub(crate) fn command(
    home: &Home,
    peer: &ClusterId,
    role: Role,
    remedy: &Remedy,
) -> Option<String> {
    let of_peer = format!("--remote-cluster-id {peer}");
    let typed = match remedy {
        Remedy::Invite => format!("create nonce {of_peer}"),
        Remedy::Approve => format!("approve tenant {peer}"),
        Remedy::AnswerRequest { .. } => {
            let is_signed_here = home.settings.signer != Signer::Aws && !home.is_signed_elsewhere();
            is_signed_here.then(|| "renew".to_owned())?
        }
        Remedy::ConfirmGrant { slice, .. } => {
            format!("approve resourceslice {} {of_peer}", escaped(&slice.name))
        }
        Remedy::UncordonSlice { slice } => {
            format!("uncordon resourceslice {} {of_peer}", escaped(&slice.name))
        }
        Remedy::LiftCondition { .. } => format!("uncordon tenant {peer}"),
        // On a cluster, Liqo's chart makes it.
        Remedy::CreateClusterRole { .. } if !home.is_live() => "renew".to_owned(),
        Remedy::CarryIdentity if role == Role::Consumer => format!("generate identity {of_peer}"),
        Remedy::CarryIdentity
        | Remedy::DeleteAccessKey { .. }
        | Remedy::DecideResources { .. }
        | Remedy::CreateClusterRole { .. }
        | Remedy::CompareFingerprint { .. }
        | Remedy::NameKubeconfig { .. } => return None,
    };
    Some(with_options(home, &typed))
}

/// The command that does what is due. None on a cluster, where the controllers do it.
pub(crate) fn run(home: &Home) -> Option<String> {
    (!home.is_live()).then(|| with_options(home, "renew"))
}

fn with_options(home: &Home, typed: &str) -> String {
    format!("{} {typed} {}", program(), home.site().options())
}
