//! What counts of a view, for the consumer.

use super::{Consumer, record::Record};
use crate::{
    error::Error,
    model::{ClusterId, Identity, Namespace, Secret, names},
    step::Effect,
    verify,
    view::View,
};

/// One peer's objects by the parts that they play.
#[derive(Clone)]
pub(super) struct Seen<'o> {
    pub(super) peer: ClusterId,
    pub(super) namespace: Option<&'o Namespace>,
    pub(super) signed_nonce: Option<&'o Secret>,
    pub(super) identity: Option<&'o Identity>,
    pub(super) kubeconfig: Option<&'o Secret>,
    pub(super) record: Option<(&'o Secret, Record)>,
}

impl<'o> Seen<'o> {
    pub(super) fn select(consumer: &Consumer, view: &View<'o>) -> Result<Self, Error> {
        let peer = view.peer();
        let namespace = view.tenant_namespace()?;
        let namespace_name = match namespace {
            Some(namespace) => namespace.metadata.name.clone(),
            None => names::tenant_namespace(peer),
        };
        let identity: Option<&Identity> = view.find_anywhere(&names::identity_name(peer))?;
        let kubeconfig = match identity {
            None => None,
            Some(identity) => view.find(
                &identity.metadata.namespace,
                &names::kubeconfig_secret(&identity.metadata.name),
            )?,
        };
        let id = consumer.record_id(peer);
        let record = view
            .find::<Secret>(&id.namespace, &id.name)?
            .map(|secret| Ok::<_, Error>((secret, Record::read(secret)?)))
            .transpose()?;
        Ok(Self {
            peer: peer.clone(),
            namespace,
            signed_nonce: view.find(&namespace_name, names::SIGNED_NONCE_SECRET)?,
            identity,
            kubeconfig,
            record,
        })
    }

    /// The tenant namespace's name: its own, or the one that it will have.
    pub(super) fn namespace_name(&self) -> String {
        match self.namespace {
            Some(namespace) => namespace.metadata.name.clone(),
            None => names::tenant_namespace(&self.peer),
        }
    }

    pub(super) fn create_namespace(&self) -> Result<Effect, Error> {
        verify::default_namespace(&self.peer)?;
        Ok(Effect::Create(Namespace::for_tenant(&self.peer).into()))
    }

    /// The nonce that is or was to be signed, where there is one.
    pub(super) fn nonce_text(&self) -> Option<(&'o Secret, &'o [u8])> {
        let secret = self.signed_nonce?;
        let text = secret.data.get(names::NONCE)?.expose();
        (!text.is_empty()).then_some((secret, text))
    }

    pub(super) fn record(&self) -> Record {
        self.record
            .as_ref()
            .map(|(_, record)| record.clone())
            .unwrap_or_default()
    }
}
