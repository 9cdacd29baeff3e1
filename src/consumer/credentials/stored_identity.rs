//! Holding an identity: what is due, and what came.

use core::time::Duration;

use super::{
    holding::Holding,
    renewal::Renewal,
    taking::{Offer, begins_at},
};
use crate::{
    consumer::{AcceptedIdentity, record::Plan},
    crypto::Nonce,
    error::Error,
    machine::{Awaited, Notice},
    model::{Identity, ObjectRef, Resource, Tenant},
};

/// An identity whose kubeconfig is stored and names what the Identity says.
#[derive(Clone)]
pub struct StoredIdentity {
    /// What was verified, and what is known of the provider's key.
    pub accepted: AcceptedIdentity,
    /// The Secret with the kubeconfig, under the key `kubeconfig`.
    pub kubeconfig_secret: ObjectRef,
    /// Where the renewal of the certificate stands.
    pub renewal: Renewal,
    pub(in crate::consumer) offer: Offer,
    pub(in crate::consumer) succession: Succession,
}

/// How far the provider has followed to this cluster's new key. A slice's
/// identity follows the control plane's.
#[derive(Clone)]
pub(in crate::consumer) enum Succession {
    /// The identity is for the present key.
    Done,
    /// Nothing to sign it over: the provider's next nonce is awaited.
    AwaitsNonce,
    NeedsSignature(Nonce),
    AwaitsIdentity(Box<Tenant>),
}

impl core::fmt::Debug for StoredIdentity {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter
            .debug_struct("StoredIdentity")
            .field("accepted", &self.accepted)
            .field("kubeconfig_secret", &self.kubeconfig_secret)
            .field("renewal", &self.renewal)
            .finish_non_exhaustive()
    }
}

impl Holding<'_> {
    /// Pins what was not pinned yet, takes a newer certificate that the provider
    /// gave, and keeps the Renew that the next one comes by.
    ///
    /// # Errors
    /// [`LocalFault::Backend`](crate::error::LocalFault::Backend) if the key
    /// fails.
    pub(in crate::consumer) fn maintain(
        &self,
        stored: &StoredIdentity,
        plan: &mut Plan<'_>,
    ) -> Result<(), Error> {
        let Some(identity) = self.identity else {
            return Ok(());
        };
        self.keep(&stored.accepted, plan);
        plan.wake_by(
            stored
                .accepted
                .valid_until()
                .map(|until| until + ONE_SECOND),
        );
        match &stored.offer {
            Offer::Nothing => {}
            Offer::Newer(offered) => {
                if self.is_of_control_plane() {
                    // After a release of the pins this one does not say what the
                    // one before it said.
                    plan.records
                        .change(|record| offered.accepted.record_pins(record));
                }
                self.take(offered, plan);
            }
            Offer::Refused(error) => {
                plan.wake_by(begins_at(error));
                plan.refuse(error.clone());
            }
        }
        self.keep_renew(identity, stored, plan)?;
        self.say(identity, stored, plan);
        Ok(())
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

    /// What a person should know of a renewal that does not come by itself.
    pub(in crate::consumer) fn renewal_notice(&self, stored: &StoredIdentity) -> Option<Notice> {
        let (identity, until) = (self.identity?.id(), stored.accepted.valid_until()?);
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

/// A certificate is good through the second that it ends with.
const ONE_SECOND: Duration = Duration::from_secs(1);
