//! What counts of a view, for the consumer.

use super::{Consumer, record::Record};
use crate::{
    error::Error,
    machine::{Effect, Step, View},
    model::{ClusterId, Identity, Kind, Namespace, Renew, ResourceSlice, Secret, names},
    verify::{self, EndpointPins},
};

/// One peer's objects by the parts that they play, for one of its identities.
#[derive(Clone)]
pub(super) struct Observed<'o> {
    pub(super) peer: ClusterId,
    /// What the identity is for.
    pub(super) purpose: Purpose<'o>,
    pub(super) namespace: Option<&'o Namespace>,
    pub(super) signed_nonce: Option<&'o Secret>,
    pub(super) identity: Option<&'o Identity>,
    pub(super) kubeconfig: Option<&'o Secret>,
    /// The peer writes in it: one that cannot be read spoils nothing else.
    pub(super) renew: Result<Option<&'o Renew>, Error>,
    pub(super) record: Option<(&'o Secret, Record)>,
    /// API server and CA that the identity has to be for, if they are known.
    pub(super) endpoint: Option<EndpointPins>,
}

/// What an identity is for.
#[derive(Clone, Copy)]
pub(super) enum Purpose<'o> {
    ControlPlane,
    Slice(&'o ResourceSlice),
}

impl<'o> Observed<'o> {
    pub(super) fn select(consumer: &Consumer, view: &View<'o>) -> Result<Self, Error> {
        let peer = view.peer();
        let namespace = view.tenant_namespace()?;
        let namespace_name = match namespace {
            Some(namespace) => namespace.metadata.name.clone(),
            None => names::tenant_namespace(peer),
        };
        let name = names::identity_name(peer);
        let identity: Option<&Identity> = view.find_anywhere(&name)?;
        let place = match identity {
            None => namespace_name.as_str(),
            Some(identity) => identity.metadata.namespace.as_str(),
        };
        let id = consumer.record_id(peer);
        let record = view
            .find::<Secret>(&id.namespace, &id.name)?
            .map(|secret| Ok::<_, Error>((secret, Record::read(secret)?)))
            .transpose()?;
        Ok(Self {
            peer: peer.clone(),
            purpose: Purpose::ControlPlane,
            namespace,
            signed_nonce: view.find(&namespace_name, names::SIGNED_NONCE_SECRET)?,
            identity,
            kubeconfig: view.find(place, &names::kubeconfig_secret(&name))?,
            renew: view.find(place, &name),
            endpoint: record
                .as_ref()
                .and_then(|(_, record): &(_, Record)| record.endpoint.clone()),
            record,
        })
    }

    /// The same peer's, for the identity of a resource slice.
    pub(super) fn of_slice(
        &self,
        view: &View<'o>,
        slice: &'o ResourceSlice,
    ) -> Result<Self, Error> {
        let namespace = slice.metadata.namespace.as_str();
        let name = names::resource_slice_identity_name(&slice.metadata.name);
        Ok(Self {
            purpose: Purpose::Slice(slice),
            identity: view.find(namespace, &name)?,
            kubeconfig: view.find(namespace, &names::kubeconfig_secret(&name))?,
            renew: view.find(namespace, &name),
            ..self.clone()
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

    /// The same step, with the record that it leaves written before anything
    /// but the tenant namespace.
    pub(super) fn with_record(&self, consumer: &Consumer, mut step: Step, record: &Record) -> Step {
        if self.record.is_none() && *record == Record::default() {
            return step;
        }
        if let Some(effect) = record.store(consumer, self.record.as_ref(), &self.peer) {
            let namespace = step
                .effects
                .iter()
                .take_while(|effect| effect.kind() == Kind::Namespace)
                .count();
            step.effects.insert(namespace, effect);
        }
        step
    }
}
