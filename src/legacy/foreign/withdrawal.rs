//! Taking identities and rights back.

use serde_json::json;

use super::{Foreign, is_of, seen::Seen};
use crate::{
    machine::{Effect, Part, Step, Version},
    model::{ClusterId, Metadata, Resource, ServiceAccount, names},
};

impl Foreign {
    pub(super) fn collect_garbage(&self, seen: &Seen<'_>, peer: &ClusterId) -> Step {
        let is_going = match (seen.foreign_cluster, &seen.claim) {
            (Some(cluster), _) if cluster.metadata.deletion_timestamp.is_some() => true,
            // Another one of that name was never the claim's.
            (cluster, Some((_, claim))) if !claim.foreign_cluster.is_empty() => {
                cluster.is_none_or(|cluster| cluster.metadata.uid != claim.foreign_cluster)
            }
            _ => false,
        };
        let account_is_going = seen
            .account
            .account
            .is_some_and(|account| account.metadata.deletion_timestamp.is_some());
        if is_going || account_is_going {
            return self.withdraw(seen, peer);
        }
        Step::default()
    }

    /// Everything that was made for the peer, the account's finalizer last of
    /// all: it stands for the cluster-wide rights, which Kubernetes does not
    /// take back by itself. The tenant namespace and the tokens stay.
    pub(super) fn withdraw(&self, seen: &Seen<'_>, peer: &ClusterId) -> Step {
        let mut effects = Vec::new();
        let account = &seen.account;
        let is_ours = |metadata: &Metadata| {
            let label = metadata.labels.get(names::LIQO_MANAGED_LABEL);
            is_of(metadata, peer) && label.map(String::as_str) == Some(names::TRUE)
        };
        effects.extend(delete(account.cluster_role_binding, is_ours));
        effects.extend(delete(account.cluster_role, is_ours));
        let cluster_wide_is_gone = effects.is_empty();
        effects.extend(delete(account.role_binding, is_ours));
        effects.extend(delete(account.role, is_ours));
        effects.extend(delete(account.token, is_ours));
        for binding in &seen.certificate.bindings {
            let is_basic = |metadata: &Metadata| {
                is_of(metadata, peer) && metadata.name.starts_with(names::BINDING_PREFIX)
            };
            effects.extend(delete(Some(*binding), is_basic));
        }
        effects.extend(delete(seen.certificate.issued, |metadata| {
            is_of(metadata, peer)
        }));
        if let Some(account) = account.account.filter(|account| is_ours(&account.metadata)) {
            if account.metadata.deletion_timestamp.is_none() {
                effects.extend(delete(Some(account), is_ours));
            } else if cluster_wide_is_gone {
                effects.extend(without_finalizer(account));
            }
        }
        // Last: while it is there, no other identity is given.
        let claim = seen.claim.as_ref().map(|(secret, _)| *secret);
        effects.extend(delete(claim, |_| true));
        Step {
            effects,
            ..Step::default()
        }
    }
}

fn delete<K: Resource>(object: Option<&K>, is_ours: impl Fn(&Metadata) -> bool) -> Option<Effect> {
    let object = object.filter(|object| is_ours(object.metadata()))?;
    Some(Effect::Delete {
        id: object.id(),
        version: Version::of(object.metadata()),
    })
}

fn without_finalizer(account: &ServiceAccount) -> Option<Effect> {
    let (ours, others): (Vec<&String>, Vec<&String>) = account
        .metadata
        .finalizers
        .iter()
        .partition(|finalizer| *finalizer == names::GARBAGE_COLLECTION_FINALIZER);
    (!ours.is_empty()).then(|| Effect::Patch {
        id: account.id(),
        version: Version::of(&account.metadata),
        part: Part::Main,
        patch: json!({ "metadata": { "finalizers": others } }),
    })
}
