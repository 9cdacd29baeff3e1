//! All slices of a peer, and their next steps.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    SlicePhase, SliceStatus, SliceTerms,
    leaving::LeftBehind,
    replica::{Recorded, SliceLook, record_of},
};
use crate::{
    error::{Disposition, Error},
    machine::replication,
    model::{
        AuthParams, Kind, Metadata, ObjectRef, Resource, ResourceSlice, Timestamp, Unreadable,
        names,
    },
    provider::{
        look::{Look, RETRY},
        record::slice_name,
        records::Plan,
    },
};

/// The peer's slices, and the remains of the slices that are gone.
pub(crate) struct Slices<'a> {
    look: Look<'a>,
    present: Vec<(SliceLook<'a>, SlicePhase)>,
    /// The index in `present` of each slice in the tenant namespace, by name.
    by_name: BTreeMap<&'a str, usize>,
    /// The unreadable slices, except those that this cluster requests from the peer.
    unreadable: Vec<&'a Unreadable>,
    left_behind: Vec<LeftBehind<'a>>,
    broken: Vec<(ObjectRef, Error)>,
    /// The earliest time at which the name of a slice that is gone becomes free.
    first_free: Option<Timestamp>,
}

impl<'a> Slices<'a> {
    /// The slices in the view.
    pub(crate) fn of(look: Look<'a>, terms: Option<&'a SliceTerms>) -> Self {
        let namespace = look.observed.namespace_name();
        let is_here = |metadata: &Metadata| metadata.namespace == namespace;
        // The peer can write the labels, but not the record.
        let on_record = |metadata: &Metadata, record: &Recorded<'_>| {
            is_here(metadata) && matches!(record, Some(Ok(record)) if record.is_about(metadata))
        };
        let mut replicas: Vec<(bool, &'a ResourceSlice)> = look
            .view
            .readable::<ResourceSlice>()
            .filter_map(|slice| {
                let metadata = &slice.metadata;
                let record = record_of(&look, &metadata.name);
                (is_replica(&look, metadata, &namespace) || on_record(metadata, &record))
                    .then_some((record.is_none(), slice))
            })
            .collect();
        // Slices with a record come first, so that new ones do not displace them.
        replicas.sort_by_key(|(is_new, slice)| (*is_new, &slice.metadata.name));
        let by_name = replicas
            .iter()
            .enumerate()
            .filter(|(_, (_, slice))| is_here(&slice.metadata))
            .map(|(at, (_, slice))| (slice.metadata.name.as_str(), at))
            .collect();
        let unreadable = look.view.unreadable(Kind::ResourceSlice).filter(|slice| {
            let metadata = &slice.metadata;
            !replication::is_requested_from(metadata, look.peer())
                || on_record(metadata, &record_of(&look, &metadata.name))
        });
        let unreadable = unreadable.collect();
        let limit = look.policy().limits.resource_slices;
        let mut number = 0;
        let present = replicas.into_iter().map(|(_, slice)| {
            let is_here = is_here(&slice.metadata);
            number += usize::from(is_here);
            let slice = SliceLook::of(look, slice, terms, is_here && number > limit);
            let phase = slice.phase().unwrap_or_else(SlicePhase::Refused);
            (slice, phase)
        });
        let mut slices = Self {
            look,
            present: present.collect(),
            by_name,
            unreadable,
            left_behind: Vec::new(),
            broken: Vec::new(),
            first_free: None,
        };
        slices.find_left_behind(&namespace);
        slices
    }

    /// The same slices, in a look that takes the peering over from Liqo. What Liqo granted to
    /// them is read now, and never again.
    pub(crate) fn taken_over(mut self) -> Self {
        for (slice, phase) in &mut self.present {
            slice.read_liqos_grant(phase);
        }
        self
    }

    /// Collects the records of the slices that are gone.
    fn find_left_behind(&mut self, namespace: &str) {
        let look = self.look;
        if look.observed.slice_records.is_empty() {
            return;
        }
        // A slice of a drained peer that is being deleted counts as gone, even if a
        // finalizer still keeps it.
        let is_drained = look.observed.is_drained();
        let stays = |metadata: &Metadata| !(is_drained && metadata.deletion_timestamp.is_some());
        let readable = look.view.readable::<ResourceSlice>();
        let mut present: BTreeSet<String> = readable
            .filter(|slice| slice.metadata.namespace == namespace && stays(&slice.metadata))
            .map(|slice| slice_name(look.peer(), &slice.metadata.name))
            .collect();
        let unreadable = look.view.unreadable(Kind::ResourceSlice);
        for unreadable in unreadable.filter(|it| stays(&it.metadata)) {
            if unreadable.id.name.is_empty() {
                // Any record may belong to a slice without a name.
                return;
            }
            present.insert(slice_name(look.peer(), &unreadable.id.name));
        }
        for (name, (secret, opened)) in &look.observed.slice_records {
            // The record of a present slice is handled together with the slice.
            if present.contains(*name) {
                continue;
            }
            match opened {
                Err(error) => self.broken.push((secret.id(), error.clone())),
                Ok(opened) => {
                    let left = LeftBehind::of(&look, secret, &opened.record);
                    let taken_until = left.taken_until(&look);
                    self.first_free = self.first_free.into_iter().chain(taken_until).min();
                    if !left.is_settled(&look) {
                        self.left_behind.push(left);
                    }
                }
            }
        }
    }

    /// Plans the next step of each slice. An error of one slice is reported as a
    /// refusal, and does not block the other slices.
    pub(crate) fn advance(&self, plan: &mut Plan<'_>) {
        let look = &self.look;
        let is_drained = look.observed.is_drained();
        for unreadable in &self.unreadable {
            let is_here = unreadable.id.namespace == look.observed.namespace_name();
            if is_drained && is_here {
                plan.delete_unreadable(unreadable);
            }
            plan.refuse(unreadable.error());
        }
        for (slice, phase) in &self.present {
            slice.record_liqos_grant(plan);
            let advanced = plan.attempt(|plan| slice.advance(phase, plan));
            if let Err(error) = advanced {
                slice.maintain_replica(phase, plan);
                if error.disposition() == Disposition::Retry {
                    plan.wake_by(Some(look.now + RETRY));
                }
                plan.refuse_at(slice.object.id(), error);
            }
        }
        for record in &look.observed.large_slice_records {
            plan.delete_unreadable(record);
        }
        for left in &self.left_behind {
            left.clean_up(look, plan);
        }
        plan.wake_by(self.first_free);
        for (id, error) in &self.broken {
            plan.refuse_at(id.clone(), error.clone());
        }
    }

    /// The address and the credential of a slice.
    pub(crate) fn auth_params(&self, name: &str) -> Option<AuthParams> {
        let (slice, phase) = self.present.get(*self.by_name.get(name)?)?;
        Some(slice.auth_params(&phase.settled()?.credential))
    }

    /// The status of each slice.
    pub(crate) fn into_status(self) -> Vec<SliceStatus> {
        let namespace = self.look.observed.namespace_name();
        let look = self.look;
        let of = |slice: ObjectRef, phase, metadata: &Metadata| {
            let record = record_of(&look, &slice.name).and_then(Result::ok);
            let is_here = metadata.namespace == namespace;
            let own = record.filter(|record| is_here && record.is_about(metadata));
            SliceStatus::of(&look, slice, phase, own, record)
        };
        let unreadable = self.unreadable.into_iter().map(|it| {
            let phase = SlicePhase::Refused(it.error());
            of(it.id.clone(), phase, &it.metadata)
        });
        let present = self.present.into_iter().map(|(slice, phase)| {
            let cordoned = slice.is_cordoned();
            let status = of(slice.object.id(), phase, &slice.object.metadata);
            SliceStatus { cordoned, ..status }
        });
        let left = self.left_behind.into_iter().map(|left| {
            let slice = ObjectRef::new(Kind::ResourceSlice, &namespace, &left.record.slice);
            let phase = SlicePhase::LeftBehind;
            SliceStatus::of(&look, slice, phase, None, Some(left.record))
        });
        let broken = self.broken.into_iter().map(|(slice, error)| {
            SliceStatus::of(&look, slice, SlicePhase::Refused(error), None, None)
        });
        unreadable
            .chain(present)
            .chain(left)
            .chain(broken)
            .collect()
    }
}

/// Whether the slice claims to be a replica from this peer. The slices that this
/// cluster itself requests from the peer are local, and are no replicas.
fn is_replica(look: &Look<'_>, metadata: &Metadata, namespace: &str) -> bool {
    let peer = Some(look.peer().as_str());
    replication::is_replica(metadata)
        && (metadata.label(names::REPLICATION_ORIGIN_LABEL) == peer
            || metadata.label(names::REMOTE_CLUSTER_ID_LABEL) == peer
            || metadata.namespace == namespace)
}
