//! Receiving the provider's nonce and its Identity.

use crate::{
    assurance::commitment::COMMITMENT_ANNOTATION,
    audit::{Decision, Event},
    consumer::{
        AcceptedIdentity,
        credentials::holder_context::HolderContext,
        keys::Keys,
        look::Look,
        record::{Plan, Received},
    },
    crypto::Nonce,
    error::{Error, Fault, PolicyRefusal, Precondition},
    machine::{Awaited, Holder, Notice},
    model::{Identity, Metadata, ObjectRef, Resource, TextMap, Timestamp, names},
};

impl Look<'_> {
    /// Receives a nonce. The nonce is stored and signed. A key that answers later
    /// signs the stored nonce in a later step.
    pub(crate) fn receive_nonce(&self, nonce: &Nonce, plan: &mut Plan<'_>) -> Result<(), Error> {
        let Some(keys) = self.keys else {
            plan.await_for(Awaited::OwnKey);
            let stored = self.observed.nonce_text();
            if stored.is_some_and(|(_, text)| text == nonce.as_bytes()) {
                return Ok(());
            }
            self.check_nonce(nonce.as_bytes(), None)?;
            plan.records.change(|record| record.begin(nonce));
            return self.store_nonce(nonce, None, plan);
        };
        let signing = self.signing(keys, nonce);
        // Each time the same nonce is received, the stored Tenant is sent again.
        if let Some(tenant) = signing.stored_tenant() {
            self.send_tenant(&tenant, plan);
        } else if signing.was_signed_by(keys.predecessor.as_deref()) {
            // The provider has used this nonce for the predecessor key. The present
            // key needs another nonce.
            plan.notify(Notice::NewKeyAwaitsNonce);
            plan.await_for(Awaited::Nonce);
        } else {
            self.check_nonce(nonce.as_bytes(), None)?;
            signing.sign(plan)?;
        }
        Ok(())
    }

    pub(crate) fn receive_identity(
        &self,
        received: &Identity,
        plan: &mut Plan<'_>,
    ) -> Result<(), Error> {
        let Some(keys) = self.keys else {
            plan.await_for(Awaited::OwnKey);
            return Ok(());
        };
        let (observed, id) = (self.observed, received.id());
        let has_ended = observed
            .record()
            .is_some_and(|record| record.ended.is_some());
        if has_ended && observed.signed_nonce.is_none() {
            return Err(Error::new(PolicyRefusal::PeeringEnded, Some(id), ""));
        }
        let context = HolderContext::of_control_plane(*self);
        let accepted = context.accept(keys, received)?;
        let begins_anew = context.check_follows(keys, &accepted, received)?;
        self.ensure_namespace(plan)?;
        let receipt = accepted.received(&Holder::ControlPlane, observed.record(), self.now);
        let receipt = receipt.map(|receipt| Received {
            none_before: begins_anew.or(receipt.none_before),
            ..receipt
        });
        plan.records.change(|record| {
            accepted.record_pins(record);
            if let Some(receipt) = receipt {
                record.set_received(&Holder::ControlPlane, receipt);
            }
        });
        let stored = match observed.identity {
            None => self.make_identity(received, plan)?,
            Some(stored) => {
                plan.edit(stored, |identity| replace(identity, received));
                stored.id()
            }
        };
        // The step that stores the kubeconfig also reports the notice about the CA.
        let notices = accepted.notices_of_key();
        notices.for_each(|notice| plan.notify(notice));
        let decision = Decision::IdentityTaken {
            certificate: receipt.map(|receipt| receipt.certificate),
        };
        let taken = Event::new(self.peer(), decision).about(id);
        plan.tell_upon(stored, taken.by_key(accepted.key().fingerprint()));
        Ok(())
    }

    fn make_identity(&self, received: &Identity, plan: &mut Plan<'_>) -> Result<ObjectRef, Error> {
        let mut metadata = clean(&received.metadata);
        metadata.namespace = self.observed.namespace_name();
        let given = &received.metadata.namespace;
        if !given.is_empty() && *given != metadata.namespace {
            let expected = metadata.namespace;
            return Err(Error::unexpected_namespace(received.id(), expected, given));
        }
        let identity = Identity {
            metadata,
            spec: received.spec.clone(),
            ..Identity::default()
        };
        let id = identity.id();
        plan.create(identity);
        Ok(id)
    }
}

impl HolderContext<'_> {
    /// Checks that a received Identity does not replace a better one. The same content
    /// replaces nothing. A certificate that expires at the same time as the stored one
    /// is accepted, because the provider may have issued the certificate again. Returns when the
    /// certificate begins, if it takes the place of one that ends later.
    fn check_follows(
        &self,
        keys: &Keys,
        accepted: &AcceptedIdentity,
        received: &Identity,
    ) -> Result<Option<Timestamp>, Error> {
        if self.identity.is_some_and(|it| it.spec == received.spec) {
            return Ok(None);
        }
        let older = |error: Error| error.moved_to(Some(received.id()), "spec.authParams.signedCRT");
        self.check_begin(accepted).map_err(older)?;
        let Some(Ok(held)) = self.identity.map(|stored| self.accept(keys, stored)) else {
            return Ok(None);
        };
        if accepted.awaits_new_key && !held.awaits_new_key {
            self.accept(&keys.current_only(), received)?;
        }
        match accepted.compare(&held) {
            Ok(_) => Ok(accepted.begins_anew(&held)),
            Err((Fault::Precondition(Precondition::NotNewer { found, held }), _))
                if found == held =>
            {
                Ok(None)
            }
            Err((fault, field)) => Err(Error::found_in(received, field, fault)),
        }
    }
}

/// Replaces the stored content with the received content.
fn replace(stored: &mut Identity, received: &Identity) {
    let annotations = &mut stored.metadata.annotations;
    annotations.remove(COMMITMENT_ANNOTATION);
    annotations.extend(clean(&received.metadata).annotations);
    if received.spec != stored.spec {
        // The requested certificate has come.
        annotations.remove(names::RENEW_ANNOTATION);
        stored.spec = received.spec.clone();
    }
}

/// The part of the received metadata that is stored: the name, the cluster ID and
/// the provider's commitment. Only this cluster itself may set other labels and
/// annotations.
fn clean(received: &Metadata) -> Metadata {
    Metadata {
        name: received.name.clone(),
        labels: kept(&received.labels, names::REMOTE_CLUSTER_ID_LABEL),
        annotations: kept(&received.annotations, COMMITMENT_ANNOTATION),
        ..Metadata::default()
    }
}

fn kept(all: &TextMap, key: &str) -> TextMap {
    let value = all.get(key);
    value.map(|value| (key, value)).into_iter().collect()
}
