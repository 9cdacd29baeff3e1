//! The renewal of a certificate: which side renews, when, and through which Renew.
//!
//! ```text
//!   NotBefore ──two thirds──▶ Due ──▶ Awaited ──half of what is left──▶ PeerCannot
//!                              │         │
//!                              │         └──▶ Answered: into the Identity
//!                              └ by hand: a notice
//! ```
//!
//! Each time is measured from the arrival of the certificate, by this side's clock.
//! Each certificate is requested at most once, so that renewals cannot loop. An
//! administrator who does not want to wait annotates the Identity. The annotation is
//! removed when the answer is stored.

use super::{
    holder_context::{HolderContext, set_controller},
    offered::{Offer, begins_at},
};
use crate::{
    assurance::peer_version::{self, Ability},
    audit::{Decision, Event},
    consumer::{
        AcceptedIdentity, RenewalScheme,
        record::Plan,
        record::{Asked, Pinned, Received, RenewedBy},
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

/// The state of a certificate's renewal.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Renewal {
    /// The credentials are AWS keys, which do not expire.
    Never,
    /// The renewal is not due before this time.
    NotBefore(Timestamp),
    /// The renewal is due, or
    /// [`RENEW_ANNOTATION`](crate::model::names::RENEW_ANNOTATION) asks for it
    /// earlier. [`Machine::reconcile`](crate::Machine::reconcile) requests the
    /// next certificate. With [`RenewalScheme::ByHand`], it reports a notice
    /// instead.
    Due,
    /// The renewal was due, and the consumer waits for the next certificate.
    Awaited {
        /// The time at which the certificate was requested. If the provider renews
        /// by itself, the time at which the renewal was due.
        since: Timestamp,
        /// After this time, the next certificate is not expected any more.
        until: Timestamp,
    },
    /// The next certificate has come, and the next step stores it.
    Answered,
    /// The next certificate will not come. It is not requested again.
    PeerCannot(Error),
}

/// The side that renews, if this side is known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Provider,
    Consumer,
    Unknown,
    Hand,
}

/// The state of a stored certificate's renewal.
pub(super) fn of(
    context: &HolderContext<'_>,
    accepted: &AcceptedIdentity,
    offer: &Offer,
) -> Renewal {
    let (record, now) = (context.look.observed.record(), context.look.now);
    let received = accepted.received(&context.holder, record, now);
    let (Some(received), Some(until)) = (received, accepted.identity.credentials.valid_until())
    else {
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
        context.cannot(PeerIncompatible::RenewalUnanswered { since })
    };
    let mode = context.mode(context.renewed_by());
    match received.asked {
        Some(asked) if asked.unusable => context.unusable(asked),
        Some(asked) => awaited(asked.at),
        None if context.is_wanted_now(mode) => Renewal::Due,
        None if now < due => Renewal::NotBefore(due),
        None if mode == Mode::Provider => awaited(due),
        None => Renewal::Due,
    }
}

impl HolderContext<'_> {
    /// Whether an administrator requests the renewal before it is due, with the
    /// annotation of Liqo 1.0 and 1.1. The annotation has no effect on a provider
    /// that renews by itself. Source: Liqo `LocalRenewerReconciler.shouldRenew`.
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
        self.cannot_for(fault, "spec.authParams.signedCRT")
    }

    fn cannot_for(&self, fault: PeerIncompatible, field: &'static str) -> Renewal {
        let identity = self.identity.map(Resource::id);
        Renewal::PeerCannot(Error::new(fault, identity, field))
    }

    /// The answer is gone. Its fault counts as long as this side keeps what it differed from.
    fn unusable(&self, asked: Asked) -> Renewal {
        let record = self.look.observed.record();
        let has_pins = record.is_some_and(|record| record.endpoint.is_some());
        match asked.differed_in.filter(|_| has_pins) {
            Some(pinned) => self.cannot_for(PeerIncompatible::EndpointChanged, pinned.field()),
            None => self.cannot(PeerIncompatible::RenewalUnusable { since: asked.at }),
        }
    }

    /// The side that renews, if the provider's answers have shown this side.
    fn renewed_by(&self) -> Option<RenewedBy> {
        let observed = self.look.observed;
        let own = self.readable_renew().into_iter();
        let renews = own.chain(observed.readable_renew());
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

    /// Creates the Renew through which the provider sends the next certificate, in the step that
    /// stores the kubeconfig of this one. Everything else about a renewal is for later looks: it
    /// may need a key, for which no kubeconfig waits.
    pub(super) fn open_channel(
        &self,
        identity: &Identity,
        accepted: &AcceptedIdentity,
        plan: &mut Plan<'_>,
    ) -> Result<(), Error> {
        let renewal = of(self, accepted, &Offer::Nothing);
        let is_first = matches!(self.renew, Ok(None)) && matches!(renewal, Renewal::NotBefore(_));
        match is_first {
            true => self.maintain_renew(identity, accepted, &renewal, &Offer::Nothing, plan),
            false => Ok(()),
        }
    }

    /// Creates, changes or deletes the Renew, as the renewal requires.
    pub(super) fn maintain_renew(
        &self,
        identity: &Identity,
        accepted: &AcceptedIdentity,
        renewal: &Renewal,
        offer: &Offer,
        plan: &mut Plan<'_>,
    ) -> Result<(), Error> {
        let present = match &self.renew {
            Ok(present) => *present,
            // A Renew exists but cannot be read, so no other Renew with its name can
            // be created.
            Err(error) => {
                plan.refuse(error.clone());
                return Ok(());
            }
        };
        let record = self.look.observed.record();
        let Some(mut received) = accepted.received(&self.holder, record, self.look.now) else {
            return Ok(());
        };
        if present.is_some_and(|renew| renew.metadata.deletion_timestamp.is_some()) {
            return Ok(());
        }
        if let Some(renew) = present {
            plan.keep_labels(renew, &replication_labels(self.look.peer()));
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
            && let Offer::Refused(error) = offer
            && has_request
            && begins_at(error).is_none()
        {
            // Liqo 1.0 and 1.1 sign the request again at each event of a Renew. So a
            // Renew with an unusable answer must not stay.
            asked.unusable = true;
            asked.differed_in = Pinned::of(error);
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
        let csr = match asks {
            true => self.request(present, accepted, plan)?,
            false => None,
        };
        if asks && csr.is_none() {
            return Ok(());
        }
        if asks && !is_asked {
            self.record_request(identity, accepted, received, plan);
        }
        plan.edit_or_create(present, |renew| {
            self.fill(renew, identity, accepted, csr.as_ref());
        });
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
            differed_in: None,
        });
        plan.records
            .change(|record| record.set_received(&self.holder, Received { asked, ..received }));
        plan.await_for(Awaited::Renewal(identity.id()));
        let requested = Event::new(self.look.peer(), Decision::RenewalRequested);
        let key = accepted.key().fingerprint();
        plan.tell(requested.about(identity.id()).by_key(key));
    }

    /// Sets the fields of the Renew. `csr` is the certificate request of a Renew
    /// with a request.
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
        metadata.set_labels(&replication_labels(self.look.peer()));
        set_controller(metadata, OwnerReference::controller(identity));
        renew.spec = RenewSpec {
            consumer_cluster_id: self.look.configuration.cluster_id().to_string(),
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

    /// The certificate request that this side sent first, and that the provider has
    /// recorded. If this request is lost, a new request is made. `None` if the key
    /// has not answered yet.
    fn request(
        &self,
        present: Option<&Renew>,
        accepted: &AcceptedIdentity,
        plan: &mut Plan<'_>,
    ) -> Result<Option<Csr>, Error> {
        let subject = self.holder.subject(self.look.configuration.cluster_id());
        let sent = present.map(|renew| renew.spec.csr.as_slice());
        let kept = match self.slice {
            None => self.look.observed.kept_request(),
            Some(slice) => Some(slice.spec.csr.as_slice()),
        };
        let kept = sent.into_iter().chain(kept);
        let csr = self.look.csr(&subject, &*accepted.key, kept, plan)?;
        // The record contains only a request by the present key.
        if let Some(csr) = &csr
            && self.is_of_control_plane()
            && !accepted.awaits_new_key
        {
            let pem = csr.pem().to_vec();
            plan.records.change(|record| record.csr = Some(pem));
        }
        Ok(csr)
    }
}
