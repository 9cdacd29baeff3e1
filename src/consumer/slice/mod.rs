//! The resource slices of a provider, beside the control plane.
//!
//! ```text
//!   NeedsRequest ──▶ AwaitsDecision ──▶ NeedsIdentity ──▶ NeedsKubeconfig ──▶ Held
//!                          │                                                  │
//!                          └──────────────▶ Denied ◀──────────────────────────┘
//! ```
//!
//! The spec of a slice is this side's own. Its status is the provider's, and
//! is taken for no more than an offer: what is in it is verified as the control
//! plane's Identity is, and has to be for the same API server and CA.

mod phase;
mod request;

pub use phase::{ResourcesDecision, SlicePhase, SliceStatus};
pub use request::SliceOptions;

use std::sync::Arc;

use super::{
    AcceptedIdentity,
    credentials::holding::{Holding, Standing},
    handshake::keys::Keys,
    look::Look,
    record::Plan,
};
use crate::{
    crypto::{Csr, SigningKey},
    error::{Error, LocalFault, PolicyRefusal, shortened},
    machine::{Awaited, Notice},
    model::{
        Identity, IdentityType, Kind, Metadata, ObjectRef, Renew, Resource, ResourceSlice,
        ResourceSliceConditionStatus, ResourceSliceConditionType, Secret, names,
    },
};

/// One slice, with its objects as far as its phase rests on them.
pub(super) struct Slice<'a> {
    pub(super) status: SliceStatus,
    holding: Option<Holding<'a>>,
}

impl Slice<'_> {
    pub(super) fn renewal_notice(&self) -> Option<Notice> {
        match (&self.holding, &self.status.phase) {
            (Some(holding), SlicePhase::Held(stored)) => holding.renewal_notice(stored),
            _ => None,
        }
    }
}

impl<'a> Look<'a> {
    /// Every slice of the provider, each for itself, beside the control plane's
    /// Identity where that was verified.
    pub(super) fn slices(&self, control_plane: Option<&AcceptedIdentity>) -> Vec<Slice<'a>> {
        let here = self.observed.namespace_name();
        let unreadable = self
            .view
            .unreadable(Kind::ResourceSlice)
            .filter(|unreadable| unreadable.id.namespace == here)
            .map(|unreadable| Slice {
                status: SliceStatus {
                    slice: unreadable.id.clone(),
                    phase: SlicePhase::Refused(unreadable.error()),
                    resources: ResourcesDecision::Undecided,
                },
                holding: None,
            });
        let readable = self
            .view
            .readable::<ResourceSlice>()
            .filter(|slice| is_asked_of(slice, self.peer().as_str()))
            .map(|slice| {
                let mut holding = None;
                let phase = self.slice_phase(control_plane, slice, &mut holding);
                Slice {
                    status: SliceStatus {
                        slice: slice.id(),
                        phase: phase.unwrap_or_else(SlicePhase::Refused),
                        resources: ResourcesDecision::of(slice),
                    },
                    holding,
                }
            });
        unreadable.chain(readable).collect()
    }

    fn slice_phase(
        &self,
        control_plane: Option<&AcceptedIdentity>,
        slice: &'a ResourceSlice,
        holding: &mut Option<Holding<'a>>,
    ) -> Result<SlicePhase, Error> {
        if slice.metadata.deletion_timestamp.is_some() {
            return Ok(SlicePhase::Ending);
        }
        self.check_slice(slice)?;
        let Some(keys) = self.keys else {
            return Ok(SlicePhase::NeedsKey);
        };
        let holding = holding.insert(Holding::of_slice(*self, slice)?);
        if !self.is_complete(slice, &*self.request_key(control_plane, keys, slice)) {
            self.check_requested(slice)?;
            return Ok(SlicePhase::NeedsRequest);
        }
        let decision = slice
            .status
            .condition(ResourceSliceConditionType::Authentication);
        if let Some(decision) = decision
            && decision.status == ResourceSliceConditionStatus::Denied
        {
            return Ok(SlicePhase::Denied {
                reason: decision.reason.clone(),
                message: decision.message.clone(),
            });
        }
        if holding.endpoint.is_none() {
            holding.endpoint = control_plane.map(|control| control.identity().pins().clone());
        }
        if holding.endpoint.is_none() {
            return Ok(SlicePhase::AwaitsControlPlane);
        }
        let stored = holding.identity.map(|identity| &identity.spec.auth_params);
        let own = slice
            .status
            .auth_params
            .as_ref()
            .filter(|_| decision.is_some());
        let own = || own.map(|given| (given, slice.id()));
        // The provider writes a renewed certificate to both, one after the other.
        let given = [own(), holding.renewed()]
            .into_iter()
            .flatten()
            .find(|(given, _)| stored != Some(*given))
            .or_else(own);
        Ok(match holding.standing(keys, given)? {
            Standing::Nothing => SlicePhase::AwaitsDecision,
            Standing::NeedsIdentity(offered) => SlicePhase::NeedsIdentity(offered),
            Standing::NeedsKubeconfig(accepted) => SlicePhase::NeedsKubeconfig(accepted),
            Standing::Held(stored) => SlicePhase::Held(stored),
        })
    }

    /// The key that the provider knows this cluster by: a request by another
    /// one would be refused.
    fn request_key(
        &self,
        control_plane: Option<&AcceptedIdentity>,
        keys: &Keys,
        slice: &ResourceSlice,
    ) -> Arc<dyn SigningKey> {
        if let Some(control_plane) = control_plane {
            return control_plane.key.clone();
        }
        let is_by = |key: &dyn SigningKey| {
            let (pem, subject) = (slice.spec.csr.as_slice(), self.slice_subject(slice));
            Csr::verify(pem, &subject, key.public_key(), self.policy()).is_ok()
        };
        match &keys.predecessor {
            Some(predecessor) if is_by(&**predecessor) => predecessor.clone(),
            _ => keys.current.clone(),
        }
    }

    /// That this side asked for the slice. A provider may have rights in the
    /// tenant namespace, so its slice there is not taken for this side's own.
    fn check_requested(&self, slice: &ResourceSlice) -> Result<(), Error> {
        let record = self.observed.record();
        let name = &slice.metadata.name;
        if self.settings().sign_slices_made_by_anyone
            || record.is_some_and(|record| record.requested.contains(name))
        {
            return Ok(());
        }
        let id = Some(slice.id());
        Err(Error::new(PolicyRefusal::SliceNotRequested, id, ""))
    }

    fn check_slice(&self, slice: &ResourceSlice) -> Result<(), Error> {
        let wrong = |fault: Error| Err(fault);
        let id = || Some(slice.id());
        let expected = self.observed.namespace_name();
        if slice.metadata.namespace != expected {
            let found = shortened(&slice.metadata.namespace);
            let fault = PolicyRefusal::UnexpectedNamespace { expected, found };
            return wrong(Error::new(fault, id(), "metadata.namespace"));
        }
        check_name(&slice.metadata.name, LABEL_VALUE, slice.id())?;
        let consumer = slice.spec.consumer_cluster_id.as_deref();
        if consumer.is_some_and(|consumer| consumer != self.configuration.cluster_id.as_str()) {
            return wrong(Error::new(
                LocalFault::Conflict,
                id(),
                "spec.consumerClusterID",
            ));
        }
        let provider = slice.spec.provider_cluster_id.as_deref();
        if provider.is_some_and(|provider| provider != self.peer().as_str()) {
            return wrong(Error::new(
                LocalFault::Conflict,
                id(),
                "spec.providerClusterID",
            ));
        }
        Ok(())
    }

    /// Leads all slices on. A slice that fails leaves no change, and holds up no
    /// other.
    pub(super) fn go_on_with_slices(
        &self,
        control_plane: Option<&AcceptedIdentity>,
        plan: &mut Plan<'_>,
    ) {
        let slices = self.slices(control_plane);
        for slice in &slices {
            if let Err(error) = plan.attempt(|plan| self.go_on_with(slice, control_plane, plan)) {
                plan.refuse_at(slice.status.slice.clone(), error);
            }
        }
        let is_there = |name: &str| slices.iter().any(|slice| slice.status.slice.name == name);
        if self.observed.record.is_some() {
            plan.records.change(|record| {
                record.slices.retain(|name, _| is_there(name));
                record.requested.retain(|name| is_there(name));
            });
        }
        self.remove_left_behind(&is_there, plan);
    }

    fn go_on_with(
        &self,
        slice: &Slice<'_>,
        control_plane: Option<&AcceptedIdentity>,
        plan: &mut Plan<'_>,
    ) -> Result<(), Error> {
        let id = || slice.status.slice.clone();
        match (&slice.status.phase, &slice.holding) {
            (SlicePhase::NeedsKey, _) => plan.await_for(Awaited::OwnKey),
            (SlicePhase::AwaitsDecision, _) => plan.await_for(Awaited::SliceDecision(id())),
            (SlicePhase::AwaitsControlPlane, _) => plan.await_for(Awaited::Identity),
            (SlicePhase::Refused(error), _) => return Err(error.clone()),
            (SlicePhase::Ending, _) => plan.await_for(Awaited::End(id())),
            (SlicePhase::NeedsRequest, Some(holding)) => {
                if let (Some(slice), Some(keys)) = (holding.slice, self.keys) {
                    let key = self.request_key(control_plane, keys, slice);
                    self.complete_slice(slice, &*key, plan)?;
                }
            }
            (SlicePhase::NeedsIdentity(offered), Some(holding)) => holding.take(offered, plan),
            (SlicePhase::NeedsKubeconfig(accepted), Some(holding)) => {
                holding.store(accepted, plan)?;
            }
            (SlicePhase::Held(stored), Some(holding)) => holding.maintain(stored, plan)?,
            (SlicePhase::Denied { .. }, Some(holding)) => holding.withdraw(plan)?,
            // These phases come of what the slice holds.
            (_, None) => {}
        }
        Ok(())
    }

    /// Removes what Kubernetes' garbage collector would: identities whose slice is
    /// gone. Not every store has one.
    fn remove_left_behind(&self, is_there: &dyn Fn(&str) -> bool, plan: &mut Plan<'_>) {
        let here = self.observed.namespace_name();
        let identities = self.view.readable::<Identity>().filter(|identity| {
            let metadata = &identity.metadata;
            let label = |label: &str| metadata.labels.get(label).map(String::as_str);
            let slice = label(names::RESOURCE_SLICE_NAME_LABEL).unwrap_or_default();
            identity.spec.identity_type == IdentityType::ResourceSlice
                && metadata.namespace == here
                && label(names::REMOTE_CLUSTER_ID_LABEL) == Some(self.peer().as_str())
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

impl Holding<'_> {
    /// Removes the identity that a denied slice may have had, as Liqo does.
    ///
    /// # Errors
    /// What cannot be read.
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

/// Deletes what is there and not being deleted already.
fn remove<K: Resource>(stored: Option<&K>, plan: &mut Plan<'_>) -> bool {
    let stays = stored.filter(|stored| stored.metadata().deletion_timestamp.is_none());
    stays.map(|stored| plan.delete(stored)).is_some()
}

/// Whether it is a slice that this side asks of the peer: one to be replicated
/// to it, and no replica.
pub(super) fn is_asked_of(slice: &ResourceSlice, peer: &str) -> bool {
    let label = |label: &str| slice.metadata.labels.get(label).map(String::as_str);
    label(names::REPLICATION_LABEL) == Some(names::TRUE)
        && label(names::REPLICATION_DESTINATION_LABEL) == Some(peer)
        && label(names::REPLICATED_LABEL) != Some(names::TRUE)
}

/// A slice's name is the value of a label of its Identity.
fn check_name(name: &str, longest: usize, id: ObjectRef) -> Result<(), Error> {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let first_and_last = name.bytes().next().zip(name.bytes().last());
    if name.len() <= longest
        && first_and_last.is_some_and(|(first, last)| inner(first) && inner(last))
        && name
            .bytes()
            .all(|byte| inner(byte) || byte == b'-' || byte == b'.')
    {
        return Ok(());
    }
    let found = shortened(name);
    Err(Error::new(
        LocalFault::SliceName { found },
        Some(id),
        "metadata.name",
    ))
}

/// What names of one's own making are held to: with the hash behind it, a common
/// name has at most 64 characters (RFC 5280, `ub-common-name`).
const OWN_NAME: usize = 51;
/// The longest value of a label.
const LABEL_VALUE: usize = 63;
