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

pub use phase::{Denied, ResourcesDecision, SlicePeering, SlicePhase};
pub use request::{NeedsRequest, SliceOptions};

use super::{
    Consumer,
    credentials::taking::Status,
    handshake::{accepted::Accepted, keys::Keys},
    observed::{Observed, Purpose},
    record::Record,
    renewed,
};
use crate::{
    crypto::{SigningKey, Subject},
    error::{Error, LocalFault, PolicyRefusal, shortened},
    machine::{Awaited, Effect, Refused, Step, View},
    model::{
        Identity, IdentityType, Kind, ObjectRef, Renew, Resource, ResourceSlice,
        ResourceSliceConditionStatus, ResourceSliceConditionType, Secret, Timestamp, names,
    },
};

/// What the slices of one provider have in common.
pub(super) struct Surroundings<'a, 'o> {
    pub(super) observed: &'a Observed<'o>,
    pub(super) keys: Option<&'a Keys>,
    /// The control plane's Identity, where it was verified.
    pub(super) control_plane: Option<&'a Accepted>,
    pub(super) now: Timestamp,
}

impl Consumer {
    /// Every slice of the peer, each for itself.
    pub(super) fn slices<'o>(
        &self,
        view: &View<'o>,
        around: &Surroundings<'_, 'o>,
    ) -> Vec<SlicePeering<'o>> {
        let here = around.observed.namespace_name();
        let unreadable = view
            .unreadable(Kind::ResourceSlice)
            .filter(|unreadable| unreadable.id.namespace == here)
            .map(|unreadable| {
                let reason = unreadable.reason.to_string();
                let fault = LocalFault::Unreadable { reason };
                SlicePeering {
                    slice: unreadable.id.clone(),
                    phase: SlicePhase::Refused(Error::new(fault, Some(unreadable.id.clone()), "")),
                    resources: ResourcesDecision::Undecided,
                }
            });
        let readable = view
            .readable::<ResourceSlice>()
            .filter(|slice| is_asked_of(slice, view.peer().as_str()))
            .map(|slice| SlicePeering {
                slice: slice.id(),
                phase: self
                    .slice_phase(view, around, slice)
                    .unwrap_or_else(SlicePhase::Refused),
                resources: ResourcesDecision::of(slice),
            });
        unreadable.chain(readable).collect()
    }

    fn slice_phase<'o>(
        &self,
        view: &View<'o>,
        around: &Surroundings<'_, 'o>,
        slice: &'o ResourceSlice,
    ) -> Result<SlicePhase<'o>, Error> {
        if slice.metadata.deletion_timestamp.is_some() {
            return Ok(SlicePhase::Ending);
        }
        self.check_slice(around.observed, slice)?;
        let Some(keys) = around.keys else {
            return Ok(SlicePhase::NeedsKey);
        };
        let mut observed = around.observed.of_slice(view, slice)?;
        let request = NeedsRequest::new(
            self,
            &observed,
            slice,
            self.request_key(around, keys, slice),
        );
        if !request.is_complete() {
            return Ok(SlicePhase::NeedsRequest(request));
        }
        let decision = slice
            .status
            .condition(ResourceSliceConditionType::Authentication);
        let accepted = match decision {
            None => false,
            Some(decision) if decision.status == ResourceSliceConditionStatus::Denied => {
                return Ok(SlicePhase::Denied(Denied::new(observed, decision)));
            }
            Some(_) => true,
        };
        let known = around.control_plane.map(|control| control.verified.pins());
        observed.endpoint = observed.endpoint.or_else(|| known.cloned());
        if observed.endpoint.is_none() {
            return Ok(SlicePhase::AwaitsControlPlane);
        }
        let stored = observed.identity.map(|identity| &identity.spec.auth_params);
        let own = slice.status.auth_params.as_ref().filter(|_| accepted);
        let renewed = renewed(&observed);
        // The provider writes a renewed certificate to both, one after the other.
        let given = [own.map(|given| (given, slice.id())), renewed]
            .into_iter()
            .flatten()
            .find(|(given, _)| stored != Some(*given))
            .or_else(|| own.map(|given| (given, slice.id())));
        Ok(match self.status(observed, keys, given, around.now)? {
            Status::Nothing => SlicePhase::AwaitsDecision,
            Status::Refused(error) => SlicePhase::Refused(error),
            Status::NeedsIdentity(phase) => SlicePhase::NeedsIdentity(phase),
            Status::NeedsKubeconfig(phase) => SlicePhase::NeedsKubeconfig(phase),
            Status::Held(held) => SlicePhase::Held(held),
        })
    }

    /// The key that the provider knows this cluster by: a request by another
    /// one would be refused.
    fn request_key(
        &self,
        around: &Surroundings<'_, '_>,
        keys: &Keys,
        slice: &ResourceSlice,
    ) -> std::sync::Arc<dyn SigningKey> {
        if let Some(control_plane) = around.control_plane {
            return control_plane.key.clone();
        }
        let subject = Subject::resource_slice(&slice.metadata.name, self.cluster_id());
        let policy = self.policy(&around.observed.peer);
        match &keys.predecessor {
            Some(predecessor)
                if crate::crypto::Csr::verify(
                    slice.spec.csr.as_slice(),
                    &subject,
                    predecessor.public_key(),
                    policy,
                )
                .is_ok() =>
            {
                predecessor.clone()
            }
            _ => keys.current.clone(),
        }
    }

    fn check_slice(&self, observed: &Observed<'_>, slice: &ResourceSlice) -> Result<(), Error> {
        let wrong = |fault: Error| Err(fault);
        let id = || Some(slice.id());
        let expected = observed.namespace_name();
        if slice.metadata.namespace != expected {
            let found = shortened(&slice.metadata.namespace);
            let fault = PolicyRefusal::UnexpectedNamespace { expected, found };
            return wrong(Error::new(fault, id(), "metadata.namespace"));
        }
        check_name(&slice.metadata.name, LABEL_VALUE, slice.id())?;
        let consumer = slice.spec.consumer_cluster_id.as_deref();
        if consumer.is_some_and(|consumer| consumer != self.cluster_id().as_str()) {
            return wrong(Error::new(
                LocalFault::Conflict,
                id(),
                "spec.consumerClusterID",
            ));
        }
        let provider = slice.spec.provider_cluster_id.as_deref();
        if provider.is_some_and(|provider| provider != observed.peer.as_str()) {
            return wrong(Error::new(
                LocalFault::Conflict,
                id(),
                "spec.providerClusterID",
            ));
        }
        Ok(())
    }

    /// What leads all slices on, each fault beside the others.
    pub(super) fn plan_slices(
        &self,
        view: &View<'_>,
        observed: &Observed<'_>,
        slices: &[SlicePeering<'_>],
        record: &mut Record,
    ) -> Step {
        let mut step = Step::default();
        for slice in slices {
            match slice.plan(record) {
                Ok(of_slice) => step.append(of_slice),
                Err(error) => step.refused.push(Refused {
                    object: Some(slice.slice.clone()),
                    error,
                }),
            }
        }
        let is_there = |name: &str| slices.iter().any(|slice| slice.slice.name == name);
        record.slices.retain(|name, _| is_there(name));
        step.effects.extend(left_behind(view, observed, &is_there));
        step
    }
}

impl SlicePeering<'_> {
    /// The step without its record, which others may have something to add to.
    fn plan(&self, record: &mut Record) -> Result<Step, Error> {
        match &self.phase {
            SlicePhase::NeedsKey => Ok(Step::awaiting(Awaited::OwnKey)),
            SlicePhase::NeedsRequest(phase) => phase.complete(),
            SlicePhase::AwaitsDecision => {
                Ok(Step::awaiting(Awaited::SliceDecision(self.slice.clone())))
            }
            SlicePhase::AwaitsControlPlane => Ok(Step::awaiting(Awaited::Identity)),
            SlicePhase::NeedsIdentity(phase) => phase.take(),
            SlicePhase::NeedsKubeconfig(phase) => phase.plan(record),
            SlicePhase::Held(held) => held.plan(record),
            SlicePhase::Denied(denied) => denied.withdraw(),
            SlicePhase::Refused(error) => Err(error.clone()),
            SlicePhase::Ending => Ok(Step::awaiting(Awaited::End(self.slice.clone()))),
        }
    }
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

/// Removes what Kubernetes' garbage collector would: identities whose slice is
/// gone. Not every store has one.
fn left_behind<'o>(
    view: &View<'o>,
    observed: &Observed<'o>,
    is_there: &dyn Fn(&str) -> bool,
) -> Vec<Effect> {
    let here = observed.namespace_name();
    let identities = view.readable::<Identity>().filter(|identity| {
        let metadata = &identity.metadata;
        let label = |label: &str| metadata.labels.get(label).map(String::as_str);
        let slice = label(names::RESOURCE_SLICE_NAME_LABEL).unwrap_or_default();
        identity.spec.identity_type == IdentityType::ResourceSlice
            && metadata.namespace == here
            && label(names::REMOTE_CLUSTER_ID_LABEL) == Some(observed.peer.as_str())
            && metadata.name == names::resource_slice_identity_name(slice)
            && metadata
                .owner_references
                .iter()
                .any(|owner| owner.kind == Kind::ResourceSlice.as_str())
            && !is_there(slice)
    });
    let mut effects = Vec::new();
    for identity in identities {
        let name = &identity.metadata.name;
        let owned = |metadata: &crate::model::Metadata| {
            metadata
                .owner_references
                .iter()
                .any(|owner| owner.uid == identity.metadata.uid)
                && metadata.deletion_timestamp.is_none()
        };
        let renew = view.find::<Renew>(&here, name).ok().flatten();
        let secret = view
            .find::<Secret>(&here, &names::kubeconfig_secret(name))
            .ok()
            .flatten();
        effects.extend(
            renew
                .filter(|renew| owned(&renew.metadata))
                .map(Effect::delete),
        );
        effects.extend(
            secret
                .filter(|secret| owned(&secret.metadata))
                .map(Effect::delete),
        );
        if identity.metadata.deletion_timestamp.is_none() {
            effects.push(Effect::delete(identity));
        }
    }
    effects
}

/// What names of one's own making are held to: with the hash behind it, a common
/// name has at most 64 characters (RFC 5280, `ub-common-name`).
const OWN_NAME: usize = 51;
/// The longest value of a label.
const LABEL_VALUE: usize = 63;

impl<'o> Observed<'o> {
    /// The slice that this is about.
    fn slice(&self) -> Option<&'o ResourceSlice> {
        match self.purpose {
            Purpose::ControlPlane => None,
            Purpose::Slice(slice) => Some(slice),
        }
    }
}
