//! The input of every rule, for one peer at one time.

use core::time::Duration;

use super::{
    configuration::Configuration,
    observed::Observed,
    records::{Plan, Records},
};
use crate::{
    machine::{Message, MessageBody, View},
    model::{AuthParams, Bytes, ClusterId, ProxyUrl, Timestamp},
    policy::Policy,
};
use base64::{Engine, engine::general_purpose::STANDARD};

/// The configuration, the observed objects of one peer, and the present time.
#[derive(Clone, Copy)]
pub(crate) struct Look<'a> {
    pub(super) configuration: &'a Configuration,
    pub(super) view: &'a View<'a>,
    pub(super) observed: &'a Observed<'a>,
    pub(super) now: Timestamp,
}

impl<'a> Look<'a> {
    /// A plan that changes nothing yet.
    pub(super) fn plan(&self) -> Plan<'a> {
        Plan::new(Records::of(self.configuration, self.observed))
    }

    /// Adds a message for the peer to the plan.
    pub(super) fn send(&self, body: impl Into<MessageBody>, plan: &mut Plan<'_>) {
        let own = self.configuration.cluster_id();
        plan.send(Message::new(own, self.peer(), body));
    }

    pub(super) fn peer(&self) -> &'a ClusterId {
        &self.observed.peer
    }

    /// The policy for the peer. Only this side's configuration sets it.
    pub(super) fn policy(&self) -> &'a Policy {
        self.configuration.policy(&self.observed.peer)
    }

    /// The parameters with which the peer reaches this cluster, without its
    /// credential.
    pub(super) fn address(&self, proxy: Option<&ProxyUrl>) -> AuthParams {
        let configuration = self.configuration;
        // The EKS API returns the CA in base64, and Liqo encodes this text again. So
        // Liqo's consumers decode the CA of a provider with AWS users twice.
        let ca = if configuration.aws.is_some() {
            Bytes::from(STANDARD.encode(configuration.ca().as_slice()).into_bytes())
        } else {
            configuration.ca()
        };
        AuthParams {
            ca,
            api_server: configuration.settings.api_server.to_string(),
            proxy_url: proxy.map(|url| url.as_str().to_owned()),
            ..AuthParams::default()
        }
    }
}

/// The longest pause before a retry after a failure on this side.
pub(super) const RETRY: Duration = Duration::from_secs(60);
