//! The objects of a view that the consumer uses.

use super::{
    configuration::Configuration,
    record::{Plan, Record},
};
use crate::{
    crypto::Fingerprint,
    error::Error,
    machine::{View, record::OneRecord},
    model::{ClusterId, Identity, Namespace, Renew, Secret, names},
};

/// One provider's objects by their roles. The objects of a resource slice are in its
/// [`HolderContext`](super::credentials::holder_context::HolderContext).
pub(crate) struct Observed<'a> {
    pub(super) peer: ClusterId,
    pub(super) namespace: Option<&'a Namespace>,
    namespace_name: String,
    /// The error, if the tenant namespace cannot be read. Then only an end continues.
    unreadable_namespace: Option<Error>,
    pub(super) signed_nonce: Option<&'a Secret>,
    pub(super) identity: Option<&'a Identity>,
    pub(super) kubeconfig: Option<&'a Secret>,
    /// The peer writes to the Renew, so an unreadable Renew must not block anything
    /// else.
    pub(super) renew: Result<Option<&'a Renew>, Error>,
    pub(super) record: Option<(&'a Secret, Record)>,
}

impl<'a> Observed<'a> {
    pub(super) fn of(configuration: &Configuration, view: &View<'a>) -> Result<Self, Error> {
        let observed = Self::to_end(configuration, view)?;
        observed.check_namespace()?;
        Ok(observed)
    }

    /// The same for a caller that may end the peering: the tenant namespace may be one that cannot
    /// be read, and is found by its metadata.
    pub(super) fn to_end(configuration: &Configuration, view: &View<'a>) -> Result<Self, Error> {
        let peer = view.peer();
        let (namespace, here, unreadable_namespace) = view.tenant_namespace_and_name()?;
        let name = names::identity_name(peer);
        let identity: Option<&Identity> = view.find_anywhere(&name)?;
        let place = identity.map_or(here.as_str(), |identity| {
            identity.metadata.namespace.as_str()
        });
        let id = configuration.record_id(peer);
        let record = view
            .find::<Secret>(&id.namespace, &id.name)?
            .map(|secret| Ok::<_, Error>((secret, Record::read(secret)?)))
            .transpose()?;
        Ok(Self {
            peer: peer.clone(),
            namespace,
            signed_nonce: view.find(&here, names::SIGNED_NONCE_SECRET)?,
            identity,
            kubeconfig: view.find(place, &names::kubeconfig_secret(&name))?,
            renew: view.find(place, &name),
            record,
            namespace_name: here,
            unreadable_namespace,
        })
    }

    /// Checks that the tenant namespace can be read.
    pub(super) fn check_namespace(&self) -> Result<(), Error> {
        self.unreadable_namespace.clone().map_or(Ok(()), Err)
    }

    /// An empty plan. An empty record is not created.
    pub(super) fn plan(&'a self, configuration: &'a Configuration) -> Plan<'a> {
        let (stored, peer) = (self.record.as_ref(), &self.peer);
        Plan::new(OneRecord::of(stored, move |record: &Record| {
            let id = configuration.record_id(peer);
            let is_written = stored.is_some() || *record != Record::default();
            is_written.then(|| record.to_secret(id, peer))
        }))
    }

    /// The name of the tenant namespace, or its future name if it does not exist
    /// yet.
    pub(super) fn namespace_name(&self) -> String {
        self.namespace_name.clone()
    }

    pub(super) fn record(&self) -> Option<&Record> {
        self.record.as_ref().map(|(_, record)| record)
    }

    /// The key that is pinned for the provider.
    pub(super) fn pinned_key(&self) -> Option<Fingerprint> {
        self.record()?.provider_key
    }

    /// The recorded certificate request of the control plane.
    pub(super) fn kept_request(&self) -> Option<&[u8]> {
        self.record()?.csr.as_deref()
    }

    /// The Secret `liqo-signed-nonce` and its nonce, signed or not.
    pub(super) fn nonce_text(&self) -> Option<(&'a Secret, &'a [u8])> {
        let secret = self.signed_nonce?;
        let text = secret.get(names::NONCE)?;
        (!text.is_empty()).then_some((secret, text))
    }

    pub(super) fn readable_renew(&self) -> Option<&'a Renew> {
        readable(&self.renew)
    }

    /// Whether the Secret has a signature, valid or not.
    pub(super) fn has_signature(&self) -> bool {
        let signature = self
            .signed_nonce
            .and_then(|secret| secret.get(names::SIGNED_NONCE));
        signature.is_some_and(|signature| !signature.is_empty())
    }
}

/// The Renew, if it exists and can be read.
pub(super) fn readable<'a>(renew: &Result<Option<&'a Renew>, Error>) -> Option<&'a Renew> {
    renew.as_ref().ok().copied().flatten()
}
