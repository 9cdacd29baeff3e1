//! One holder of an identity with its objects. A holder is the control plane or a
//! resource slice.

use crate::{
    consumer::{look::Look, observed::readable, record::Received},
    error::Error,
    machine::Holder,
    model::{
        AuthParams, Identity, Metadata, ObjectRef, OwnerReference, Renew, Resource, ResourceSlice,
        Secret, names,
    },
    verify::EndpointPins,
};

/// A holder with its stored objects.
pub(crate) struct HolderContext<'a> {
    pub(crate) look: Look<'a>,
    pub(crate) holder: Holder,
    /// The slice that holds the identity.
    pub(crate) slice: Option<&'a ResourceSlice>,
    pub(crate) identity: Option<&'a Identity>,
    pub(crate) kubeconfig: Option<&'a Secret>,
    /// The peer writes to the Renew, so an unreadable Renew must not block anything
    /// else.
    pub(crate) renew: Result<Option<&'a Renew>, Error>,
    /// The API server and the CA that the identity must match, if they are known.
    pub(crate) endpoint: Option<EndpointPins>,
}

impl<'a> HolderContext<'a> {
    pub(crate) fn of_control_plane(look: Look<'a>) -> Self {
        let observed = look.observed;
        Self {
            look,
            holder: Holder::ControlPlane,
            slice: None,
            identity: observed.identity,
            kubeconfig: observed.kubeconfig,
            renew: observed.renew.clone(),
            endpoint: observed.record().and_then(|record| record.endpoint.clone()),
        }
    }

    pub(crate) fn of_slice(look: Look<'a>, slice: &'a ResourceSlice) -> Result<Self, Error> {
        let namespace = slice.metadata.namespace.as_str();
        let holder = Holder::Slice(slice.metadata.name.clone());
        let name = holder.identity_name(look.peer());
        Ok(Self {
            holder,
            slice: Some(slice),
            identity: look.view.find(namespace, &name)?,
            kubeconfig: look
                .view
                .find(namespace, &names::kubeconfig_secret(&name))?,
            renew: look.view.find(namespace, &name),
            ..Self::of_control_plane(look)
        })
    }

    /// The parameters that the provider wrote to the holder's Renew.
    pub(crate) fn renewed(&self) -> Option<(&'a AuthParams, ObjectRef)> {
        let renew = self.readable_renew()?;
        let given = renew.status.auth_params.as_ref()?;
        (renew.metadata.deletion_timestamp.is_none()).then(|| (given, renew.id()))
    }

    pub(crate) fn readable_renew(&self) -> Option<&'a Renew> {
        readable(&self.renew)
    }

    /// The record of the stored certificate, if the holder has one.
    pub(crate) fn recorded(&self) -> Option<Received> {
        self.look.observed.record()?.received(&self.holder)
    }

    pub(crate) fn is_of_control_plane(&self) -> bool {
        self.holder == Holder::ControlPlane
    }
}

/// Makes `owner` the controller of the object.
pub(crate) fn set_controller(metadata: &mut Metadata, owner: OwnerReference) {
    metadata
        .owner_references
        .retain(|other| other.controller != Some(true) && other.uid != owner.uid);
    metadata.owner_references.push(owner);
}
