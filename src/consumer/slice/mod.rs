//! The resource slices that this side requests from a provider.
//!
//! ```text
//!   NeedsRequest ──▶ AwaitsDecision ──▶ NeedsIdentity ──▶ NeedsKubeconfig ──▶ Held
//!                          │                                                  │
//!                          └──────────────▶ Denied ◀──────────────────────────┘
//! ```
//!
//! This side owns the spec of a slice, and the provider owns its status. The status
//! is only an offer: its credentials are verified like the control plane's Identity,
//! and must be for the same API server and CA.

mod name;
mod phase;
mod provenance;
mod request;

pub use phase::{ResourcesDecision, SlicePhase, SliceStatus};
pub use request::SliceOptions;

use std::{collections::BTreeSet, sync::Arc};

use self::name::check_name;
use super::{
    AcceptedIdentity,
    credentials::{holder_context::HolderContext, identity_state::IdentityState},
    keys::Keys,
    look::Look,
    record::Plan,
};
use crate::{
    crypto::{Certificate, SigningKey},
    error::{Error, LocalFault},
    machine::{Awaited, Holder, Notice, replication},
    model::{
        Identity, IdentityType, Kind, Metadata, ObjectRef, Renew, Resource, ResourceSlice,
        ResourceSliceConditionStatus, ResourceSliceConditionType, Secret, names,
    },
    policy::LABEL_VALUE,
    verify::EndpointPins,
};

/// One slice, with the objects that decide its phase.
pub(crate) struct Slice<'a> {
    pub(super) status: SliceStatus,
    context: Option<HolderContext<'a>>,
    /// The slice, if the provider did not make it.
    accepted: Option<&'a ResourceSlice>,
}

impl Slice<'_> {
    pub(super) fn renewal_notice(&self) -> Option<Notice> {
        match (&self.context, &self.status.phase) {
            (Some(context), SlicePhase::Held(stored)) => context.renewal_notice(stored),
            _ => None,
        }
    }
}

impl<'a> Look<'a> {
    /// Every slice that this side requests from the provider, and every unreadable
    /// slice that is no replica. `control_plane` is the control plane's Identity, if
    /// it was verified.
    pub(super) fn slices(&self, control_plane: Option<&AcceptedIdentity>) -> Vec<Slice<'a>> {
        let here = self.observed.namespace_name();
        let endpoint = match control_plane {
            Some(control_plane) => Ok(Some(control_plane.identity.pins.clone())),
            None => self
                .kubeconfig_by_hand()
                .map(|by_hand| by_hand.map(|by_hand| by_hand.pins)),
        };
        let unreadable = self
            .view
            .unreadable(Kind::ResourceSlice)
            .filter(|unreadable| {
                unreadable.id.namespace == here && !replication::is_replica(&unreadable.metadata)
            })
            .map(|unreadable| Slice {
                status: SliceStatus {
                    slice: unreadable.id.clone(),
                    phase: SlicePhase::Refused(unreadable.error()),
                    certificate: self.certificate_of_slice(&unreadable.id, None),
                    authentication: None,
                    resources: ResourcesDecision::Undecided,
                    virtual_node: false,
                    cordoned: is_cordoned(&unreadable.metadata),
                },
                context: None,
                accepted: None,
            });
        let readable = self
            .view
            .readable::<ResourceSlice>()
            .filter(|slice| replication::is_requested_from(&slice.metadata, self.peer()))
            .map(|slice| {
                let (mut context, mut accepted) = (None, None);
                let phase =
                    self.slice_phase(control_plane, &endpoint, slice, &mut context, &mut accepted);
                let phase = phase.unwrap_or_else(SlicePhase::Refused);
                let said = |about| Some(slice.status.condition(about)?.status);
                Slice {
                    status: SliceStatus {
                        slice: slice.id(),
                        certificate: self.certificate_of_slice(&slice.id(), phase.stored()),
                        authentication: said(ResourceSliceConditionType::Authentication),
                        phase,
                        resources: ResourcesDecision::of(slice),
                        virtual_node: self.wants_virtual_node(slice),
                        cordoned: is_cordoned(&slice.metadata),
                    },
                    context,
                    accepted,
                }
            });
        unreadable.chain(readable).collect()
    }

    /// The certificate of the identity that is verified, or else the stored one that was verified
    /// before.
    fn certificate_of_slice(
        &self,
        slice: &ObjectRef,
        verified: Option<&AcceptedIdentity>,
    ) -> Option<Certificate> {
        if let Some(verified) = verified {
            return verified.certificate();
        }
        let holder = Holder::Slice(slice.name.clone());
        let name = holder.identity_name(self.peer());
        let stored = self.view.find(&slice.namespace, &name).ok()??;
        self.certificate_on_record(&holder, stored)
    }

    fn slice_phase(
        &self,
        control_plane: Option<&AcceptedIdentity>,
        endpoint: &Result<Option<EndpointPins>, Error>,
        slice: &'a ResourceSlice,
        context: &mut Option<HolderContext<'a>>,
        accepted: &mut Option<&'a ResourceSlice>,
    ) -> Result<SlicePhase, Error> {
        if slice.metadata.deletion_timestamp.is_some() {
            return Ok(SlicePhase::Ending);
        }
        self.check_slice(slice)?;
        let Some(keys) = self.keys else {
            return Ok(SlicePhase::NeedsKey);
        };
        let context = context.insert(HolderContext::of_slice(*self, slice)?);
        if !self.is_complete(slice, &*self.request_key(control_plane, keys, slice)) {
            *accepted = Some(self.check_provenance(slice, false)?);
            return Ok(SlicePhase::NeedsRequest);
        }
        let status = &slice.status;
        let decision = status.condition(ResourceSliceConditionType::Authentication);
        if let Some(decision) = decision
            && decision.status == ResourceSliceConditionStatus::Denied
        {
            return Ok(SlicePhase::Denied {
                reason: decision.reason.clone(),
                message: decision.message.clone(),
            });
        }
        *accepted = Some(self.check_provenance(slice, true)?);
        if context.endpoint.is_none() {
            context
                .endpoint
                .clone_from(endpoint.as_ref().map_err(Error::clone)?);
        }
        if context.endpoint.is_none() {
            return Ok(SlicePhase::AwaitsControlPlane);
        }
        let stored = context.identity.map(|identity| &identity.spec.auth_params);
        let own = status.auth_params.as_ref().filter(|_| decision.is_some());
        let own = || own.map(|given| (given, slice.id()));
        // The provider writes a renewed certificate to the slice and to the Renew,
        // one after the other.
        let given = [own(), context.renewed()]
            .into_iter()
            .flatten()
            .find(|(given, _)| stored != Some(*given))
            .or_else(own);
        Ok(match context.identity_state(keys, given)? {
            IdentityState::Nothing => SlicePhase::AwaitsDecision,
            IdentityState::NeedsIdentity(offered) => SlicePhase::NeedsIdentity(offered),
            IdentityState::NeedsKubeconfig(accepted) => SlicePhase::NeedsKubeconfig(accepted),
            IdentityState::Held(stored) => SlicePhase::Held(stored),
        })
    }

    /// The key by which the provider knows this cluster. The provider refuses a
    /// request by another key.
    fn request_key(
        &self,
        control_plane: Option<&AcceptedIdentity>,
        keys: &Keys,
        slice: &ResourceSlice,
    ) -> Arc<dyn SigningKey> {
        if let Some(control_plane) = control_plane {
            return control_plane.key.clone();
        }
        match &keys.predecessor {
            Some(predecessor) if self.has_request_by(slice, &**predecessor) => predecessor.clone(),
            _ => keys.current.clone(),
        }
    }

    /// Whether the record, or else the slice's annotation, asks for a VirtualNode.
    fn wants_virtual_node(&self, slice: &ResourceSlice) -> bool {
        let metadata = &slice.metadata;
        let asked = || {
            let value = metadata
                .annotations
                .get(names::CREATE_VIRTUAL_NODE_ANNOTATION);
            value.is_some_and(|value| !value.is_empty() && !value.eq_ignore_ascii_case("false"))
        };
        let record = self.observed.record();
        let recorded = record.and_then(|record| record.virtual_nodes.get(&metadata.name));
        recorded.copied().unwrap_or_else(asked)
    }

    fn check_slice(&self, slice: &ResourceSlice) -> Result<(), Error> {
        let other_cluster = |field| Err(Error::found_in(slice, field, LocalFault::Conflict));
        let expected = self.observed.namespace_name();
        if slice.metadata.namespace != expected {
            let found = &slice.metadata.namespace;
            return Err(Error::unexpected_namespace(slice.id(), expected, found));
        }
        check_name(&slice.metadata.name, LABEL_VALUE, slice.id())?;
        let consumer = slice.spec.consumer_cluster_id.as_deref();
        if consumer.is_some_and(|consumer| consumer != self.configuration.cluster_id().as_str()) {
            return other_cluster("spec.consumerClusterID");
        }
        let provider = slice.spec.provider_cluster_id.as_deref();
        if provider.is_some_and(|provider| provider != self.peer().as_str()) {
            return other_cluster("spec.providerClusterID");
        }
        Ok(())
    }

    /// Makes the next step for every slice. A slice that fails does not leave a change, and
    /// does not block the others.
    pub(super) fn advance_slices(
        &self,
        slices: &[Slice<'_>],
        control_plane: Option<&AcceptedIdentity>,
        plan: &mut Plan<'_>,
    ) {
        for slice in slices {
            if let Err(error) = plan.attempt(|plan| self.advance_slice(slice, control_plane, plan))
            {
                plan.refuse_at(slice.status.slice.clone(), error);
            }
        }
        let names = slices.iter().map(|slice| slice.status.slice.name.as_str());
        let names: BTreeSet<&str> = names.collect();
        let is_there = |name: &str| names.contains(name);
        self.record_provenance(slices, &is_there, plan);
        if self.observed.record.is_some() {
            plan.records.change(|record| {
                record.slices.retain(|name, _| is_there(name));
                record.requested.retain(|name| is_there(name));
                let known = record.known.as_ref();
                let is_expected = |name: &str| known.is_some_and(|it| it.contains_key(name));
                record
                    .virtual_nodes
                    .retain(|name, _| is_there(name) || is_expected(name));
            });
        }
        self.remove_left_behind(&is_there, plan);
    }

    fn advance_slice(
        &self,
        slice: &Slice<'_>,
        control_plane: Option<&AcceptedIdentity>,
        plan: &mut Plan<'_>,
    ) -> Result<(), Error> {
        let id = || slice.status.slice.clone();
        match (&slice.status.phase, &slice.context) {
            (SlicePhase::NeedsKey, _) => plan.await_for(Awaited::OwnKey),
            (SlicePhase::AwaitsDecision, _) => plan.await_for(Awaited::SliceDecision(id())),
            (SlicePhase::AwaitsControlPlane, _) => plan.await_for(Awaited::Identity),
            (SlicePhase::Refused(error), _) => return Err(error.clone()),
            (SlicePhase::Ending, _) => plan.await_for(Awaited::End(id())),
            (SlicePhase::NeedsRequest, Some(context)) => {
                if let (Some(slice), Some(keys)) = (context.slice, self.keys) {
                    let key = self.request_key(control_plane, keys, slice);
                    self.complete_slice(slice, &*key, plan)?;
                }
            }
            (SlicePhase::NeedsIdentity(offered), Some(context)) => context.take(offered, plan),
            (SlicePhase::NeedsKubeconfig(accepted), Some(context)) => {
                context.store(accepted, plan)?;
            }
            (SlicePhase::Held(stored), Some(context)) => context.maintain_identity(stored, plan)?,
            (SlicePhase::Denied { .. }, Some(context)) => context.withdraw(plan)?,
            // The other phases exist only with a `HolderContext`.
            (_, None) => {}
        }
        Ok(())
    }

    /// Removes identities whose slice is gone. Kubernetes' garbage collector does
    /// the same, but not every store has one.
    fn remove_left_behind(&self, is_there: &dyn Fn(&str) -> bool, plan: &mut Plan<'_>) {
        let here = self.observed.namespace_name();
        let identities = self.view.readable::<Identity>().filter(|identity| {
            let metadata = &identity.metadata;
            let slice = metadata
                .label(names::RESOURCE_SLICE_NAME_LABEL)
                .unwrap_or_default();
            identity.spec.identity_type == IdentityType::ResourceSlice
                && metadata.namespace == here
                && metadata.label(names::REMOTE_CLUSTER_ID_LABEL) == Some(self.peer().as_str())
                && metadata.name == names::resource_slice_identity_name(slice)
                && metadata
                    .owner_references
                    .iter()
                    .any(|owner| owner.kind == Kind::ResourceSlice.as_str())
                && !is_there(slice)
        });
        for identity in identities {
            let name = &identity.metadata.name;
            let owned = |metadata: &Metadata| {
                let mut owners = metadata.owner_references.iter();
                owners.any(|owner| owner.uid == identity.metadata.uid)
            };
            let renew = self.view.find::<Renew>(&here, name).ok().flatten();
            let secret = names::kubeconfig_secret(name);
            let secret = self.view.find::<Secret>(&here, &secret).ok().flatten();
            remove(renew.filter(|renew| owned(&renew.metadata)), plan);
            remove(secret.filter(|secret| owned(&secret.metadata)), plan);
            remove(Some(identity), plan);
        }
    }
}

impl HolderContext<'_> {
    /// Removes the identity of a denied slice, if the slice has one, as Liqo does.
    ///
    /// # Errors
    /// An object cannot be read.
    fn withdraw(&self, plan: &mut Plan<'_>) -> Result<(), Error> {
        let Some(identity) = self.identity else {
            if let Some(slice) = self.slice {
                plan.await_for(Awaited::SliceDecision(slice.id()));
            }
            return Ok(());
        };
        let renew = self.renew.clone()?;
        let removes = [
            remove(renew, plan),
            remove(self.kubeconfig, plan),
            remove(Some(identity), plan),
        ];
        if !removes.contains(&true) {
            plan.await_for(Awaited::End(identity.id()));
        }
        Ok(())
    }
}

fn is_cordoned(metadata: &Metadata) -> bool {
    metadata.is_cordoned_by(names::CORDON_ANNOTATION)
        || metadata.is_cordoned_by(names::CORDON_TENANT_ANNOTATION)
}

/// Deletes the object, if it exists and is not being deleted yet.
fn remove<K: Resource>(stored: Option<&K>, plan: &mut Plan<'_>) -> bool {
    let present = stored.filter(|stored| stored.metadata().deletion_timestamp.is_none());
    present.map(|stored| plan.delete(stored)).is_some()
}
