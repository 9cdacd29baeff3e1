//! The machines that the controllers run: as they are configured at the start, and anew after
//! each change of the settings.

use std::sync::Arc;

use liqo_auth::{Consumer, Provider, crypto::OneKey, provider::NameRegistry};
use liqo_auth_kube::{Cluster, ProviderKeys};

use crate::{
    arguments::Run,
    context::Context,
    failure::Result,
    home::{Home, Settings},
    peering::{
        consumer_side::consumer_with,
        provider_side::{guard_with, provider_with},
    },
};

/// What a machine needs beside the settings.
pub(super) struct Machines<'h> {
    context: &'h Context,
    home: &'h Home,
    cluster: Cluster,
    principals: Arc<NameRegistry>,
    keys: ProviderKeys,
    guard: Option<Guard>,
}

/// The machines judge in front of Liqo's own module.
struct Guard {
    adopts: bool,
}

impl<'h> Machines<'h> {
    pub(super) fn new(
        context: &'h Context,
        home: &'h Home,
        arguments: &Run,
        cluster: &Cluster,
        keys: ProviderKeys,
    ) -> Self {
        let adopts = arguments.guard.adopt;
        Self {
            context,
            home,
            cluster: cluster.clone(),
            principals: cluster.principals(),
            keys,
            guard: arguments.guard.guard.map(|_| Guard { adopts }),
        }
    }

    pub(super) fn home(&self) -> &'h Home {
        self.home
    }

    pub(super) fn keys(&self) -> &ProviderKeys {
        &self.keys
    }

    /// Whether peers are invited and slices are granted here. Behind a guard, Liqo does that.
    pub(super) fn grants(&self) -> bool {
        self.guard.is_none()
    }

    pub(super) fn provider(&self, settings: &Settings) -> Result<Provider> {
        let (home, policy) = (self.home, &self.context.policy);
        let principals = self.principals.clone();
        match &self.guard {
            Some(guard) => guard_with(home, settings, policy, principals, guard.adopts),
            None => provider_with(home, settings, policy, principals),
        }
    }

    /// The consumer. Liqo signs with the key of the cluster, towards every provider.
    pub(super) fn consumer(&self, settings: &Settings) -> Consumer {
        let (home, policy) = (self.home, &self.context.policy);
        if self.guard.is_some() {
            let key = Arc::new(OneKey(self.cluster.key()));
            return consumer_with(home, settings, policy, key);
        }
        settings.choose_keys(&self.keys);
        consumer_with(home, settings, policy, Arc::new(self.keys.clone()))
    }
}
