//! What a peering waits for, from whom, and the command that helps.

use liqo_auth::{
    machine::{Awaited, Notice, Party, Refused, Remedy, Status},
    model::{ClusterId, ObjectRef},
};
use serde::Serialize;

use crate::{
    failure::{unreadable, with_code},
    home::{Home, Signer},
    output::{amounts, escaped},
    remedies::{self, Role, way_out},
};

/// Something that a peering waits for.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Waits {
    #[serde(flatten)]
    what: What,
    pub(crate) from: Party,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) remedy: Option<Remedy>,
    /// The command on this side that is the remedy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) command: Option<String>,
    /// The same, for people.
    pub(crate) text: String,
    /// What has to be done, for a reader on this side.
    #[serde(skip)]
    pub(crate) deed: String,
}

/// Something that is refused, or that nobody knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Refusal {
    /// None if the peering could not be judged.
    #[serde(flatten)]
    pub(crate) refused: Option<Refused>,
    /// The command on this side that is the remedy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) command: Option<String>,
    /// What to do about it.
    #[serde(skip)]
    pub(crate) way_out: String,
    /// Both, for people.
    pub(crate) text: String,
}

impl Refusal {
    /// The object of this side that cannot be read, if that is all that is wrong.
    pub(crate) fn unreadable(&self) -> Option<&ObjectRef> {
        unreadable(&self.refused.as_ref()?.error)
    }

    /// Whether the answer of a provider is refused, which is in a status.
    pub(super) fn is_of_an_answer(&self) -> bool {
        let refused = self.refused.iter();
        let mut fields = refused.map(|refused| refused.error.at().field);
        fields.any(|field| field.starts_with("status."))
    }
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

/// What a peering waits for, without duplicates: what is due here, what is awaited, and what
/// the notices ask for.
pub(super) fn waits_for(status: &Status, role: Role, home: &Home) -> Vec<Waits> {
    let peer = &status.peer;
    let mut all: Vec<Waits> = Vec::new();
    if status.is_due {
        let run = run().by(remedies::run(home));
        all.push(Waits::of(What::Run, Party::Administrator, None, run));
    }
    let told = |remedy: &Remedy| {
        let command = remedies::command(home, peer, role, remedy);
        told(remedy, peer, role, home).by(command)
    };
    let awaited = status.awaits.iter().map(|awaited| {
        let remedy = awaited.remedy();
        let told = match &remedy {
            Some(remedy) => told(remedy),
            None => without_remedy(awaited, peer, home),
        };
        let what = What::Awaited(awaited.clone());
        Waits::of(what, awaited.party(), remedy, told)
    });
    // This side cannot know whether a person has carried the Identity.
    let notices = status.notices.iter();
    let notices = notices.filter(|notice| **notice != Notice::RenewalNotCarried);
    let noticed = notices.filter_map(|notice| {
        let remedy = notice.remedy().filter(is_asked_for)?;
        let told = told(&remedy);
        let from = Party::Administrator;
        Some(Waits::of(What::Notice, from, Some(remedy), told))
    });
    for waits in awaited.chain(noticed) {
        if all.iter().all(|known| known.text != waits.text) {
            all.push(waits);
        }
    }
    all
}

impl Waits {
    fn of(what: What, from: Party, remedy: Option<Remedy>, told: Told) -> Self {
        let text = match &told.by {
            By::ThisSide => format!("this side: {}", told.deed),
            By::ThisCluster => format!("this cluster: {}", told.deed),
            By::ItsSigner => format!("this cluster's signer: {}", told.deed),
            By::Peer(peer) => format!("{peer}: {}", told.deed),
        };
        Self {
            what,
            from,
            remedy,
            command: told.command,
            deed: match told.by {
                By::ThisSide => told.deed,
                By::ThisCluster | By::ItsSigner | By::Peer(_) => text.clone(),
            },
            text,
        }
    }

    /// Whether the peer is not invited, or not any more. Nobody has to invite it.
    pub(crate) fn is_for_an_invitation(&self) -> bool {
        self.remedy == Some(Remedy::Invite)
    }

    /// Whether the provider's first answer is awaited.
    pub(crate) fn is_for_an_identity(&self) -> bool {
        self.what == What::Awaited(Awaited::Identity)
    }

    /// Whether the provider's decision on a slice is awaited.
    pub(crate) fn is_for_a_slice(&self) -> bool {
        matches!(self.what, What::Awaited(Awaited::SliceDecision(_)))
    }

    /// Whether this side's signer has to answer.
    pub(crate) fn is_for_the_signer(&self) -> bool {
        matches!(self.remedy, Some(Remedy::AnswerRequest { .. }))
    }

    /// Whether a run of this tool does what is due.
    pub(crate) fn is_for_a_run(&self) -> bool {
        self.what == What::Run
    }
}

/// Who does what, as people read it.
struct Told {
    by: By,
    deed: String,
    command: Option<String>,
}

impl Told {
    /// The same, by this command.
    fn by(self, command: Option<String>) -> Self {
        Self { command, ..self }
    }
}

enum By {
    ThisSide,
    ThisCluster,
    ItsSigner,
    Peer(ClusterId),
}

impl By {
    fn does(self, deed: impl Into<String>) -> Told {
        Told {
            by: self,
            deed: deed.into(),
            command: None,
        }
    }
}

/// What is refused, and the way out.
pub(super) fn refusals(status: &Status, role: Role, home: &Home) -> Vec<Refusal> {
    let refused = status.refused.iter();
    refused
        .map(|refused| refusal(refused.clone(), &status.peer, role, home))
        .collect()
}

/// A refusal, and the way out.
pub(super) fn refusal(refused: Refused, peer: &ClusterId, role: Role, home: &Home) -> Refusal {
    let error = &refused.error;
    let unread = unreadable(error).and_then(|id| remedies::unread(home, id));
    let way_out = unread.unwrap_or_else(|| way_out(home, peer, role, error));
    let remedy = error.remedy();
    Refusal {
        command: remedy.and_then(|it| remedies::command(home, peer, role, &it)),
        text: format!("{}. {way_out}", with_code(error)),
        way_out,
        refused: Some(refused),
    }
}

/// Whether a peering stays as it is without the remedy. A key is in force before somebody has
/// compared its fingerprint.
fn is_asked_for(remedy: &Remedy) -> bool {
    !matches!(remedy, Remedy::CompareFingerprint { .. })
}

/// One run does all that is due, and signs with the home's own CA.
fn run() -> Told {
    By::ThisSide.does("run `liqo-auth renew`")
}

/// What a person does.
fn told(remedy: &Remedy, peer: &ClusterId, role: Role, home: &Home) -> Told {
    let here = |deed: String| By::ThisSide.does(deed);
    match remedy {
        Remedy::Invite => By::ThisSide.does("`create nonce` invites the peer"),
        Remedy::Approve => here(format!("run `approve tenant {peer}`")),
        Remedy::AnswerRequest { .. } if home.settings.signer == Signer::Aws => {
            By::ThisSide.does("run `set aws-user`")
        }
        Remedy::AnswerRequest { .. } if home.is_signed_elsewhere() => {
            By::ItsSigner.does("`export` prints the request")
        }
        Remedy::AnswerRequest { .. } => run(),
        Remedy::DeleteAccessKey { access_key_id, .. } => here(format!(
            "delete the access key {access_key_id} at AWS, and then run `delete aws-key`"
        )),
        Remedy::DecideResources { slice } => here(format!("the decision on {}", slice.name)),
        Remedy::ConfirmGrant { slice, resources } => here(format!(
            "run `approve resourceslice {}` to grant {} again, as Liqo has",
            slice.name,
            amounts(resources)
        )),
        Remedy::UncordonSlice { slice } => here(format!(
            "`uncordon resourceslice {}` lifts the cordon",
            slice.name
        )),
        Remedy::LiftCondition { condition } => here(format!(
            "`uncordon tenant {peer}` lifts {condition:?}, which stays until then"
        )),
        Remedy::CreateClusterRole { label_value } => here(format!(
            "a ClusterRole with the label app.kubernetes.io/name={label_value}"
        )),
        Remedy::CarryIdentity if role == Role::Consumer => here(format!(
            "`generate identity` prints the new Identity, which {peer} applies"
        )),
        Remedy::CarryIdentity => {
            By::Peer(peer.clone()).does("its new Identity, which `apply` takes")
        }
        Remedy::CompareFingerprint { fingerprint } => here(format!(
            "compare {fingerprint} with the administrator of {peer}"
        )),
        Remedy::NameKubeconfig { digest } => here(format!(
            "if you made the kubeconfig, set `kubeconfigDigest: {digest}` for {peer}"
        )),
        Remedy::CarryAnswer { object } => here(format!(
            "carry {} to {peer}, and its answer back",
            object.name
        )),
        Remedy::AuthenticateAgain => here(format!("authenticate with {peer} again")),
        Remedy::Release => here(format!("release {peer}, whose address or CA has changed")),
        // A refusal has these remedies.
        Remedy::ReplaceNonce
        | Remedy::CarryNonce
        | Remedy::CarryRequest { .. }
        | Remedy::SignAgain { .. }
        | Remedy::RequestSlice { .. }
        | Remedy::DeleteSlice { .. } => here(format!("the remedy {}", remedy.code())),
    }
}

/// Which finalizers keep an object, if any do.
fn kept_by(home: &Home, id: &ObjectRef) -> String {
    let object = home.objects().find(|object| object.id() == *id);
    let finalizers = object.map_or(&[][..], |object| &object.metadata().finalizers);
    let finalizers: Vec<String> = finalizers.iter().map(|it| escaped(it)).collect();
    match finalizers.is_empty() {
        true => String::new(),
        false => format!(", and is kept by {}", finalizers.join(", ")),
    }
}

/// What nobody on this side can hasten.
fn without_remedy(awaited: &Awaited, peer: &ClusterId, home: &Home) -> Told {
    let there = |deed: String| By::Peer(peer.clone()).does(deed);
    match awaited {
        Awaited::Nonce => there("its nonce".to_owned()),
        Awaited::Tenant => there("its Tenant".to_owned()),
        Awaited::Identity => there("its Identity".to_owned()),
        Awaited::SliceDecision(slice) => there(format!("its decision on {}", slice.name)),
        Awaited::SliceRequest(slice) => there(format!("the request in {}", slice.name)),
        Awaited::Renewal(identity) => there(format!("a new certificate for {}", identity.name)),
        Awaited::Names => By::ThisSide.does("whether the peer's names are free"),
        Awaited::OwnKey => By::ThisSide.does("its key"),
        // A run signs with this side's key.
        Awaited::Signature(_) => run().by(remedies::run(home)),
        Awaited::End(object) => By::ThisCluster.does(format!(
            "the end of {object}, which is being deleted{}",
            kept_by(home, object)
        )),
        Awaited::Uid(object) => By::ThisCluster.does(format!("the UID of {object}")),
        Awaited::Token(object) => By::ThisCluster.does(format!("the token in {object}")),
        Awaited::Invitation
        | Awaited::Approval
        | Awaited::Credential(_)
        | Awaited::Resources(_)
        | Awaited::AwsRevocation { .. } => By::ThisSide.does("its administrator"),
    }
}
