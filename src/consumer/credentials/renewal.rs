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
    holding::Holding,
    stored_identity::StoredIdentity,
    taking::{Offer, begins_at, own},
};
use crate::{
    assurance::peer_version::{self, Ability},
    audit::{Decision, Event},
    consumer::{
        AcceptedIdentity, RenewalScheme,
        record::{Asked, Plan, Received, RenewedBy},
        replication_labels,
    },
    crypto::Csr,
    error::{Error, PeerIncompatible},
    machine::{Awaited, due_at},
    model::{
        Bytes, Identity, LocalObjectReference, OwnerReference, Renew, RenewSpec, Resource,
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
    /// [`Consumer::reconcile`](crate::Consumer::reconcile) asks for the next one, or, with
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

/// Where the renewal of a held certificate stands.
pub(super) fn of(holding: &Holding<'_>, accepted: &AcceptedIdentity, offer: &Offer) -> Renewal {
    let (record, now) = (holding.look.observed.record(), holding.look.now);
    let received = accepted.received(&holding.holder, record, now);
    let (Some(received), Some(until)) = (received, accepted.valid_until()) else {
        return Renewal::Never;
    };
    if matches!(offer, Offer::Newer(_)) {
        return Renewal::Answered;
    }
    let due = due_at(received.at, until);
    let awaited = |since: Timestamp| {
        let half = since + until.since(since) / 2;
        if now < half {
            return Renewal::Awaited { since, until: half };
        }
        holding.cannot(PeerIncompatible::RenewalUnanswered { since })
    };
    let mode = holding.mode(holding.renewed_by());
    match received.asked {
        Some(asked) if asked.unusable => {
            holding.cannot(PeerIncompatible::RenewalUnusable { since: asked.at })
        }
        Some(asked) => awaited(asked.at),
        None if holding.is_wanted_now(mode) => Renewal::Due,
        None if now < due => Renewal::NotBefore(due),
        None if mode == Mode::Provider => awaited(due),
        None => Renewal::Due,
    }
}

impl Holding<'_> {
    /// Whether someone asked for the next certificate before it is due, by the
    /// annotation of Liqo 1.0 and 1.1. A provider that renews by itself cannot
    /// be asked. Source: Liqo `LocalRenewerReconciler.shouldRenew`.
    fn is_wanted_now(&self, mode: Mode) -> bool {
        let annotations = self.identity.map(|identity| &identity.metadata.annotations);
        let wanted = annotations.and_then(|all| all.get(names::RENEW_ANNOTATION));
        wanted.is_some_and(|value| value == "true" || value == "True")
            && matches!(mode, Mode::Consumer | Mode::Unknown)
    }

    pub(super) fn is_by_hand(&self) -> bool {
        self.mode(None) == Mode::Hand
    }

    fn cannot(&self, fault: PeerIncompatible) -> Renewal {
        let identity = self.identity.map(Resource::id);
        Renewal::PeerCannot(Error::new(fault, identity, "spec.authParams.signedCRT"))
    }

    /// The side that renews, as far as the provider's answers show it by now.
    fn renewed_by(&self) -> Option<RenewedBy> {
        let observed = self.look.observed;
        let own = self.renew.as_ref().ok().copied().flatten();
        let renews = own.into_iter().chain(observed.readable_renew());
        match peer_version::of_answers(renews).can(Ability::RenewByChannel) {
            Some(true) => Some(RenewedBy::Provider),
            _ => observed.record()?.renewed_by,
        }
    }

    fn mode(&self, renewed_by: Option<RenewedBy>) -> Mode {
        match (self.look.settings().renewal, renewed_by) {
            (RenewalScheme::ByHand, _) => Mode::Hand,
            (RenewalScheme::ByProvider, _)
            | (RenewalScheme::ByEvidence, Some(RenewedBy::Provider)) => Mode::Provider,
            (RenewalScheme::ByConsumer, _)
            | (RenewalScheme::ByEvidence, Some(RenewedBy::Consumer)) => Mode::Consumer,
            (RenewalScheme::ByEvidence, None) => Mode::Unknown,
        }
    }

    /// What becomes of the Renew.
    pub(super) fn keep_renew(
        &self,
        identity: &Identity,
        stored: &StoredIdentity,
        plan: &mut Plan<'_>,
    ) -> Result<(), Error> {
        let present = match &self.renew {
            Ok(present) => *present,
            // It is there, and no other can be made in its place.
            Err(error) => {
                plan.refuse(error.clone());
                return Ok(());
            }
        };
        let (renewal, accepted) = (&stored.renewal, &stored.accepted);
        let record = self.look.observed.record();
        let Some(mut received) = accepted.received(&self.holder, record, self.look.now) else {
            return Ok(());
        };
        if present.is_some_and(|renew| renew.metadata.deletion_timestamp.is_some()) {
            return Ok(());
        }
        let has_request = present.is_some_and(|renew| !renew.spec.csr.is_empty());
        let is_answered = present.is_some_and(|renew| renew.status.auth_params.is_some());
        let renewed_by = self.renewed_by();
        if renewed_by.is_some() {
            plan.records.change(|record| record.renewed_by = renewed_by);
        }
        let mode = self.mode(renewed_by);
        if mode == Mode::Hand {
            return Ok(());
        }
        if let Some(asked) = &mut received.asked
            && let Offer::Refused(error) = &stored.offer
            && has_request
            && begins_at(error).is_none()
        {
            // Liqo 1.0 and 1.1 sign at each event of a Renew that stays.
            asked.unusable = true;
            plan.records
                .change(|record| record.set_received(&self.holder, received));
        }
        let is_asked = received.asked.is_some_and(|asked| !asked.unusable);
        if let Some(renew) = present
            && has_request
            && !is_asked
            && *renewal != Renewal::Answered
            && (is_answered || *renewal != Renewal::Due)
        {
            if is_answered && renewed_by.is_none() {
                plan.records
                    .change(|record| record.renewed_by = Some(RenewedBy::Consumer));
            }
            plan.delete(renew);
            return Ok(());
        }
        let asks = mode != Mode::Provider && (is_asked || *renewal == Renewal::Due);
        let is_channel = self.is_of_control_plane()
            && matches!(mode, Mode::Provider | Mode::Unknown)
            && received.asked.is_none();
        if !asks && !is_channel {
            return Ok(());
        }
        if identity.metadata.uid.is_empty() {
            plan.await_for(Awaited::Uid(identity.id()));
            return Ok(());
        }
        let csr = if asks {
            let Some(csr) = self.request(present, accepted, plan)? else {
                return Ok(());
            };
            Some(csr)
        } else {
            None
        };
        if asks && !is_asked {
            self.record_request(identity, accepted, received, plan);
        }
        match present {
            None => {
                let mut renew = Renew::default();
                self.fill(&mut renew, identity, accepted, csr.as_ref());
                plan.create(renew);
            }
            Some(stored) => plan.edit(stored, |renew| {
                self.fill(renew, identity, accepted, csr.as_ref());
            }),
        }
        Ok(())
    }

    fn record_request(
        &self,
        identity: &Identity,
        accepted: &AcceptedIdentity,
        received: Received,
        plan: &mut Plan<'_>,
    ) {
        let asked = Some(Asked {
            at: self.look.now,
            unusable: false,
        });
        plan.records
            .change(|record| record.set_received(&self.holder, Received { asked, ..received }));
        plan.await_for(Awaited::Renewal(identity.id()));
        let requested = Event::new(self.look.peer(), Decision::RenewalRequested);
        let key = accepted.key().fingerprint();
        plan.tell(requested.about(identity.id()).by_key(key));
    }

    /// Makes the Renew what it has to be, with a request or without.
    fn fill(
        &self,
        renew: &mut Renew,
        identity: &Identity,
        accepted: &AcceptedIdentity,
        csr: Option<&Csr>,
    ) {
        let metadata = &mut renew.metadata;
        metadata.name.clone_from(&identity.metadata.name);
        metadata.namespace.clone_from(&identity.metadata.namespace);
        metadata.labels.extend(replication_labels(self.look.peer()));
        own(metadata, OwnerReference::controller(identity));
        renew.spec = RenewSpec {
            consumer_cluster_id: self.look.configuration.cluster_id.to_string(),
            identity_type: identity.spec.identity_type,
            ..RenewSpec::default()
        };
        if let Some(csr) = csr {
            renew.spec.public_key = Bytes::from(accepted.key().to_tenant_field());
            renew.spec.csr = Bytes::from(csr.pem());
            renew.spec.resource_slice_ref = self.slice.map(|slice| LocalObjectReference {
                name: slice.metadata.name.clone(),
            });
        }
    }

    /// The request of the first time, which the provider has on record; another
    /// one only where that is lost. None while the key has not answered.
    fn request(
        &self,
        present: Option<&Renew>,
        accepted: &AcceptedIdentity,
        plan: &mut Plan<'_>,
    ) -> Result<Option<Csr>, Error> {
        let subject = self.holder.subject(&self.look.configuration.cluster_id);
        let sent = present.map(|renew| renew.spec.csr.as_slice());
        let kept = match self.slice {
            None => self
                .look
                .observed
                .record()
                .and_then(|record| record.csr.as_deref()),
            Some(slice) => Some(slice.spec.csr.as_slice()),
        };
        let kept = sent.into_iter().chain(kept);
        let csr = self.look.csr(&subject, &*accepted.key, kept, plan)?;
        // What is on record is the request by the present key.
        if let Some(csr) = &csr
            && self.is_of_control_plane()
            && !accepted.awaits_new_key()
        {
            let pem = csr.pem().to_vec();
            plan.records.change(|record| record.csr = Some(pem));
        }
        Ok(csr)
    }
}
