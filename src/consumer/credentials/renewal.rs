//! Who renews a certificate, when, and the Renew that it comes by.
//!
//! ```text
//!   NotBefore ──two thirds──▶ Due ──▶ Awaited ──half of what is left──▶ PeerCannot
//!                              │         │
//!                              │         └──▶ Answered: into the Identity
//!                              └ by hand: a notice
//! ```
//!
//! Time is measured from when a certificate came, by this side's clock, and
//! there is one request for each certificate: nothing renews in a loop. Someone
//! who does not want to wait annotates the Identity; the annotation goes with
//! the answer.

use super::{
    stored_identity::StoredIdentity,
    taking::{Answer, begins_at, own},
};
use crate::{
    audit::{Decision, Event},
    consumer::{
        Consumer, RenewalScheme,
        observed::Purpose,
        record::{Asked, Received, Record, RenewedBy},
    },
    crypto::{Csr, SigningKey, Subject},
    error::{Backend, Error, PeerIncompatible},
    machine::{Awaited, Effect, Part, Refused, Step, due_at},
    model::{
        Bytes, ClusterId, LocalObjectReference, OwnerReference, Renew, RenewSpec, Resource,
        Timestamp, names,
    },
};

/// Where the renewal of a certificate stands.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Renewal {
    /// There is no certificate that could end: AWS keys.
    Never,
    /// It is not due before this time.
    NotBefore(Timestamp),
    /// It is due, or wanted before
    /// ([`RENEW_ANNOTATION`](crate::model::names::RENEW_ANNOTATION)).
    /// [`Consumer::reconcile`] asks for the next one, or, with
    /// [`RenewalScheme::ByHand`], says so.
    Due,
    /// It was due, and the next one is awaited.
    Awaited {
        /// When it was asked for, or due where the provider renews by itself.
        since: Timestamp,
        /// From when on it is not expected any more.
        until: Timestamp,
    },
    /// The next one is there, and is to be taken.
    Answered,
    /// The next one will not come. It is not asked for again.
    PeerCannot(Error),
}

/// Who renews, as far as it is known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Provider,
    Consumer,
    Unknown,
    Hand,
}

impl StoredIdentity<'_> {
    /// Where the renewal of the certificate stands.
    pub fn renewal(&self) -> Renewal {
        let record = self.stored.observed.record();
        let accepted = &self.stored.accepted;
        let purpose = self.stored.observed.purpose;
        let now = self.stored.now;
        let (Some(received), Some(until)) =
            (accepted.received(purpose, &record, now), self.valid_until())
        else {
            return Renewal::Never;
        };
        if matches!(self.answer, Answer::Newer(_)) {
            return Renewal::Answered;
        }
        let due = due_at(received.at, until);
        let awaited = |since: Timestamp| {
            let half = since + until.since(since) / 2;
            if now < half {
                return Renewal::Awaited { since, until: half };
            }
            self.cannot(PeerIncompatible::RenewalUnanswered { since })
        };
        match received.asked {
            Some(asked) if asked.unusable => {
                self.cannot(PeerIncompatible::RenewalUnusable { since: asked.at })
            }
            Some(asked) => awaited(asked.at),
            None if self.is_wanted_now(&record) => Renewal::Due,
            None if now < due => Renewal::NotBefore(due),
            None if self.mode(&record) == Mode::Provider => awaited(due),
            None => Renewal::Due,
        }
    }

    /// Whether someone asked for the next certificate before it is due, by the
    /// annotation of Liqo 1.0 and 1.1. A provider that renews by itself cannot
    /// be asked. Source: Liqo `LocalRenewerReconciler.shouldRenew`.
    fn is_wanted_now(&self, record: &Record) -> bool {
        let annotations = &self.stored.identity.metadata.annotations;
        let wanted = annotations.get(names::RENEW_ANNOTATION);
        wanted.is_some_and(|value| value == "true" || value == "True")
            && matches!(self.mode(record), Mode::Consumer | Mode::Unknown)
    }

    pub(in crate::consumer) fn is_by_hand(&self) -> bool {
        self.mode(&self.stored.observed.record()) == Mode::Hand
    }

    fn cannot(&self, fault: PeerIncompatible) -> Renewal {
        let identity = self.stored.identity.id();
        Renewal::PeerCannot(Error::new(
            fault,
            Some(identity),
            "spec.authParams.signedCRT",
        ))
    }

    fn mode(&self, record: &Record) -> Mode {
        let settings = self.stored.consumer.settings(&self.stored.observed.peer);
        match (settings.renewal, record.renewed_by) {
            (RenewalScheme::ByHand, _) => Mode::Hand,
            (RenewalScheme::ByProvider, _)
            | (RenewalScheme::ByEvidence, Some(RenewedBy::Provider)) => Mode::Provider,
            (RenewalScheme::ByConsumer, _)
            | (RenewalScheme::ByEvidence, Some(RenewedBy::Consumer)) => Mode::Consumer,
            (RenewalScheme::ByEvidence, None) => Mode::Unknown,
        }
    }

    /// What becomes of the Renew.
    pub(in crate::consumer) fn plan_renew(
        &self,
        renewal: &Renewal,
        record: &mut Record,
        step: &mut Step,
    ) -> Result<(), Error> {
        let observed = &self.stored.observed;
        let present = match &observed.renew {
            Ok(present) => *present,
            // It is there, and no other can be made in its place.
            Err(error) => {
                step.refused.push(Refused {
                    object: error.at().object.clone(),
                    error: error.clone(),
                });
                return Ok(());
            }
        };
        let Some(mut received) = record.received(observed.purpose) else {
            return Ok(());
        };
        if present.is_some_and(|renew| renew.metadata.deletion_timestamp.is_some()) {
            return Ok(());
        }
        let has_request = present.is_some_and(|renew| !renew.spec.csr.is_empty());
        let is_answered = present.is_some_and(|renew| renew.status.auth_params.is_some());
        if is_answered && !has_request {
            // Only from 1.2 on an empty Renew is answered.
            record.renewed_by = Some(RenewedBy::Provider);
        }
        let mode = self.mode(record);
        if mode == Mode::Hand {
            return Ok(());
        }
        if let Some(asked) = &mut received.asked
            && let Answer::Refused(error) = &self.answer
            && has_request
            && begins_at(error).is_none()
        {
            // Liqo 1.0 and 1.1 sign at each event of a Renew that stays.
            asked.unusable = true;
            record.set_received(observed.purpose, received);
        }
        let is_asked = received.asked.is_some_and(|asked| !asked.unusable);
        if let Some(renew) = present
            && has_request
            && !is_asked
            && *renewal != Renewal::Answered
            && (is_answered || *renewal != Renewal::Due)
        {
            if is_answered && record.renewed_by.is_none() {
                record.renewed_by = Some(RenewedBy::Consumer);
            }
            step.effects.push(Effect::delete(renew));
            return Ok(());
        }
        let asks = mode != Mode::Provider && (is_asked || *renewal == Renewal::Due);
        let is_channel = matches!(observed.purpose, Purpose::ControlPlane)
            && matches!(mode, Mode::Provider | Mode::Unknown)
            && received.asked.is_none();
        if !asks && !is_channel {
            return Ok(());
        }
        if self.stored.identity.metadata.uid.is_empty() {
            let identity = self.stored.identity.id();
            step.wait.awaiting.push(Awaited::Uid(identity));
            return Ok(());
        }
        let csr = if asks {
            Some(self.request(present, record)?)
        } else {
            None
        };
        let wanted = self.wanted(present, csr);
        if asks && !is_asked {
            self.record_request(received, record, step);
        }
        step.effects.extend(match present {
            None => Some(Effect::Create(wanted.into())),
            Some(renew) => Effect::patch(renew, wanted, Part::Main),
        });
        Ok(())
    }

    fn record_request(&self, received: Received, record: &mut Record, step: &mut Step) {
        let observed = &self.stored.observed;
        let asked = Some(Asked {
            at: self.stored.now,
            unusable: false,
        });
        record.set_received(observed.purpose, Received { asked, ..received });
        let identity = self.stored.identity.id();
        step.wait.awaiting.push(Awaited::Renewal(identity.clone()));
        let key = self.stored.accepted.key.public_key().fingerprint();
        step.events.push(
            Event::new(&observed.peer, Decision::RenewalRequested)
                .about(identity)
                .by_key(key),
        );
    }

    /// The Renew as it has to be, with a request or without.
    fn wanted(&self, present: Option<&Renew>, csr: Option<Csr>) -> Renew {
        let observed = &self.stored.observed;
        let mut renew = present.cloned().unwrap_or_default();
        let metadata = &mut renew.metadata;
        metadata
            .name
            .clone_from(&self.stored.identity.metadata.name);
        metadata
            .namespace
            .clone_from(&self.stored.identity.metadata.namespace);
        metadata
            .labels
            .extend(crate::consumer::replication_labels(&observed.peer));
        own(metadata, OwnerReference::controller(self.stored.identity));
        renew.spec = RenewSpec {
            consumer_cluster_id: self.stored.consumer.cluster_id().to_string(),
            identity_type: self.stored.identity.spec.identity_type,
            ..RenewSpec::default()
        };
        if let Some(csr) = csr {
            let key = self.stored.accepted.key.public_key();
            renew.spec.public_key = Bytes::from(key.to_tenant_field());
            renew.spec.csr = Bytes::from(csr.pem());
            if let Purpose::Slice(slice) = observed.purpose {
                renew.spec.resource_slice_ref = Some(LocalObjectReference {
                    name: slice.metadata.name.clone(),
                });
            }
        }
        renew
    }

    /// The request of the first time, which the provider has on record; another
    /// one only where that is lost.
    fn request(&self, present: Option<&Renew>, record: &mut Record) -> Result<Csr, Error> {
        let stored = &self.stored;
        let consumer = &stored.consumer;
        let accepted = &stored.accepted;
        let sent = present.map(|renew| renew.spec.csr.as_slice());
        let (subject, kept) = match stored.observed.purpose {
            Purpose::ControlPlane => (
                Subject::control_plane(consumer.cluster_id()),
                record.csr.clone(),
            ),
            Purpose::Slice(slice) => (
                Subject::resource_slice(&slice.metadata.name, consumer.cluster_id()),
                Some(slice.spec.csr.as_slice().to_vec()),
            ),
        };
        let kept = sent.into_iter().chain(kept.as_deref());
        let csr = consumer.csr(&stored.observed.peer, &subject, &*accepted.key, kept)?;
        // What is on record is the request by the present key.
        if matches!(stored.observed.purpose, Purpose::ControlPlane) && !accepted.by_predecessor {
            record.csr = Some(csr.pem().to_vec());
        }
        Ok(csr)
    }
}

impl Consumer {
    /// The first of the requests that are kept which is the right one for the
    /// key, or a new one.
    pub(in crate::consumer) fn csr<'k>(
        &self,
        peer: &ClusterId,
        subject: &Subject,
        key: &dyn SigningKey,
        kept: impl IntoIterator<Item = &'k [u8]>,
    ) -> Result<Csr, Error> {
        let policy = self.policy(peer);
        let mut kept = kept
            .into_iter()
            .filter_map(|pem| Csr::verify(pem, subject, key.public_key(), policy).ok());
        match kept.next() {
            Some(csr) => Ok(csr),
            None => Csr::make(subject, key).map_err(|error| Error::backend(Backend::Keys, error)),
        }
    }
}
