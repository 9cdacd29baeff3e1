//! A stored identity: its renewal, and newer certificates from the provider.

use super::{
    holder_context::HolderContext,
    offered::{Offer, begins_at},
    renewal::Renewal,
};
use crate::{
    consumer::{AcceptedIdentity, record::Plan},
    crypto::Nonce,
    error::Error,
    machine::{Awaited, Notice, expired_at},
    model::{Identity, Kubeconfig, ObjectRef, Resource, Tenant, Timestamp},
};

/// An identity whose kubeconfig is stored and matches the Identity.
#[derive(Clone, derive_more::Debug)]
pub struct StoredIdentity {
    /// The verified Identity, and what is known about the provider's key.
    pub accepted: AcceptedIdentity,
    /// The Secret with the kubeconfig, under the key `kubeconfig`.
    pub kubeconfig_secret: ObjectRef,
    /// What the kubeconfig says, made from the verified Identity and this cluster's own key.
    /// A client of the provider is built from this value, and never from the Secret's text:
    /// others may write the Secret after this look.
    pub kubeconfig: Kubeconfig,
    /// The state of the certificate's renewal.
    pub renewal: Renewal,
    #[debug(skip)]
    pub(crate) offer: Offer,
    #[debug(skip)]
    pub(crate) succession: Succession,
}

/// The state of the succession to this cluster's present key. The identities of
/// slices follow the control plane's identity.
#[derive(Clone)]
pub(crate) enum Succession {
    /// The identity is for the present key.
    Done,
    /// The succession needs a nonce, and the consumer waits for the provider's next
    /// nonce.
    AwaitsNonce,
    NeedsSignature(Nonce),
    AwaitsIdentity(Box<Tenant>),
}

impl HolderContext<'_> {
    /// Sets pins that are still missing, stores a newer certificate from the
    /// provider, and maintains the Renew through which the next certificate comes.
    ///
    /// # Errors
    /// [`LocalFault::Backend`](crate::error::LocalFault::Backend) if the key
    /// fails.
    pub(crate) fn maintain_identity(
        &self,
        stored: &StoredIdentity,
        plan: &mut Plan<'_>,
    ) -> Result<(), Error> {
        let Some(identity) = self.identity else {
            return Ok(());
        };
        self.record_identity(&stored.accepted, plan);
        let until = stored.accepted.identity.credentials.valid_until();
        plan.wake_by(until.map(expired_at));
        match &stored.offer {
            Offer::Nothing => {}
            Offer::Newer(offered) => {
                if self.is_of_control_plane() {
                    // After a release of the pins, this Identity may have other pins
                    // than the one before it.
                    plan.records
                        .change(|record| offered.accepted.record_pins(record));
                }
                if let Some(begins) = offered.accepted.begins_anew(&stored.accepted) {
                    self.forbid_before(begins, &stored.accepted, plan);
                }
                self.take(offered, plan);
            }
            Offer::Refused(error) => {
                plan.wake_by(begins_at(error));
                plan.refuse(error.clone());
            }
        }
        let (accepted, renewal, offer) = (&stored.accepted, &stored.renewal, &stored.offer);
        self.maintain_renew(identity, accepted, renewal, offer, plan)?;
        self.say(identity, stored, plan);
        Ok(())
    }

    /// Takes no certificate any more that begins before this time.
    fn forbid_before(&self, begins: Timestamp, held: &AcceptedIdentity, plan: &mut Plan<'_>) {
        let record = self.look.observed.record();
        let Some(mut received) = held.received(&self.holder, record, self.look.now) else {
            return;
        };
        received.none_before = Some(begins);
        plan.records
            .change(|record| record.set_received(&self.holder, received));
    }

    fn say(&self, identity: &Identity, stored: &StoredIdentity, plan: &mut Plan<'_>) {
        match &stored.renewal {
            Renewal::NotBefore(time) => plan.wake_by(Some(*time)),
            Renewal::Awaited { until, .. } => {
                plan.wake_by(Some(*until));
                plan.await_for(Awaited::Renewal(identity.id()));
            }
            _ => {}
        }
        self.renewal_notice(stored)
            .into_iter()
            .for_each(|notice| plan.notify(notice));
    }

    /// The notice for the renewal, if a person has to act.
    pub(crate) fn renewal_notice(&self, stored: &StoredIdentity) -> Option<Notice> {
        let identity = self.identity?.id();
        let until = stored.accepted.identity.credentials.valid_until()?;
        match &stored.renewal {
            Renewal::Due if self.is_by_hand() => Some(Notice::CertificateDue { identity, until }),
            Renewal::PeerCannot(error) => Some(Notice::CannotRenew {
                identity,
                until,
                error: error.clone(),
            }),
            _ => None,
        }
    }
}
