//! The phases of a peering, as the provider sees it.

use super::{
    AwaitsTenant, Issued, NeedsCertificate, NeedsNonce, NeedsProof, NeedsRights, patch_between,
    seen::Seen,
};
use crate::{
    error::Error,
    model::{Resource, names},
    step::{Effect, Notice, Part, Step, Version},
};

/// Where a peering stands.
#[derive(Debug)]
#[non_exhaustive]
pub struct Peering<'o> {
    /// The phase of the control plane's authentication.
    pub phase: Phase<'o>,
    /// Facts that a person may want to know.
    pub notices: Vec<Notice>,
}

/// The phases of the control plane's authentication; each offers what is legal
/// in it.
#[non_exhaustive]
pub enum Phase<'o> {
    /// There is no nonce that the peer could sign.
    NeedsNonce(NeedsNonce<'o>),
    /// The nonce waits for its Tenant.
    AwaitsTenant(AwaitsTenant),
    /// The Tenant is verified; that is to be recorded before anything is signed.
    NeedsProof(NeedsProof<'o>),
    /// The proof is on record; the request is to be signed.
    NeedsCertificate(NeedsCertificate<'o>),
    /// The certificate is there; rights and status are missing.
    NeedsRights(NeedsRights<'o>),
    /// All is there, and the Identity can be handed out.
    Authenticated(Issued<'o>),
    /// What the peer sent cannot be taken.
    Refused(Error),
    /// The Tenant is being deleted.
    Ending(Ending<'o>),
}

/// The Tenant is being deleted, and the cluster-wide rights with it.
///
/// What lies in the tenant namespace and is owned by the Tenant goes with it;
/// what is cluster-wide cannot be owned by it, and is deleted here, before the
/// finalizer is taken off.
#[derive(Clone)]
pub struct Ending<'o> {
    pub(super) seen: Seen<'o>,
}

impl Ending<'_> {
    /// Deletes the peer's ClusterRoleBindings, then lets the Tenant go.
    pub fn withdraw(&self) -> Step {
        let mut step = Step::default();
        let bindings = self.seen.cluster_role_bindings.iter().filter(|binding| {
            let label = binding.metadata.labels.get(names::REMOTE_CLUSTER_ID_LABEL);
            let managed = binding.metadata.labels.get(names::MANAGED_BY_LABEL);
            label.map(String::as_str) == Some(self.seen.peer.as_str())
                && managed.map(String::as_str) == Some(names::MANAGED_BY_LIQO)
        });
        step.effects.extend(bindings.map(|binding| Effect::Delete {
            id: binding.id(),
            version: Version::of(&binding.metadata),
        }));
        if let Some(tenant) = self.seen.tenant {
            let mut released = tenant.clone();
            released
                .metadata
                .finalizers
                .retain(|finalizer| finalizer != names::TENANT_FINALIZER);
            step.effects
                .extend(patch_between(tenant, released, Part::Main));
        }
        step
    }
}

impl Phase<'_> {
    /// The phase's name, for messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::NeedsNonce(_) => "NeedsNonce",
            Self::AwaitsTenant(_) => "AwaitsTenant",
            Self::NeedsProof(_) => "NeedsProof",
            Self::NeedsCertificate(_) => "NeedsCertificate",
            Self::NeedsRights(_) => "NeedsRights",
            Self::Authenticated(_) => "Authenticated",
            Self::Refused(_) => "Refused",
            Self::Ending(_) => "Ending",
        }
    }
}

impl core::fmt::Debug for Phase<'_> {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Refused(error) => formatter.debug_tuple("Refused").field(error).finish(),
            phase => formatter.write_str(phase.name()),
        }
    }
}
