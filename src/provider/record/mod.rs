//! What the provider remembers, in Secrets of its own namespace, under a seal:
//! of each peer, and of each of its slices.

mod aws_keys;
mod grant;
mod held;
mod issued_certificate;
mod peer;
mod signing_rate;
mod slice;

use std::collections::BTreeMap;

pub(super) use aws_keys::{AccessKey, HeldKey, SliceKey};
pub use grant::Grant;
pub(super) use held::{HeldCredentials, SigningAttempt};
pub(super) use issued_certificate::{IssuedCertificate, RefusedRenewal};
pub(super) use peer::{NonceMark, Proof, Record, StoredCommitment, Verdict, name};
pub(super) use signing_rate::{SigningRate, Taking};
pub(super) use slice::{
    Decided, NAME_PREFIX as SLICE_NAME_PREFIX, Outcome, SliceRecord, name as slice_name,
};

use super::{configuration::Configuration, observed::Observed, rights::offer_lift};
use crate::machine::{
    self, Holder,
    plan::RecordWrite,
    record::WorkingRecord,
    sealed::{self, Opened, Seal},
};
use crate::model::{Secret, Timestamp};

/// What a call at the provider changes.
pub(super) type Plan<'a> = machine::plan::Plan<Records<'a>>;

/// The working copies of a peer's record and of its slices' records.
#[derive(Clone)]
pub(super) struct Records<'a> {
    configuration: &'a Configuration,
    observed: &'a Observed<'a>,
    /// The peer's record.
    pub(super) peer: WorkingRecord<'a, Record>,
    slices: BTreeMap<String, WorkingRecord<'a, SliceRecord>>,
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
            slices: BTreeMap::new(),
        }
    }

    /// The record of a slice.
    pub(super) fn slice(&mut self, slice: &str) -> &mut WorkingRecord<'a, SliceRecord> {
        let observed = self.observed;
        let peer = &observed.peer;
        self.slices.entry(slice.to_owned()).or_insert_with(|| {
            match observed.slice_records.get(slice_name(peer, slice).as_str()) {
                None => WorkingRecord::of(None, None),
                Some((secret, Ok(opened))) => WorkingRecord::of(Some(secret), Some(&opened.record)),
                Some((_, Err(_))) => WorkingRecord::unreadable(),
            }
        })
    }

    /// Remembers until when a certificate of a holder may hold: the peer's name
    /// is taken until then, and that of a slice as well.
    pub(super) fn remember_until(&mut self, holder: &Holder, until: Timestamp) {
        self.peer.change(|record| record.remember_until(until));
        if let Holder::Slice(slice) = holder {
            self.slice(slice)
                .change(|record| record.remember_until(until));
        }
    }

    /// Changes what a holder has, if its record is there.
    pub(super) fn held(&mut self, holder: &Holder, change: impl FnOnce(&mut HeldCredentials)) {
        match holder {
            Holder::ControlPlane => self.peer.change(|record| change(&mut record.held)),
            Holder::Slice(slice) => self.slice(slice).change(|record| change(&mut record.held)),
        }
    }

    fn seal_peer(&self, record: &Record) -> Secret {
        let configuration = self.configuration;
        let peer = &self.observed.peer;
        let mut secret = record.seal(&configuration.seal(peer), &configuration.namespace);
        offer_lift(configuration, record, peer, &mut secret);
        secret
    }

    fn seal_slice(&self, record: &SliceRecord) -> Secret {
        let configuration = self.configuration;
        record.seal(
            &configuration.slice_seal(&self.observed.peer),
            &configuration.namespace,
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

impl machine::plan::Records for Records<'_> {
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
        for (secret, record) in self.stale_slices() {
            let name = &secret.metadata.name;
            if writes
                .iter()
                .all(|write| write.secret.metadata.name != *name)
            {
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
    pub(super) fn seal<'a>(&'a self, peer: &'a crate::model::ClusterId) -> Seal<'a> {
        Seal {
            key: &self.record_key,
            domain: sealed::PEER_DOMAIN,
            owner: &self.cluster_id,
            peer,
        }
    }

    /// The seal of the record of a peer's slice.
    pub(super) fn slice_seal<'a>(&'a self, peer: &'a crate::model::ClusterId) -> Seal<'a> {
        Seal {
            domain: sealed::SLICE_DOMAIN,
            ..self.seal(peer)
        }
    }
}
