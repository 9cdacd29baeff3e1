//! The working copies of a peer's records, and the plan that changes them.

use std::collections::BTreeMap;

use super::{
    configuration::Configuration,
    lift_token::lift_tokens,
    observed::Observed,
    record::{HeldCredentials, Record, SliceRecord},
};
use crate::{
    machine::{
        self, Holder,
        plan::{Journal, RecordWrite},
        record::WorkingRecord,
        sealed::{self, Seal},
    },
    model::{ClusterId, Quantity, Secret, Timestamp},
};

/// The changes that a call of the provider plans.
pub(crate) type Plan<'a> = machine::plan::Plan<Records<'a>>;

/// The working copies of a peer's record and of its slices' records.
pub(crate) struct Records<'a> {
    configuration: &'a Configuration,
    observed: &'a Observed<'a>,
    /// The peer's record.
    pub(super) peer: WorkingRecord<'a, Record>,
    slices: Journal<String, WorkingRecord<'a, SliceRecord>>,
}

impl<'a> Records<'a> {
    /// The records as they were observed.
    pub(super) fn of(configuration: &'a Configuration, observed: &'a Observed<'a>) -> Self {
        let peer = match &observed.record {
            _ if observed.unreadable_record.is_some() => WorkingRecord::unreadable(),
            Some((secret, opened)) => WorkingRecord::opened(secret, opened),
            None => WorkingRecord::of(None),
        };
        let mut records = Self {
            configuration,
            observed,
            peer,
            slices: Journal::default(),
        };
        let opened = observed.slice_records.values();
        for slice in opened.filter_map(|(_, opened)| opened.as_ref().ok()) {
            if slice.is_stale {
                records.slice(&slice.record.slice);
            }
        }
        records
    }

    /// The record of a slice.
    pub(super) fn slice(&mut self, slice: &str) -> &mut WorkingRecord<'a, SliceRecord> {
        let observed = self.observed;
        self.slices
            .get_or_make(slice.to_owned(), || match observed.slice_record(slice) {
                None => WorkingRecord::of(None),
                Some(Ok((secret, opened))) => WorkingRecord::opened(secret, opened),
                Some(Err(_)) => WorkingRecord::unreadable(),
            })
    }

    /// What all slices of the peer but this one are granted together, with the changes of the
    /// plan.
    pub(super) fn granted_besides(&self, slice: &str) -> BTreeMap<String, Quantity> {
        let planned = self.slices.values().filter_map(WorkingRecord::planned);
        let observed = self.observed.slice_records.values();
        let observed = observed.filter_map(|(_, opened)| Some(&opened.as_ref().ok()?.record));
        let unplanned = observed.filter(|record| !self.slices.contains(&record.slice));
        let mut granted = BTreeMap::<&String, u128>::new();
        for record in planned
            .chain(unplanned)
            .filter(|record| record.slice != slice)
        {
            let resources = record
                .grant()
                .into_iter()
                .flat_map(|grant| &grant.resources);
            for (resource, amount) in resources {
                let sum = granted.entry(resource).or_default();
                *sum = sum.saturating_add(amount.billionths().unwrap_or(u128::MAX));
            }
        }
        let granted = granted.into_iter();
        granted
            .map(|(resource, amount)| (resource.clone(), Quantity::of_billionths(amount)))
            .collect()
    }

    /// Records the time until which a holder's certificate may be valid. Until then,
    /// the name of the peer is taken. If the holder is a slice, its name is taken,
    /// too.
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
        for token in lift_tokens(configuration, peer, record) {
            token.offer(&mut secret);
        }
        secret
    }

    fn seal_slice(&self, record: &SliceRecord) -> Secret {
        let configuration = self.configuration;
        record.seal(
            &configuration.slice_seal(&self.observed.peer),
            configuration.namespace(),
        )
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
        let peer = self.peer.write(|record| Some(self.seal_peer(record)));
        let slices = self.slices.values();
        let slices = slices.map(|slice| slice.write(|record| Some(self.seal_slice(record))));
        // What Liqo granted is read while the peer is not on record. So the peer's record
        // comes after what was read, and a crash in between loses nothing.
        match self.observed.record {
            None => slices.flatten().chain(peer).collect(),
            Some(_) => peer.into_iter().chain(slices.flatten()).collect(),
        }
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
