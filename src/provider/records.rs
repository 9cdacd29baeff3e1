//! The working copies of a peer's records, and the plan that changes them.

use std::collections::BTreeSet;

use super::{
    configuration::Configuration,
    lift_token::offer_lift,
    observed::Observed,
    record::{HeldCredentials, Record, SliceRecord, slice_name},
};
use crate::{
    machine::{
        self, Holder,
        plan::{Journal, RecordWrite},
        record::WorkingRecord,
        sealed::{self, Opened, Seal},
    },
    model::{ClusterId, Secret, Timestamp},
};

/// What a call at the provider changes.
pub(super) type Plan<'a> = machine::plan::Plan<Records<'a>>;

/// The working copies of a peer's record and of its slices' records.
pub(super) struct Records<'a> {
    configuration: &'a Configuration,
    observed: &'a Observed<'a>,
    /// The peer's record.
    pub(super) peer: WorkingRecord<'a, Record>,
    slices: Journal<String, WorkingRecord<'a, SliceRecord>>,
}

impl<'a> Records<'a> {
    /// The records as they were observed.
    pub(super) fn of(configuration: &'a Configuration, observed: &'a Observed<'a>) -> Self {
        let opened = observed.record.as_ref();
        let peer = if observed.unreadable.is_some() {
            WorkingRecord::unreadable()
        } else {
            WorkingRecord::of(
                opened.map(|(secret, _)| *secret),
                opened.map(|(_, opened)| &opened.record),
            )
        };
        Self {
            configuration,
            observed,
            peer,
            slices: Journal::default(),
        }
    }

    /// The record of a slice.
    pub(super) fn slice(&mut self, slice: &str) -> &mut WorkingRecord<'a, SliceRecord> {
        let observed = self.observed;
        let peer = &observed.peer;
        self.slices.get_or_make(slice.to_owned(), || {
            match observed.slice_records.get(slice_name(peer, slice).as_str()) {
                None => WorkingRecord::of(None, None),
                Some((secret, Ok(opened))) => WorkingRecord::of(Some(secret), Some(&opened.record)),
                Some((_, Err(_))) => WorkingRecord::unreadable(),
            }
        })
    }

    /// Records the time until which a holder's certificate may be valid. The peer's
    /// name is taken until then, and so is the slice's name if the holder is a
    /// slice.
    pub(super) fn remember_until(&mut self, holder: &Holder, until: Timestamp) {
        self.peer.change(|record| record.remember_until(until));
        if let Holder::Slice(slice) = holder {
            self.slice(slice)
                .change(|record| record.remember_until(until));
        }
    }

    /// Changes the credentials of a holder, if its record exists.
    pub(super) fn held(&mut self, holder: &Holder, change: impl FnOnce(&mut HeldCredentials)) {
        match holder {
            Holder::ControlPlane => self.peer.change(|record| change(&mut record.held)),
            Holder::Slice(slice) => self.slice(slice).change(|record| change(&mut record.held)),
        }
    }

    fn seal_peer(&self, record: &Record) -> Secret {
        let configuration = self.configuration;
        let peer = &self.observed.peer;
        let mut secret = record.seal(&configuration.seal(peer), configuration.namespace());
        offer_lift(configuration, record, peer, &mut secret);
        secret
    }

    fn seal_slice(&self, record: &SliceRecord) -> Secret {
        let configuration = self.configuration;
        record.seal(
            &configuration.slice_seal(&self.observed.peer),
            configuration.namespace(),
        )
    }

    fn stale_slices(&self) -> impl Iterator<Item = (&'a Secret, &'a SliceRecord)> {
        let records = self.observed.slice_records.values();
        records.filter_map(|(secret, opened)| match opened {
            Ok(Opened {
                record,
                is_stale: true,
            }) => Some((*secret, record)),
            _ => None,
        })
    }
}

impl<'a> machine::plan::Records for Records<'a> {
    type Mark = (WorkingRecord<'a, Record>, usize);

    fn mark(&self) -> Self::Mark {
        (self.peer.clone(), self.slices.mark())
    }

    fn return_to(&mut self, (peer, slices): Self::Mark) {
        self.peer = peer;
        self.slices.return_to(slices);
    }

    fn writes(self) -> Vec<RecordWrite> {
        let mut writes = Vec::new();
        let is_stale = |(_, opened): &(_, Opened<Record>)| opened.is_stale;
        match self.peer.changed() {
            Some((record, forgets)) => {
                writes.extend(RecordWrite::of(
                    self.seal_peer(record),
                    self.peer.stored(),
                    forgets,
                ));
            }
            None => {
                let stale = self
                    .observed
                    .record
                    .as_ref()
                    .filter(|opened| is_stale(opened));
                writes.extend(stale.and_then(|(secret, opened)| {
                    RecordWrite::of(self.seal_peer(&opened.record), Some(secret), false)
                }));
            }
        }
        for record in self.slices.values() {
            if let Some((changed, forgets)) = record.changed() {
                writes.extend(RecordWrite::of(
                    self.seal_slice(changed),
                    record.stored(),
                    forgets,
                ));
            }
        }
        let name = |write: &RecordWrite| write.secret.metadata.name.clone();
        let written: BTreeSet<String> = writes.iter().map(name).collect();
        for (secret, record) in self.stale_slices() {
            if !written.contains(&secret.metadata.name) {
                writes.extend(RecordWrite::of(
                    self.seal_slice(record),
                    Some(secret),
                    false,
                ));
            }
        }
        writes
    }
}

impl Configuration {
    /// The seal of a peer's record.
    pub(super) fn seal<'a>(&'a self, peer: &'a ClusterId) -> Seal<'a> {
        Seal {
            key: &self.record_key,
            domain: sealed::PEER_DOMAIN,
            owner: &self.settings.cluster_id,
            peer,
        }
    }

    /// The seal of the record of a peer's slice.
    pub(super) fn slice_seal<'a>(&'a self, peer: &'a ClusterId) -> Seal<'a> {
        Seal {
            domain: sealed::SLICE_DOMAIN,
            ..self.seal(peer)
        }
    }
}
