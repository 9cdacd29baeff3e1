//! The input of every rule, for one provider at one time.

use super::{
    configuration::{Configuration, PeerSettings},
    keys::Keys,
    observed::Observed,
    record::Plan,
};
use crate::{
    crypto::{Certificate, CertificateChain, Nonce},
    error::{Error, PeerIncompatible},
    machine::{Awaited, Holder, Message, View},
    model::{ClusterId, Identity, Namespace, ObjectRef, Tenant, Timestamp, names},
    policy::Policy,
    verify::{self, NonceExpectation},
};

/// The configuration, the observed objects of one provider, this cluster's keys and
/// the present time.
#[derive(Clone, Copy)]
pub(crate) struct Look<'a> {
    pub(super) configuration: &'a Configuration,
    pub(super) view: &'a View<'a>,
    pub(super) observed: &'a Observed<'a>,
    /// The keys towards the provider. `None` if the key store has no key or has not
    /// answered yet.
    pub(super) keys: Option<&'a Keys>,
    pub(super) now: Timestamp,
}

impl<'a> Look<'a> {
    /// A plan that changes nothing yet.
    pub(super) fn plan(&self) -> Plan<'a> {
        self.observed.plan(self.configuration)
    }

    /// Sends the Tenant and waits for the Identity. Each step sends the Tenant
    /// again.
    pub(super) fn send_tenant(&self, tenant: &Tenant, plan: &mut Plan<'_>) {
        self.send(tenant.clone(), plan);
        if let Some(secret) = self.observed.signed_nonce {
            plan.keep_labels(secret, &self.nonce_labels());
        }
        plan.await_for(Awaited::Identity);
    }

    /// Gives the Identity of the control plane its label back, if its certificate is on record.
    pub(super) fn keep_label_of_identity(&self, plan: &mut Plan<'_>) {
        let peer = self.peer().as_str();
        let identity = self.observed.identity;
        let Some(identity) = identity.filter(|it| it.spec.cluster_id == peer) else {
            return;
        };
        let label = identity.metadata.label(names::REMOTE_CLUSTER_ID_LABEL);
        if label != Some(peer) && self.is_on_record(identity) {
            plan.keep_labels(identity, &[(names::REMOTE_CLUSTER_ID_LABEL, peer)]);
        }
    }

    fn is_on_record(&self, identity: &Identity) -> bool {
        self.certificate_on_record(&Holder::ControlPlane, identity)
            .is_some()
    }

    /// The certificate in an Identity, if the record says that this side has verified it for the
    /// holder. It may have expired since.
    pub(super) fn certificate_on_record(
        &self,
        holder: &Holder,
        identity: &Identity,
    ) -> Option<Certificate> {
        let received = self.observed.record()?.received(holder)?;
        let pem = identity.spec.auth_params.signed_crt.as_slice();
        let chain = CertificateChain::from_pem(pem, self.policy()).ok()?;
        let certificate = chain.leaf();
        (certificate.fingerprint() == received.certificate).then(|| certificate.clone())
    }

    pub(super) fn send(&self, tenant: Tenant, plan: &mut Plan<'_>) {
        let own = self.configuration.cluster_id();
        plan.send(Message::new(own, self.peer(), tenant));
    }

    pub(super) fn peer(&self) -> &'a ClusterId {
        &self.observed.peer
    }

    pub(super) fn policy(&self) -> &'a Policy {
        self.configuration.policy(self.peer())
    }

    pub(super) fn settings(&self) -> &'a PeerSettings {
        self.configuration.of_peer(self.peer())
    }

    /// The stored nonce, if the stored text is a nonce.
    pub(super) fn stored_nonce(&self) -> Option<Nonce> {
        let (_, text) = self.observed.nonce_text()?;
        Nonce::parse(text, self.policy()).ok()
    }

    /// Checks that a text is a nonce that this cluster may sign for this provider.
    pub(super) fn check_nonce(
        &self,
        text: &[u8],
        object: Option<ObjectRef>,
    ) -> Result<Nonce, Error> {
        let configured = !self.settings().provider_keys.is_empty();
        let pinned = self.observed.pinned_key();
        let expectation = NonceExpectation {
            provider: self.peer(),
            consumer: self.configuration.cluster_id(),
            now: self.now,
            provider_key_known: configured || pinned.is_some(),
        };
        let nonce = verify::nonce_at(text, &expectation, self.policy(), object.clone())?;
        let record = self.observed.record();
        let may_peer_again = self.configuration.settings.peer_again;
        if record.is_some_and(|record| record.has_spent(&nonce, may_peer_again)) {
            return Err(Error::new(
                PeerIncompatible::NonceUsed,
                object,
                "data.nonce",
            ));
        }
        Ok(nonce)
    }

    pub(super) fn ensure_namespace(&self, plan: &mut Plan<'_>) -> Result<(), Error> {
        if self.observed.namespace.is_none() {
            verify::default_namespace(self.peer())?;
            plan.create(Namespace::for_tenant(self.peer()));
        }
        Ok(())
    }
}
