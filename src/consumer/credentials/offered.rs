//! The provider's parameters after their verification, and the Identity that is made
//! from them.

use super::holder_context::{HolderContext, set_controller};
use crate::{
    consumer::{AcceptedIdentity, record::Plan},
    error::{Error, Fault, PeerIncompatible},
    machine::Awaited,
    model::{AuthParams, Identity, IdentityType, OwnerReference, Resource, Timestamp, names},
};

/// A verified offer of the provider. The next step creates the Identity from it, or
/// updates the Identity with it.
#[derive(Debug, Clone)]
pub struct OfferedIdentity {
    pub(super) wanted: Identity,
    /// The verified Identity, and what is known about the provider's key.
    pub accepted: AcceptedIdentity,
}

/// The parameters that the provider gave after those of the stored Identity.
#[derive(Clone)]
pub(crate) enum Offer {
    Nothing,
    Newer(Box<OfferedIdentity>),
    Refused(Error),
}

impl HolderContext<'_> {
    /// Creates the Identity or updates the stored one. The next step stores its
    /// kubeconfig.
    pub(crate) fn take(&self, offered: &OfferedIdentity, plan: &mut Plan<'_>) {
        if let Some(slice) = self.slice
            && slice.metadata.uid.is_empty()
        {
            plan.await_for(Awaited::Uid(slice.id()));
            return;
        }
        let wanted = offered.wanted.clone();
        match self.identity {
            None => plan.create(wanted),
            Some(stored) => plan.edit(stored, |identity| *identity = wanted),
        }
    }

    /// The Identity with these parameters.
    pub(super) fn wanted(&self, auth_params: &AuthParams) -> Identity {
        let mut wanted = self.identity.cloned().unwrap_or_default();
        wanted.spec.auth_params = auth_params.clone();
        // The requested certificate has come. Each annotation causes only one renewal.
        wanted.metadata.annotations.remove(names::RENEW_ANNOTATION);
        let Some(slice) = self.slice else {
            return wanted;
        };
        let peer = self.look.peer().to_string();
        let metadata = &mut wanted.metadata;
        metadata.name = names::resource_slice_identity_name(&slice.metadata.name);
        metadata.namespace.clone_from(&slice.metadata.namespace);
        let name = slice.metadata.name.clone();
        metadata.labels.extend([
            (names::REMOTE_CLUSTER_ID_LABEL.to_owned(), peer.clone()),
            (names::RESOURCE_SLICE_NAME_LABEL.to_owned(), name),
        ]);
        set_controller(metadata, OwnerReference::controller(slice));
        wanted.spec.cluster_id = peer;
        wanted.spec.identity_type = IdentityType::ResourceSlice;
        wanted.spec.namespace = None;
        wanted
    }
}

/// The time at which a certificate becomes valid, if the error is that the
/// certificate is not valid yet.
pub(crate) fn begins_at(error: &Error) -> Option<Timestamp> {
    match error.fault() {
        Fault::PeerIncompatible(PeerIncompatible::CertificateNotYetValid {
            not_before, ..
        }) => Some(*not_before),
        _ => None,
    }
}
