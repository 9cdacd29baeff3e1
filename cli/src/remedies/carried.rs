//! The answers of a provider that were carried before its address, its CA or this cluster's key
//! has changed, or that have expired since, and the commands that carry the present ones by files.

use liqo_auth::{
    machine::replication,
    model::{
        AuthParams, ClusterId, Identity, Kind, Metadata, ObjectRef, Renew, ResourceSlice,
        Timestamp, names,
    },
};

use super::{Role, other_cluster, with_options};
use crate::{
    home::{Home, certified_spki, has_expired},
    output::{escaped, program},
};

/// Something that Liqo's replicator carries between two clusters, and a person by files.
pub(crate) struct Carried {
    kind: Kind,
    name: String,
}

impl Carried {
    /// What is carried if this object is refused: a Renew, a slice, or the slice of an Identity.
    pub(super) fn of(home: &Home, object: &ObjectRef) -> Option<Self> {
        let (kind, name) = match object.kind {
            Kind::Renew | Kind::ResourceSlice => (object.kind, object.name.as_str()),
            Kind::Identity => {
                let slice = object
                    .name
                    .strip_prefix(names::RESOURCE_SLICE_IDENTITY_PREFIX)?;
                (Kind::ResourceSlice, slice)
            }
            _ => return None,
        };
        // On a cluster, a replicator carries it.
        (!home.is_live()).then(|| Self {
            kind,
            name: name.to_owned(),
        })
    }

    /// The command that prints it, with these options.
    fn generate(&self, options: &str) -> String {
        let (program, kind) = (program(), self.kind.as_str().to_lowercase());
        format!(
            "{program} generate {kind} {} {options}",
            escaped(&self.name)
        )
    }

    /// The command of a consumer that prints what the provider answers.
    pub(super) fn ask(&self, home: &Home, provider: &ClusterId) -> String {
        let options = home.site().options();
        self.generate(&format!("{options} --remote-cluster-id {provider}"))
    }

    /// How a consumer gets the provider's answer anew, in a sentence.
    pub(super) fn answer_again(&self, home: &Home, provider: &ClusterId) -> String {
        let [first, second] = other_cluster(home);
        format!(
            "With access to both clusters, run `{}` (or {second}). {}",
            with_options(home, &format!("replicate {first}")),
            self.sentence(home, provider)
        )
    }

    /// How a provider gets the consumer's request anew, with its own command, in a sentence.
    pub(super) fn request_again(&self, home: &Home, consumer: &ClusterId, take: &str) -> String {
        let ask = self.generate(&format!("--remote-cluster-id {}", home.cluster_id()));
        let deleted = self.deletion(home, consumer).unwrap_or_default();
        format!(
            "By files, the administrator of {consumer} runs `{ask}`, and this side `{take}`.{deleted}"
        )
    }

    /// How a provider deletes a slice that its consumer has lost, in a sentence. A Renew ends with
    /// the peering.
    fn deletion(&self, home: &Home, consumer: &ClusterId) -> Option<String> {
        (self.kind == Kind::ResourceSlice).then(|| {
            format!(
                " If {consumer} was made anew and has no such slice any more, this side deletes it: {} delete resourceslice {} {} --remote-cluster-id {consumer}.",
                program(),
                escaped(&self.name),
                home.site().options()
            )
        })
    }

    /// The commands that carry it to the provider, and the answer back: here, the two at the
    /// provider, and here again.
    fn commands(&self, home: &Home, provider: &ClusterId) -> [String; 4] {
        let (program, options, own) = (program(), home.site().options(), home.cluster_id());
        [
            self.ask(home, provider),
            format!("{program} apply -f FILE"),
            self.generate(&format!("--remote-cluster-id {own}")),
            format!("{program} apply -f FILE {options}"),
        ]
    }

    /// The commands in a sentence.
    pub(super) fn sentence(&self, home: &Home, provider: &ClusterId) -> String {
        let [ask, receive, answer, take] = self.commands(home, provider);
        format!(
            "By files, the present answer is carried by `{ask}` here, by `{receive}` and `{answer}` on {provider}, and by `{take}` here."
        )
    }

    /// The same in lines, and what has to be carried.
    pub(crate) fn lines(&self, home: &Home, provider: &ClusterId, why: Why) -> [String; 4] {
        let Self { kind, name } = self;
        let [ask, receive, answer, take] = self.commands(home, provider);
        let why = match why {
            Why::Another => "is from before, with another address, CA or key",
            Why::Expired => "has expired",
            Why::Older => "is older than the Identity",
        };
        [
            format!(
                "The answer in {kind} {} {why}. {provider} has to answer again, and a person carries that.",
                escaped(name)
            ),
            format!("First here: {ask}"),
            format!("Then on {provider}: {receive}, and {answer}"),
            format!("At last here: {take}"),
        ]
    }
}

/// Why a provider has to answer again.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Why {
    /// The answer has another address or CA than the provider's Identity, or is for another key.
    Another,
    Expired,
    /// A Renew has another certificate than the Identity that was carried after it.
    Older,
}

/// What the provider has to answer again, compared with its Identity. On a cluster, a replicator
/// carries the present answers.
pub(crate) fn earlier(home: &Home, provider: &ClusterId, now: Timestamp) -> Vec<(Carried, Why)> {
    let name = names::identity_name(provider);
    let identity = home.all::<Identity>().find(|it| it.metadata.name == name);
    let Some(present) = identity.filter(|_| !home.is_live()) else {
        return Vec::new();
    };
    let present = &present.spec.auth_params;
    let why = |kind: Kind, metadata: &Metadata, answer: &Option<AuthParams>| {
        let is_shared = replication::is_shared_with(metadata, provider);
        let why = why(answer.as_ref().filter(|_| is_shared)?, present, now);
        let is_of_identity = kind == Kind::Renew && metadata.name == name;
        let why = why.filter(|why| is_of_identity || !matches!(why, Why::Older))?;
        let name = metadata.name.clone();
        Some((Carried { kind, name }, why))
    };
    let renews = home.all::<Renew>();
    let renews = renews.filter_map(|it| why(Kind::Renew, &it.metadata, &it.status.auth_params));
    let slices = home.all::<ResourceSlice>();
    let slices =
        slices.filter_map(|it| why(Kind::ResourceSlice, &it.metadata, &it.status.auth_params));
    renews.chain(slices).collect()
}

fn why(answer: &AuthParams, present: &AuthParams, now: Timestamp) -> Option<Why> {
    if !is_like(answer, present) {
        return Some(Why::Another);
    }
    if has_expired(answer, now) {
        return Some(Why::Expired);
    }
    (answer.signed_crt != present.signed_crt).then_some(Why::Older)
}

fn is_like(answer: &AuthParams, present: &AuthParams) -> bool {
    answer.api_server == present.api_server
        && answer.ca == present.ca
        && certified_spki(answer) == certified_spki(present)
}

/// What has the next certificate of a control plane at the provider, as `generate` names it: the
/// Renew that the provider has answered before, or else the Identity. With the Identity alone, the
/// earlier answer would stay in the Renew, and be refused.
pub(crate) fn carrier(home: &Home, peer: &str, role: Role) -> String {
    let provider = match role {
        Role::Consumer => home.cluster_id().as_str(),
        Role::Provider => peer,
    };
    let name = format!("{}{provider}", names::CONTROL_PLANE_IDENTITY_PREFIX);
    let is_of_peer = |metadata: &Metadata| {
        let origin = metadata.labels.get(names::REPLICATION_ORIGIN_LABEL);
        role == Role::Provider || origin.map(String::as_str) == Some(peer)
    };
    let is_answered = home.all::<Renew>().any(|renew| {
        renew.metadata.name == name
            && is_of_peer(&renew.metadata)
            && renew.status.auth_params.is_some()
    });
    match is_answered {
        true => format!("renew {name}"),
        false => "identity".to_owned(),
    }
}
