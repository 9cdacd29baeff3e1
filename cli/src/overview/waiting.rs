//! What a peering waits for, from whom, and the command that helps.

use liqo_auth::{
    machine::{Awaited, Notice, Party, Refused, Remedy, Step},
    model::ClusterId,
};
use serde::Serialize;

use super::Role;
use crate::{
    failure::paragraph,
    home::{Home, Signer},
    output::amounts,
};

/// Something that a peering waits for.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Waits {
    #[serde(flatten)]
    what: What,
    from: Party,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) remedy: Option<Remedy>,
    /// The same, for people.
    pub(crate) text: String,
}

/// Something that is refused, or that nobody knows.
#[derive(Debug, Serialize)]
pub(crate) struct Refusal {
    /// None if the peering could not be judged.
    #[serde(flatten)]
    pub(crate) refused: Option<Refused>,
    /// The same, for people.
    pub(crate) text: String,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum What {
    /// A run of this tool, which carries out what is due.
    Run,
    /// What a notice says.
    Notice,
    #[serde(untagged)]
    Awaited(Awaited),
}

/// What a peering waits for, without duplicates: what its step awaits, and what the notices
/// ask for.
pub(super) fn waits_for(
    step: &Step,
    notices: &[Notice],
    peer: &ClusterId,
    role: Role,
    home: &Home,
) -> Vec<Waits> {
    let mut all: Vec<Waits> = Vec::new();
    if !step.effects.is_empty() {
        all.push(Waits {
            what: What::Run,
            from: Party::Administrator,
            remedy: None,
            text: RUN.to_owned(),
        });
    }
    let told = |remedy: &Remedy| told(remedy, peer, role, home);
    let awaited = step.wait.awaiting.iter().map(|awaited| {
        let remedy = awaited.remedy();
        Waits {
            from: awaited.party(),
            text: remedy
                .as_ref()
                .map_or_else(|| without_remedy(awaited, peer), told),
            remedy,
            what: What::Awaited(awaited.clone()),
        }
    });
    let noticed = notices.iter().filter_map(|notice| {
        let remedy = notice.remedy().filter(is_asked_for)?;
        Some(Waits {
            what: What::Notice,
            from: Party::Administrator,
            text: told(&remedy),
            remedy: Some(remedy),
        })
    });
    for waits in awaited.chain(noticed) {
        if all.iter().all(|known| known.text != waits.text) {
            all.push(waits);
        }
    }
    all
}

/// The refusals of a step.
pub(super) fn refusals(step: &Step) -> Vec<Refusal> {
    let of = |refused: &Refused| Refusal {
        text: paragraph(&refused.error),
        refused: Some(refused.clone()),
    };
    step.refused.iter().map(of).collect()
}

/// Whether a peering stays as it is without the remedy. A key is in force before somebody has
/// compared its fingerprint.
fn is_asked_for(remedy: &Remedy) -> bool {
    !matches!(remedy, Remedy::CompareFingerprint { .. })
}

/// One run does all that is due, and signs with the home's own CA.
const RUN: &str = "this side: run `liqo-auth renew`";

/// What a person on this side does.
fn told(remedy: &Remedy, peer: &ClusterId, role: Role, home: &Home) -> String {
    match remedy {
        Remedy::Invite => "this side: `create nonce` invites the peer".to_owned(),
        Remedy::Approve => format!("this side: run `approve tenant {peer}`"),
        Remedy::AnswerRequest { .. } if home.settings.signer == Signer::Aws => {
            "this side: run `set aws-user`".to_owned()
        }
        Remedy::AnswerRequest { .. } if home.is_signed_elsewhere() => {
            "this cluster's signer: `export` prints the request".to_owned()
        }
        Remedy::AnswerRequest { .. } => RUN.to_owned(),
        Remedy::DeleteAccessKey { access_key_id, .. } => format!(
            "this side: delete the access key {access_key_id} at AWS, and then run `delete aws-key`"
        ),
        Remedy::DecideResources { slice } => format!("this side: the decision on {}", slice.name),
        Remedy::ConfirmGrant { slice, resources } => format!(
            "this side: run `approve resourceslice {}` to grant {} again, as Liqo has",
            slice.name,
            amounts(resources)
        ),
        Remedy::UncordonSlice { slice } => {
            format!(
                "this side: `uncordon resourceslice {}` lifts the cordon",
                slice.name
            )
        }
        Remedy::LiftCondition { condition } => {
            format!(
                "this side: `uncordon tenant {peer}` lifts {condition:?}, which stays until then"
            )
        }
        Remedy::CreateClusterRole { label_value } => {
            format!("this side: a ClusterRole with the label app.kubernetes.io/name={label_value}")
        }
        Remedy::CarryIdentity if role == Role::Consumer => {
            format!("this side: `generate identity` prints the new Identity, which {peer} applies")
        }
        Remedy::CarryIdentity => format!("{peer}: its new Identity, which `apply` takes"),
        Remedy::CompareFingerprint { fingerprint } => {
            format!("this side: compare {fingerprint} with the administrator of {peer}")
        }
        Remedy::NameKubeconfig { digest } => format!(
            "this side: if you made the kubeconfig, set `kubeconfigDigest: {digest}` for {peer}"
        ),
    }
}

/// What nobody on this side can hasten.
fn without_remedy(awaited: &Awaited, peer: &ClusterId) -> String {
    match awaited {
        Awaited::Nonce => format!("{peer}: its nonce"),
        Awaited::Tenant => format!("{peer}: its Tenant"),
        Awaited::Identity => format!("{peer}: its Identity"),
        Awaited::SliceDecision(slice) => format!("{peer}: its decision on {}", slice.name),
        Awaited::SliceRequest(slice) => format!("{peer}: the request in {}", slice.name),
        Awaited::Renewal(identity) => format!("{peer}: a new certificate for {}", identity.name),
        Awaited::Names => "this side: whether the peer's names are free".to_owned(),
        Awaited::OwnKey => "this side: its key".to_owned(),
        Awaited::Signature(_) => "this side: a signature by its key".to_owned(),
        Awaited::End(object) => {
            format!("this cluster: the end of {object}, which is being deleted")
        }
        Awaited::Uid(object) => format!("this cluster: the UID of {object}"),
        Awaited::Token(object) => format!("this cluster: the token in {object}"),
        Awaited::Invitation
        | Awaited::Approval
        | Awaited::Credential(_)
        | Awaited::Resources(_)
        | Awaited::AwsRevocation { .. } => "this side: its administrator".to_owned(),
    }
}
