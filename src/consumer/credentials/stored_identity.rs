//! Holding an identity: what is due, and what came.

use core::time::Duration;

use super::{
    kubeconfig::NeedsKubeconfig,
    renewal::Renewal,
    taking::{Answer, begins_at},
};
use crate::{
    assurance::commitment::Assurance,
    consumer::{
        handshake::signature::{AwaitsIdentity, NeedsSignature},
        observed::Purpose,
        record::Record,
    },
    crypto::{Fingerprint, PublicKey},
    error::Error,
    machine::{Awaited, Message, Notice, Refused, Step},
    model::{Kind, ObjectRef, Resource, Timestamp, names},
    verify::VerifiedIdentity,
};

/// The kubeconfig is stored and names what the Identity says.
#[derive(Clone)]
pub struct StoredIdentity<'o> {
    pub(in crate::consumer) stored: NeedsKubeconfig<'o>,
    pub(in crate::consumer) answer: Answer<'o>,
    succession: Succession<'o>,
}

/// How far the provider has followed to this cluster's new key.
#[derive(Clone)]
enum Succession<'o> {
    /// The identity is for the present key.
    Done,
    /// Nothing to sign it over: the provider's next nonce is awaited.
    AwaitsNonce,
    NeedsSignature(Box<NeedsSignature<'o>>),
    AwaitsIdentity(Box<AwaitsIdentity<'o>>),
}

impl StoredIdentity<'_> {
    /// Where the kubeconfig is: a Secret with the key `kubeconfig`.
    pub fn kubeconfig_secret(&self) -> ObjectRef {
        let identity = &self.stored.identity.metadata;
        ObjectRef::new(
            Kind::Secret,
            identity.namespace.as_str(),
            names::kubeconfig_secret(&identity.name),
        )
    }

    /// What was verified.
    pub fn identity(&self) -> &VerifiedIdentity {
        self.stored.identity()
    }

    /// How sure it is that the provider is the one meant.
    pub fn assurance(&self) -> Assurance {
        self.stored.assurance()
    }

    /// The key that the provider proved, to be compared with its
    /// administrator's word.
    pub fn provider_key(&self) -> Option<Fingerprint> {
        self.stored.provider_key()
    }

    /// This cluster's key that the certificate carries.
    pub fn key(&self) -> &PublicKey {
        self.stored.accepted.key.public_key()
    }

    /// Whether that key is on its way out, and the provider does not know the
    /// next one yet.
    pub fn awaits_new_key(&self) -> bool {
        self.stored.accepted.by_predecessor
    }

    /// When the certificate expires; AWS keys do not.
    pub fn valid_until(&self) -> Option<Timestamp> {
        self.identity().valid_until()
    }

    /// Pins what was not pinned yet, takes a newer certificate that the provider
    /// gave, and keeps the Renew that the next one comes by.
    ///
    /// # Errors
    /// [`LocalFault::Backend`](crate::error::LocalFault::Backend) if the key
    /// fails.
    pub fn maintain(&self) -> Result<Step, Error> {
        let stored = &self.stored;
        let mut record = stored.observed.record();
        let step = self.plan(&mut record)?;
        Ok(stored.observed.with_record(&stored.consumer, step, &record))
    }

    /// The step without its record, which others may have something to add to.
    pub(in crate::consumer) fn plan(&self, record: &mut Record) -> Result<Step, Error> {
        let mut step = Step::default();
        let renewal = self.renewal();
        self.stored.keep(record, &mut step);
        step.wait.wake_at = self.valid_until().map(|until| until + ONE_SECOND);
        match &self.answer {
            Answer::Nothing => {}
            Answer::Newer(newer) => {
                newer.pin(record);
                step.append(newer.take()?);
            }
            Answer::Refused(error) => {
                step.wait.wake_by(begins_at(error));
                step.refused.push(Refused {
                    object: error.at().object.clone(),
                    error: error.clone(),
                });
            }
        }
        self.plan_renew(&renewal, record, &mut step)?;
        self.say(renewal, &mut step);
        self.follow(record, &mut step)?;
        Ok(step)
    }

    fn say(&self, renewal: Renewal, step: &mut Step) {
        let identity = self.stored.identity.id();
        match (renewal, self.valid_until()) {
            (Renewal::NotBefore(time), _) => step.wait.wake_by(Some(time)),
            (Renewal::Awaited { until, .. }, _) => {
                step.wait.wake_by(Some(until));
                step.wait.awaiting.push(Awaited::Renewal(identity));
            }
            (Renewal::Due, Some(until)) if self.is_by_hand() => {
                step.notices
                    .push(Notice::CertificateDue { identity, until });
            }
            (Renewal::PeerCannot(error), Some(until)) => {
                step.notices.push(Notice::CannotRenew {
                    identity,
                    until,
                    error,
                });
            }
            _ => {}
        }
    }

    /// Goes on to the present key, while the provider knows the one before it.
    fn follow(&self, record: &mut Record, step: &mut Step) -> Result<(), Error> {
        match &self.succession {
            Succession::Done => {}
            Succession::AwaitsNonce => {
                step.notices.push(Notice::NewKeyAwaitsNonce);
                step.wait.awaiting.push(Awaited::Nonce);
            }
            Succession::NeedsSignature(phase) => step.append(phase.plan(record)?),
            Succession::AwaitsIdentity(sent) => {
                let tenant = Box::new(sent.tenant());
                step.outbox.push(Message::Tenant(tenant));
                step.wait.awaiting.push(Awaited::Identity);
            }
        }
        Ok(())
    }
}

impl<'o> StoredIdentity<'o> {
    pub(in crate::consumer) fn new(stored: NeedsKubeconfig<'o>, answer: Answer<'o>) -> Self {
        // A slice's identity follows the control plane's.
        let is_slice = matches!(stored.observed.purpose, Purpose::Slice(_));
        let succession = if stored.accepted.by_predecessor && !is_slice {
            Succession::AwaitsNonce
        } else {
            Succession::Done
        };
        Self {
            stored,
            answer,
            succession,
        }
    }

    /// The same, with a nonce to which the present key is to answer.
    pub(in crate::consumer) fn with_nonce(self, signature: NeedsSignature<'o>) -> Self {
        let succession = match signature.already_sent() {
            Some(sent) => Succession::AwaitsIdentity(Box::new(sent)),
            None => Succession::NeedsSignature(Box::new(signature)),
        };
        Self { succession, ..self }
    }
}

/// A certificate is good through the second that it ends with.
const ONE_SECOND: Duration = Duration::from_secs(1);
