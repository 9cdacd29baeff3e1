//! Withdrawing identities and rights.

use super::look::{Look, Plan};
use crate::{
    legacy::objects::is_of,
    model::{Metadata, Resource, ServiceAccount, names},
};

impl Look<'_> {
    /// Whether the service account or the ForeignCluster of the peer was
    /// deleted.
    pub(super) fn is_ending(&self) -> bool {
        let observed = self.observed;
        let cluster = observed.foreign_cluster;
        let is_going = |metadata: &Metadata| metadata.deletion_timestamp.is_some();
        // A ForeignCluster with another UID is not the one that the claim records.
        let is_claims_cluster_gone = observed.claim().is_some_and(|claim| {
            !claim.foreign_cluster.is_empty()
                && cluster.is_none_or(|cluster| cluster.metadata.uid != claim.foreign_cluster)
        });
        let account = observed.account.account;
        is_claims_cluster_gone
            || cluster.is_some_and(|cluster| is_going(&cluster.metadata))
            || account.is_some_and(|account| is_going(&account.metadata))
    }

    /// Deletes everything that was made for the peer. The account's finalizer is
    /// released last: it protects the cluster-wide rights, which Kubernetes does not
    /// delete by itself. The tenant namespace and the tokens stay.
    pub(super) fn withdraw(&self, plan: &mut Plan<'_>) {
        let observed = self.observed;
        let peer = self.peer();
        let account = &observed.account;
        let is_managed = |metadata: &Metadata| {
            is_of(metadata, peer) && metadata.label(names::LIQO_MANAGED_LABEL) == Some(names::TRUE)
        };
        withdraw(account.cluster_role_binding, is_managed, plan);
        withdraw(account.cluster_role, is_managed, plan);
        withdraw(account.role_binding, is_managed, plan);
        withdraw(account.role, is_managed, plan);
        withdraw(account.token, is_managed, plan);
        for binding in &observed.certificate.bindings {
            let is_basic = |metadata: &Metadata| {
                is_of(metadata, peer) && metadata.name.starts_with(names::BINDING_PREFIX)
            };
            withdraw(Some(*binding), is_basic, plan);
        }
        let is_peers = |metadata: &Metadata| is_of(metadata, peer);
        withdraw(observed.certificate.issued, is_peers, plan);
        match account
            .account
            .filter(|account| is_managed(&account.metadata))
        {
            Some(account) if account.metadata.deletion_timestamp.is_none() => plan.delete(account),
            Some(account) => plan.edit(account, let_go),
            None => {}
        }
        // Until the claim is deleted, the peer does not get another identity.
        if let Some((claim, _)) = &observed.claim {
            plan.forget(claim);
        }
    }
}

fn withdraw<K: Resource>(
    object: Option<&K>,
    is_ours: impl Fn(&Metadata) -> bool,
    plan: &mut Plan<'_>,
) {
    if let Some(object) = object.filter(|object| is_ours(object.metadata())) {
        plan.withdraw(object);
    }
}

fn let_go(account: &mut ServiceAccount) {
    let finalizers = &mut account.metadata.finalizers;
    finalizers.retain(|finalizer| finalizer != names::GARBAGE_COLLECTION_FINALIZER);
}
