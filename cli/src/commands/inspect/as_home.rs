//! A home or a cluster that judges what is inspected.

use std::sync::Arc;

use liqo_auth::{
    crypto::{Fingerprint, KeyPair, PublicKey, SigningKey},
    error::Error,
    model::{ClusterId, Identity, Tenant},
    policy::Policy,
};
use liqo_auth_inspection::Cluster;

use crate::{
    context::Context,
    failure::{Failure, Result},
    home::Home,
    peering::{consumer_side::ConsumerSide, provider_side::ProviderSide},
    remedies::{Role, way_out},
};

/// Judges as this home would.
pub(super) struct AsHome<'a> {
    pub(super) home: Home,
    pub(super) context: &'a Context,
}

impl Cluster<Failure> for AsHome<'_> {
    fn id(&self) -> &ClusterId {
        self.home.cluster_id()
    }

    fn judge_tenant(&self, consumer: &ClusterId, tenant: &Tenant) -> Result<Result<(), Error>> {
        let (policy, clock) = (&self.context.policy, self.context.clock);
        ProviderSide::judge_tenant(&self.home, consumer, policy, clock, tenant)
    }

    fn judge_identity(
        &self,
        provider: &ClusterId,
        identity: &Identity,
    ) -> Result<Result<(), Error>> {
        let (policy, clock) = (&self.context.policy, self.context.clock);
        ConsumerSide::judge_identity(&self.home, provider, policy, clock, identity)
    }

    fn way_out_with_consumer(&self, consumer: &ClusterId, error: &Error) -> String {
        way_out(&self.home, consumer, Role::Consumer, error)
    }

    fn way_out_with_provider(&self, provider: &ClusterId, error: &Error) -> String {
        way_out(&self.home, provider, Role::Provider, error)
    }

    fn is_told(&self, provider: &ClusterId, key: &Fingerprint) -> bool {
        let settings = self.home.settings.peers.get(provider);
        settings.is_some_and(|settings| settings.provider_keys.contains(key))
    }

    fn key_pairs(&self, provider: Option<&ClusterId>) -> Option<Vec<Arc<KeyPair>>> {
        match provider {
            Some(provider) => self.home.keys_towards(provider).ok(),
            None => self.home.key().ok().map(|key| vec![key]),
        }
    }

    fn key_of(&self, consumer: &ClusterId) -> Option<PublicKey> {
        if self.home.cluster_id() == consumer {
            return Some(self.home.key().ok()?.public_key().clone());
        }
        let mut tenants = self.home.all::<Tenant>();
        let tenant = tenants.find(|tenant| tenant.metadata.name == consumer.as_str())?;
        let key = tenant.spec.public_key.as_slice();
        PublicKey::from_tenant_field(key, &Policy::compatible()).ok()
    }

    fn identity(&self, name: &str) -> Option<&Identity> {
        let mut identities = self.home.all::<Identity>();
        identities.find(|identity| identity.metadata.name == name)
    }
}
