//! The commands of the tool `liqo-auth` that are remedies.

use liqo_auth::{
    machine::{Remedy, Side},
    model::{ClusterId, Kind},
};

/// The command of the tool `liqo-auth` by which this side does what a remedy says, without the
/// name of the program and the options that name the cluster. A person puts something in the
/// place of `FILE` and `NONCE`. `None` if no command does it.
///
/// # Examples
/// ```
/// use liqo_auth::machine::{Remedy, Side};
/// use liqo_auth_kube::command_of;
///
/// let (remedy, peer) = (Remedy::CarryIdentity, "rome".parse()?);
/// let command = command_of(&remedy, &peer, Side::Provider);
/// assert_eq!(command.as_deref(), Some("generate identity --remote-cluster-id rome"));
/// let command = command_of(&remedy, &peer, Side::Consumer);
/// assert_eq!(command.as_deref(), Some("apply -f FILE"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn command_of(remedy: &Remedy, peer: &ClusterId, side: Side) -> Option<String> {
    with_purpose(remedy, peer, side).map(|(_, command)| command)
}

/// A sentence with the command of a remedy, as a person types it, after the advice of the error.
///
/// # Examples
/// ```
/// use liqo_auth::machine::{Remedy, Side};
/// use liqo_auth_kube::{command_of, sentence_of};
///
/// let (remedy, peer) = (Remedy::Approve, "rome".parse()?);
/// let command = command_of(&remedy, &peer, Side::Provider).map(|command| format!("liqo-auth {command}"));
/// let sentence = sentence_of(&remedy, &peer, &command.unwrap_or_default());
/// assert_eq!(sentence, "The command is liqo-auth approve tenant rome.");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn sentence_of(remedy: &Remedy, peer: &ClusterId, command: &str) -> String {
    match remedy {
        Remedy::SignAgain { force: false, .. } => format!("Then the command is {command}."),
        Remedy::RequestSlice { .. } => format!(
            "The command is {command}, with the resources that you want. The setting is signSlicesMadeByAnyone: true under {peer} in peers."
        ),
        _ => format!("The command is {command}."),
    }
}

/// What a command is for, and the command.
pub(crate) fn with_purpose(
    remedy: &Remedy,
    peer: &ClusterId,
    side: Side,
) -> Option<(&'static str, String)> {
    let of_peer = format!("--remote-cluster-id {peer}");
    Some(match remedy {
        Remedy::Invite => ("To invite the peer", format!("create nonce {of_peer}")),
        Remedy::ReplaceNonce => (
            "To make another nonce",
            format!("create nonce {of_peer} --replace"),
        ),
        Remedy::CarryNonce => carry_nonce(&of_peer, side),
        Remedy::CarryIdentity => carry_identity(&of_peer, side),
        Remedy::AuthenticateAgain => (
            "To authenticate again",
            "authenticate --remote-kubeconfig FILE".to_owned(),
        ),
        Remedy::AnswerRequest { .. } => ("To have the request signed", "renew".to_owned()),
        Remedy::Approve => ("To approve the peer", format!("approve tenant {peer}")),
        Remedy::Release => ("To forget what is pinned", format!("release {of_peer}")),
        Remedy::LiftCondition { .. } => {
            ("To lift the condition", format!("uncordon tenant {peer}"))
        }
        Remedy::SignAgain { object, force } => {
            let holder = match object.kind {
                Kind::ResourceSlice => format!("resourceslice {} {of_peer}", object.name),
                _ => format!("tenant {peer}"),
            };
            let force = if *force { " --force" } else { "" };
            (
                "To have the certificate signed again",
                format!("sign-again {holder}{force}"),
            )
        }
        Remedy::ConfirmGrant { slice, .. } => (
            "To confirm a grant of Liqo",
            format!("approve resourceslice {} {of_peer}", slice.name),
        ),
        Remedy::UncordonSlice { slice } => (
            "To lift the cordon of a slice",
            format!("uncordon resourceslice {} {of_peer}", slice.name),
        ),
        Remedy::RequestSlice { slice } => (
            "To request the slice",
            format!("create resourceslice {} {of_peer}", slice.name),
        ),
        Remedy::DeleteSlice { slice } => (
            "To delete the slice",
            format!("delete resourceslice {} {of_peer}", slice.name),
        ),
        Remedy::DeleteAccessKey { access_key_id, .. } => (
            "To note that the key is deleted at AWS",
            format!("delete aws-key {access_key_id} {of_peer}"),
        ),
        // Between two clusters, a replicator carries both.
        Remedy::CarryAnswer { .. } | Remedy::CarryRequest { .. } => return None,
        Remedy::CompareFingerprint { .. }
        | Remedy::CreateClusterRole { .. }
        | Remedy::DecideResources { .. }
        | Remedy::NameKubeconfig { .. } => return None,
    })
}

/// The provider prints the nonce, and the consumer signs it.
fn carry_nonce(of_peer: &str, side: Side) -> (&'static str, String) {
    match side {
        Side::Provider => ("To print the nonce", format!("get nonce {of_peer}")),
        Side::Consumer => (
            "To sign the provider's nonce",
            format!("generate tenant {of_peer} --nonce NONCE"),
        ),
    }
}

/// The provider prints the Identity, and the consumer takes it.
fn carry_identity(of_peer: &str, side: Side) -> (&'static str, String) {
    match side {
        Side::Provider => (
            "To print the Identity",
            format!("generate identity {of_peer}"),
        ),
        Side::Consumer => (
            "To take the provider's Identity",
            "apply -f FILE".to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use liqo_auth::model::{ObjectRef, TenantCondition};

    use super::*;

    #[test]
    fn what_a_person_does_before_a_command_or_with_it_is_said() {
        let slice = ObjectRef::new(Kind::ResourceSlice, "liqo-tenant-rome", "pool");
        let peer = "rome".parse().unwrap();
        let sign_again = |force| {
            let object = slice.clone();
            sentence_of(&Remedy::SignAgain { object, force }, &peer, "sign-again")
        };
        assert_eq!(sign_again(false), "Then the command is sign-again.");
        assert_eq!(sign_again(true), "The command is sign-again.");
        let request = Remedy::RequestSlice {
            slice: slice.clone(),
        };
        assert_eq!(
            sentence_of(&request, &peer, "create"),
            "The command is create, with the resources that you want. The setting is signSlicesMadeByAnyone: true under rome in peers."
        );
    }

    #[test]
    fn each_command_is_one_of_the_tool() {
        let of = |kind, name| ObjectRef::new(kind, "liqo-tenant-rome", name);
        let slice = || of(Kind::ResourceSlice, "pool");
        let sign_again = |object, force| Remedy::SignAgain { object, force };
        let peer = "rome".parse().unwrap();
        for (remedy, command) in [
            (Remedy::Invite, "create nonce --remote-cluster-id rome"),
            (
                Remedy::ReplaceNonce,
                "create nonce --remote-cluster-id rome --replace",
            ),
            (
                Remedy::AuthenticateAgain,
                "authenticate --remote-kubeconfig FILE",
            ),
            (
                Remedy::AnswerRequest {
                    id: "1".repeat(64).parse().unwrap(),
                },
                "renew",
            ),
            (Remedy::Approve, "approve tenant rome"),
            (Remedy::Release, "release --remote-cluster-id rome"),
            (
                Remedy::LiftCondition {
                    condition: TenantCondition::Drained,
                },
                "uncordon tenant rome",
            ),
            (
                sign_again(of(Kind::Tenant, "any"), false),
                "sign-again tenant rome",
            ),
            (
                sign_again(slice(), true),
                "sign-again resourceslice pool --remote-cluster-id rome --force",
            ),
            (
                Remedy::ConfirmGrant {
                    slice: slice(),
                    resources: [].into(),
                },
                "approve resourceslice pool --remote-cluster-id rome",
            ),
            (
                Remedy::UncordonSlice { slice: slice() },
                "uncordon resourceslice pool --remote-cluster-id rome",
            ),
            (
                Remedy::RequestSlice { slice: slice() },
                "create resourceslice pool --remote-cluster-id rome",
            ),
            (
                Remedy::DeleteSlice { slice: slice() },
                "delete resourceslice pool --remote-cluster-id rome",
            ),
            (
                Remedy::DeleteAccessKey {
                    user_arn: "arn:aws:iam::1:user/rome".to_owned(),
                    access_key_id: "AKIA1".to_owned(),
                },
                "delete aws-key AKIA1 --remote-cluster-id rome",
            ),
        ] {
            let found = command_of(&remedy, &peer, Side::Provider);
            assert_eq!(found.as_deref(), Some(command));
        }
    }

    #[test]
    fn what_is_carried_has_a_command_on_each_side() {
        let peer = "rome".parse().unwrap();
        for (remedy, at_provider, at_consumer) in [
            (
                Remedy::CarryNonce,
                "get nonce --remote-cluster-id rome",
                "generate tenant --remote-cluster-id rome --nonce NONCE",
            ),
            (
                Remedy::CarryIdentity,
                "generate identity --remote-cluster-id rome",
                "apply -f FILE",
            ),
        ] {
            for (side, command) in [(Side::Provider, at_provider), (Side::Consumer, at_consumer)] {
                assert_eq!(command_of(&remedy, &peer, side).as_deref(), Some(command));
            }
        }
    }
}
