//! Works on a consumer's home and its provider's home together.
//!
//! Between two real clusters, Liqo's crd-replicator carries slices and renewals to
//! the provider, and their statuses back. This module does the same between two
//! homes, but only while the provider grants rights to the consumer.

use liqo_auth::{
    error::Error,
    machine::{Notice, Step, View, replication},
    model::{ClusterId, Identity, Kind, RoleBinding, Timestamp, names},
    policy::Policy,
};

use crate::{
    environment::Clock,
    failure::{Failure, Result},
    home::{Home, has_expired},
    peering::{
        consumer_side::ConsumerSide,
        provider_side::{ProviderSide, ProviderStand},
    },
};

/// One peering, with both its homes.
pub(crate) struct Pair<'h> {
    pub(crate) consumer: ConsumerSide<'h>,
    pub(crate) provider: ProviderSide<'h>,
    clock: Clock,
}

/// The result of [`Pair::settle`]: the state of the provider, the notices of the consumer, and
/// why it refuses slices.
pub(crate) struct Rest {
    pub(crate) provider: ProviderStand,
    pub(crate) notices: Vec<Notice>,
    pub(crate) refused: Vec<Error>,
}

impl<'h> Pair<'h> {
    pub(crate) fn new(
        consumer: &'h mut Home,
        provider: &'h mut Home,
        policy: &Policy,
        clock: Clock,
    ) -> Result<Self> {
        let (consumer_id, provider_id) =
            (consumer.cluster_id().clone(), provider.cluster_id().clone());
        Ok(Self {
            consumer: ConsumerSide::new(consumer, &provider_id, policy, clock)?,
            provider: ProviderSide::new(provider, &consumer_id, policy, clock)?,
            clock,
        })
    }

    /// Runs both sides as far as possible, and replicates the shared objects in both
    /// directions. An object is on the disk of its own home before the other home
    /// receives it, so that the next run can continue after a crash.
    pub(crate) fn settle(&mut self) -> Result<Rest> {
        for _ in 0..MOST_ROUNDS {
            let (_, notices) = self.consumer.settle()?;
            let now = self.clock.now()?;
            let forth = match self.is_open(now) {
                true => self.between(replication::to_provider)?,
                false => Step::default(),
            };
            self.provider.home.carry_out(&forth, now)?;
            let provider = self.provider.settle()?;
            // The provider may have removed the rights just now.
            let back = match self.is_open(now) {
                true => self.between(replication::to_consumer)?,
                false => Step::default(),
            };
            self.consumer.home.carry_out(&back, now)?;
            if forth.is_settled() && back.is_settled() {
                self.consumer.home.save()?;
                let refused = self.consumer.look()?.refused.into_iter();
                let refused = refused
                    .map(|refused| refused.error)
                    .filter(is_about_a_slice);
                return Ok(Rest {
                    provider,
                    notices,
                    refused: refused.collect(),
                });
            }
        }
        Err(Failure::at_odds(format!(
            "{} and {} do not reach a stable state",
            self.consumer.home.site(),
            self.provider.home.site()
        )))
    }

    /// Whether the consumer has an unexpired identity, and the provider binds rights
    /// to it. Replication requires both.
    fn is_open(&self, now: Timestamp) -> bool {
        has_identity(self.consumer.home, &self.consumer.peer, now)
            && binds(self.provider.home, &self.provider.peer)
    }

    fn between(
        &self,
        step: impl FnOnce(&View<'_>, &View<'_>) -> Result<Step, Error>,
    ) -> Result<Step> {
        let at_consumer = self.consumer.home.view(&self.consumer.peer);
        let at_provider = self.provider.home.view(&self.provider.peer);
        step(&at_consumer, &at_provider)
            .map_err(|error| Failure::of("the replication between the two homes", &error))
    }
}

fn is_about_a_slice(error: &Error) -> bool {
    let object = error.at().object.as_ref();
    object.is_some_and(|object| object.kind == Kind::ResourceSlice)
}

/// Whether a home has an identity of that provider that has not expired.
pub(crate) fn has_identity(home: &Home, provider: &ClusterId, now: Timestamp) -> bool {
    let name = names::identity_name(provider);
    home.all::<Identity>().any(|identity| {
        identity.metadata.name == name
            && identity.status.kubeconfig_secret_ref.is_some()
            && !has_expired(&identity.spec.auth_params, now)
    })
}

/// Whether a home grants rights to that consumer.
pub(crate) fn binds(home: &Home, consumer: &ClusterId) -> bool {
    home.all::<RoleBinding>().any(|binding| {
        let label = binding.metadata.labels.get(names::REMOTE_CLUSTER_ID_LABEL);
        label.map(String::as_str) == Some(consumer.as_str())
            && binding
                .subjects
                .iter()
                .any(|subject| subject.kind == "User" && subject.name == consumer.as_str())
    })
}

/// The maximum number of rounds. No two homes need so many: the limit only stops an
/// endless loop.
const MOST_ROUNDS: usize = 16;
