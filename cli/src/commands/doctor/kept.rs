//! Deleted objects that are kept: by Liqo's replicator until a provider answers, which may be gone, and
//! a Tenant by the finalizer of another program.

use std::path::Path;

use liqo_auth::model::{Kind, Object, names};

use super::Finding;
use crate::{
    home::Home,
    output::{escaped, program, quoted},
    overview::{Peering, Role},
};

/// The deleted objects that wait for a provider, and what helps if it is gone for good.
pub(super) fn of<'o>(objects: impl Iterator<Item = &'o Object>) -> Vec<Finding> {
    objects.filter_map(finding).collect()
}

/// The deleted Tenant of a consumer without rights that another program's finalizer keeps, and how
/// its end comes.
pub(in crate::commands) fn of_peering(home: &Home, peering: &Peering) -> Option<Finding> {
    let mut tenants = home.objects().filter(|it| it.id().kind == Kind::Tenant);
    let tenant = tenants.find(|it| it.id().name == peering.peer);
    // One cluster may be both.
    let tenant = tenant.filter(|_| peering.role == Role::Consumer)?;
    let (id, metadata) = (tenant.id(), tenant.metadata());
    let ours = |finalizer: &String| finalizer == names::TENANT_FINALIZER;
    let others = &metadata.finalizers;
    if metadata.deletion_timestamp.is_none() || others.is_empty() || others.iter().any(ours) {
        return None;
    }
    let others: Vec<String> = others.iter().map(|finalizer| escaped(finalizer)).collect();
    let others = others.join(", ");
    // An API server deletes what has no finalizer any more. In a home, nobody does.
    let deleted = match home.is_live() {
        true => format!(
            "take it out by kubectl -n {} edit tenants.authentication.liqo.io {}",
            id.namespace, id.name
        ),
        false => format!("rm -- {}", quoted(Path::new(&home.site_of(&id)))),
    };
    Some(Finding::new(
        format!("{id} is deleted, and the finalizer {others} keeps it"),
        format!(
            "The peering ends when the program that has set {others} removes it. If that program is gone for good: {deleted}. Then the command is {} renew {}.",
            program(),
            home.site().options()
        ),
    ))
}

fn finding(object: &Object) -> Option<Finding> {
    let metadata = object.metadata();
    metadata.deletion_timestamp.as_ref()?;
    let mut finalizers = metadata.finalizers.iter();
    finalizers.find(|finalizer| finalizer.starts_with(OF_REPLICATOR))?;
    let peer = metadata.labels.get(names::REMOTE_CLUSTER_ID_LABEL)?;
    Some(Finding::new(
        format!(
            "{} is deleted, and Liqo's replicator keeps it until {peer} answers",
            object.id()
        ),
        format!(
            "Wait for {peer}. If it is gone for good, `kubectl annotate foreignclusters.core.liqo.io {peer} {GONE_FOR_GOOD}=true` says so, and the consumer's controllers let the object go."
        ),
    ))
}

const OF_REPLICATOR: &str = "crdreplicator.liqo.io/";
const GONE_FOR_GOOD: &str = "liqo.io/foreign-cluster-permanently-unreachable";

#[cfg(test)]
mod tests {
    use liqo_auth::model::{Kind, Renew, Timestamp};

    use super::*;

    fn renew(finalizer: &str, is_deleted: bool, peer: Option<&str>) -> Object {
        let mut renew = Renew::default();
        renew.metadata.name = "controlplane-milan".to_owned();
        renew.metadata.finalizers = vec!["example.com/one".to_owned(), finalizer.to_owned()];
        renew.metadata.deletion_timestamp = is_deleted.then_some(Timestamp::EPOCH);
        let label = peer.map(|peer| (names::REMOTE_CLUSTER_ID_LABEL.to_owned(), peer.to_owned()));
        renew.metadata.labels.extend(label);
        renew.into()
    }

    #[test]
    fn a_deleted_object_that_the_replicator_keeps_is_named_with_the_way_out() {
        let of_liqo = "crdreplicator.liqo.io/resource";
        let objects = [
            renew(of_liqo, true, Some("milan")),
            renew(of_liqo, false, Some("milan")),
            renew("example.com/two", true, Some("milan")),
            renew(of_liqo, true, None),
        ];
        let findings = of(objects.iter());
        let [Finding { what, remedy }] = findings.as_slice() else {
            panic!("{} findings", findings.len());
        };
        assert!(what.contains(Kind::Renew.as_str()), "{what}");
        assert!(what.ends_with("until milan answers"), "{what}");
        let command = "kubectl annotate foreignclusters.core.liqo.io milan liqo.io/foreign-cluster-permanently-unreachable=true";
        assert!(remedy.contains(command), "{remedy}");
    }
}
