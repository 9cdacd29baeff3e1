//! Taking an Identity that was handed over.

use std::collections::BTreeMap;

use super::{accepted::Accepted, keys::Keys};
use crate::{
    assurance::commitment::COMMITMENT_ANNOTATION,
    audit::{Decision, Event},
    consumer::{
        Consumer,
        observed::{Observed, Purpose},
    },
    error::{Error, Fault, PolicyRefusal, Precondition, shortened},
    machine::{Effect, Part, Step},
    model::{Identity, Metadata, Resource, Timestamp, names},
};

impl Consumer {
    pub(in crate::consumer) fn receive_identity(
        &self,
        observed: Observed<'_>,
        keys: &Keys,
        received: &Identity,
        now: Timestamp,
    ) -> Result<Step, Error> {
        let mut record = observed.record();
        if record.ended.is_some() && observed.signed_nonce.is_none() {
            let fault = PolicyRefusal::PeeringEnded;
            return Err(Error::new(fault, Some(received.id()), ""));
        }
        let accepted = self.accept(&observed, keys, received, now)?;
        self.check_follows(&observed, keys, &accepted, received, now)?;
        let mut step = Step::default();
        if observed.namespace.is_none() {
            step.effects.push(observed.create_namespace()?);
        }
        accepted.record_pins(&mut record);
        accepted.record_receipt(Purpose::ControlPlane, &mut record, now);
        match observed.identity {
            None => {
                let mut metadata = clean(&received.metadata);
                metadata.namespace = observed.namespace_name();
                let given = &received.metadata.namespace;
                if !given.is_empty() && *given != metadata.namespace {
                    let (expected, found) = (metadata.namespace, shortened(given));
                    let fault = PolicyRefusal::UnexpectedNamespace { expected, found };
                    return Err(Error::new(fault, Some(received.id()), "metadata.namespace"));
                }
                step.effects.push(Effect::Create(
                    Identity {
                        metadata,
                        spec: received.spec.clone(),
                        ..Identity::default()
                    }
                    .into(),
                ));
            }
            Some(stored) => {
                let mut wanted = stored.clone();
                wanted.spec = received.spec.clone();
                let annotations = &mut wanted.metadata.annotations;
                annotations.remove(COMMITMENT_ANNOTATION);
                annotations.extend(clean(&received.metadata).annotations);
                if received.spec != stored.spec {
                    // What it asked for has come.
                    annotations.remove(names::RENEW_ANNOTATION);
                }
                step.effects
                    .extend(Effect::patch(stored, wanted, Part::Main));
            }
        }
        step.notices.extend(accepted.notices());
        if !step.is_settled() {
            let decision = Decision::IdentityTaken {
                certificate: accepted.fingerprint(),
            };
            let key = accepted.key.public_key().fingerprint();
            step.events.push(
                Event::new(&observed.peer, decision)
                    .about(received.id())
                    .by_key(key),
            );
        }
        Ok(observed.with_record(self, step, &record))
    }

    /// That an Identity which was handed over does not take the place of a
    /// better one. A certificate that ends together with the one that is held
    /// may: it was issued again.
    fn check_follows(
        &self,
        observed: &Observed<'_>,
        keys: &Keys,
        accepted: &Accepted,
        received: &Identity,
        now: Timestamp,
    ) -> Result<(), Error> {
        let Some(stored) = observed.identity else {
            return Ok(());
        };
        let Ok(held) = self.accept(observed, keys, stored, now) else {
            return Ok(());
        };
        if accepted.by_predecessor && !held.by_predecessor {
            self.accept(observed, &keys.current_only(), received, now)?;
        }
        match accepted.compare(&held) {
            Ok(_) => Ok(()),
            Err((Fault::Precondition(Precondition::NotNewer { found, held }), _))
                if found == held =>
            {
                Ok(())
            }
            Err((fault, field)) => Err(Error::new(fault, Some(received.id()), field)),
        }
    }
}

/// What of a received object's metadata is stored: its name, whose it is, and
/// the provider's commitment. Other labels and annotations are this cluster's
/// own to give a meaning to.
fn clean(received: &Metadata) -> Metadata {
    Metadata {
        name: received.name.clone(),
        labels: kept(&received.labels, names::REMOTE_CLUSTER_ID_LABEL),
        annotations: kept(&received.annotations, COMMITMENT_ANNOTATION),
        ..Metadata::default()
    }
}

fn kept(all: &BTreeMap<String, String>, key: &str) -> BTreeMap<String, String> {
    all.get_key_value(key)
        .map(|(key, value)| (key.clone(), value.clone()))
        .into_iter()
        .collect()
}
