//! A provider's answer to a renewal that has expired while nobody looked.

use liqo_auth::{
    machine::replication,
    model::{Identity, Renew, Resource, names},
};

use super::ConsumerSide;
use crate::{failure::Result, home::has_expired};

impl ConsumerSide<'_> {
    /// Deletes the Renew of the control plane on a cluster if the answer in it has expired, before
    /// this side takes an Identity that it accepts. Liqo 1.2 copies the answer into the Identity,
    /// and its replicator does not bring another answer before the consumer logs in. In a home,
    /// nobody else acts on the Renew.
    pub(crate) fn delete_expired_answer(&mut self, identity: &Identity) -> Result<()> {
        if !self.home.is_live() || self.would_accept(identity.clone())?.is_err() {
            return Ok(());
        }
        let now = self.clock.now()?;
        let name = names::identity_name(&self.peer);
        let stale = self.home.all::<Renew>().find(|renew| {
            let answer = renew.status.auth_params.as_ref();
            renew.metadata.name == name
                && renew.metadata.deletion_timestamp.is_none()
                && replication::is_shared_with(&renew.metadata, &self.peer)
                && answer.is_some_and(|answer| has_expired(answer, now))
        });
        match stale.map(Resource::id) {
            Some(renew) => self.home.delete(&renew, now),
            None => Ok(()),
        }
    }
}
