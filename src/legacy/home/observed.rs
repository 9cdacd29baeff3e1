//! The objects of a view that a home cluster uses.

use super::{
    configuration::Configuration,
    record::{HomeRecord, KeptAnswer},
};
use crate::{
    error::Error,
    legacy::{
        objects::{foreign_cluster, is_of},
        record::origin_token_name,
    },
    machine::{View, view::only},
    model::{ClusterId, ForeignCluster, Secret, names},
};

/// One foreign cluster's objects by their roles.
pub(super) struct Observed<'o> {
    pub(super) peer: ClusterId,
    pub(super) foreign_cluster: Option<&'o ForeignCluster>,
    pub(super) identity: Option<&'o Secret>,
    pub(super) remote_token: Option<&'o Secret>,
    pub(super) own_token: Option<&'o Secret>,
    pub(super) origin_token: Option<&'o Secret>,
    pub(super) record: Option<(&'o Secret, HomeRecord)>,
}

impl<'o> Observed<'o> {
    pub(super) fn of(configuration: &Configuration, view: &View<'o>) -> Result<Self, Error> {
        let peer = view.peer();
        let own = configuration.namespace();
        let origin_token = view.find::<Secret>(own, &origin_token_name(peer))?;
        if let Some(secret) = origin_token {
            configuration.origin_token_seal(peer).check(secret)?;
        }
        let mut identities = labelled(view, own, names::REMOTE_IDENTITY_LABEL)?;
        let remote_token = match view.find(own, &names::remote_token_secret(peer))? {
            None => only(labelled(view, own, names::AUTH_TOKEN_LABEL)?)?,
            found => found,
        };
        Ok(Self {
            peer: peer.clone(),
            foreign_cluster: foreign_cluster(view)?,
            identity: identities.next(),
            remote_token,
            own_token: view.find(own, names::AUTH_TOKEN_SECRET)?,
            origin_token,
            record: configuration.record_seal(peer).find(view)?,
        })
    }

    pub(super) fn record(&self) -> Option<&HomeRecord> {
        self.record.as_ref().map(|(_, record)| record)
    }

    pub(super) fn kept_answer(&self) -> Option<&KeptAnswer> {
        self.record()?.kept.as_ref()
    }
}

/// The peer's Secrets with this label in the namespace.
fn labelled<'o, 'v>(
    view: &'v View<'o>,
    namespace: &'v str,
    label: &'v str,
) -> Result<impl Iterator<Item = &'o Secret> + use<'o, 'v>, Error> {
    Ok(view.every::<Secret>()?.filter(move |secret| {
        secret.metadata.namespace == namespace
            && is_of(&secret.metadata, view.peer())
            && secret.metadata.labels.contains_key(label)
    }))
}
