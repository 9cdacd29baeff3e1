//! The answers of a provider that were carried before its address, its CA or this cluster's key
//! has changed, and the commands that carry the present ones by files.

use liqo_auth::{
    machine::replication,
    model::{
        AuthParams, ClusterId, Identity, Kind, Metadata, ObjectRef, Renew, ResourceSlice, names,
    },
};

use crate::{
    home::{Home, certified_spki},
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
    pub(super) fn generate(&self, options: &str) -> String {
        let (program, kind) = (program(), self.kind.as_str().to_lowercase());
        format!(
            "{program} generate {kind} {} {options}",
            escaped(&self.name)
        )
    }

    /// How a provider deletes a slice that its consumer has lost, in a sentence. A Renew ends with
    /// the peering.
    pub(super) fn deletion(&self, home: &Home, consumer: &ClusterId) -> Option<String> {
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
            self.generate(&format!("{options} --remote-cluster-id {provider}")),
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
    pub(crate) fn lines(&self, home: &Home, provider: &ClusterId) -> [String; 4] {
        let Self { kind, name } = self;
        let [ask, receive, answer, take] = self.commands(home, provider);
        [
            format!(
                "The answer in {kind} {} is from before, with another address, CA or key. {provider} has to answer again, and a person carries that.",
                escaped(name)
            ),
            format!("First here: {ask}"),
            format!("Then on {provider}: {receive}, and {answer}"),
            format!("At last here: {take}"),
        ]
    }
}

/// What was answered with another address or CA, or for another key, than the provider's Identity
/// has. On a cluster, a replicator carries the present answers.
pub(crate) fn earlier(home: &Home, provider: &ClusterId) -> Vec<Carried> {
    let name = names::identity_name(provider);
    let identity = home.all::<Identity>().find(|it| it.metadata.name == name);
    let Some(present) = identity.filter(|_| !home.is_live()) else {
        return Vec::new();
    };
    let is_earlier = |metadata: &Metadata, answer: &Option<AuthParams>| {
        replication::is_shared_with(metadata, provider) && { answer.as_ref() }
            .is_some_and(|it| !is_like(it, &present.spec.auth_params))
    };
    let renews = home.all::<Renew>();
    let renews = renews.filter(|it| is_earlier(&it.metadata, &it.status.auth_params));
    let renews = renews.map(|it| (Kind::Renew, &it.metadata.name));
    let slices = home.all::<ResourceSlice>();
    let slices = slices.filter(|it| is_earlier(&it.metadata, &it.status.auth_params));
    let slices = slices.map(|it| (Kind::ResourceSlice, &it.metadata.name));
    let carried = renews.chain(slices).map(|(kind, name)| Carried {
        kind,
        name: name.clone(),
    });
    carried.collect()
}

fn is_like(answer: &AuthParams, present: &AuthParams) -> bool {
    answer.api_server == present.api_server
        && answer.ca == present.ca
        && certified_spki(answer) == certified_spki(present)
}
