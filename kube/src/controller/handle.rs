use std::sync::Arc;

use liqo_auth::{
    Consumer, Machine, Provider,
    error::Error as LibraryError,
    machine::{Env, Message, MessageBody, Status, Step, View},
    model::ClusterId,
};

use super::{
    counts::Counts,
    events::Events,
    shared::{Call, Shared},
};
use crate::Error;

/// Gives orders to a running [`Controller`](super::Controller), and returns the status
/// of its peers.
///
/// An order is carried out between two looks at the peer. Its effects are applied when
/// the call returns. If another writer changes an object first, the order is repeated
/// on the changed objects. An order waits until the controller runs and has listed the
/// objects of its cluster.
#[derive(Clone)]
pub struct Handle(pub(super) Arc<Shared>);

impl Handle {
    /// Invites a peer ([`Provider::invite`]).
    ///
    /// # Errors
    /// As [`order`](Self::order), and [`Error::NoSuchSide`] without a provider.
    pub async fn invite(&self, peer: &ClusterId) -> Result<Step, Error> {
        self.order_provider(peer, Provider::invite).await
    }

    /// Approves the peer's request ([`Provider::approve`]).
    ///
    /// # Errors
    /// As [`invite`](Self::invite).
    pub async fn approve(&self, peer: &ClusterId) -> Result<Step, Error> {
        let approve =
            |provider: &Provider, view: &View<'_>, env: Env| provider.approve(view, env.now);
        self.order_provider(peer, approve).await
    }

    /// Denies the peer's request ([`Provider::deny`]).
    ///
    /// # Errors
    /// As [`invite`](Self::invite).
    pub async fn deny(&self, peer: &ClusterId, reason: &str) -> Result<Step, Error> {
        let reason = reason.to_owned();
        self.order_provider(peer, move |provider, view, env| {
            provider.deny(view, &reason, env.now)
        })
        .await
    }

    /// Ends the peering at the provider ([`Provider::end`]). When the call returns, the
    /// deletion of the Tenant is requested. The following looks withdraw the peer's
    /// rights, and then remove the Tenant's finalizer.
    ///
    /// # Errors
    /// As [`invite`](Self::invite).
    pub async fn end(&self, peer: &ClusterId) -> Result<Step, Error> {
        let end = |provider: &Provider, view: &View<'_>, _env: Env| provider.end(view);
        self.order_provider(peer, end).await
    }

    /// Ends the peering at the consumer
    /// ([`Consumer::unauthenticate`](liqo_auth::Consumer::unauthenticate)).
    ///
    /// # Errors
    /// As [`order`](Self::order), and [`Error::NoSuchSide`] without a consumer.
    pub async fn unauthenticate(&self, peer: &ClusterId) -> Result<Step, Error> {
        let consumer = self.0.sides().consumer;
        let consumer = consumer.ok_or(Error::NoSuchSide("consumer's"))?;
        self.order(peer, move |view, _| consumer.unauthenticate(view))
            .await
    }

    /// Processes a message of a peer: a Tenant for the provider's side, a nonce or an
    /// Identity for the consumer's side.
    ///
    /// # Errors
    /// As [`order`](Self::order), and [`Error::NoSuchSide`].
    pub async fn receive(&self, message: Message) -> Result<Step, Error> {
        let peer = message.from.clone();
        let sides = self.0.sides();
        let call: Call = match (&message.body, sides) {
            (MessageBody::Tenant(_), sides) => {
                let provider = sides.provider.ok_or(Error::NoSuchSide("provider's"))?;
                Arc::new(move |view, env| provider.receive(view, message.clone(), env))
            }
            (_, sides) => {
                let consumer = sides.consumer.ok_or(Error::NoSuchSide("consumer's"))?;
                Arc::new(move |view, env| consumer.receive(view, message.clone(), env))
            }
        };
        self.0.order(&peer, call).await
    }

    /// Carries out any other call of the library that returns a step, such as
    /// [`Provider::set_condition`] or
    /// [`Consumer::request_slice`](liqo_auth::Consumer::request_slice). Returns the
    /// step after its effects have been applied.
    ///
    /// # Errors
    /// [`Error::Library`] if the call is refused, [`Error::Request`] or
    /// [`Error::TimedOut`] if the API server refuses an effect or does not answer,
    /// [`Error::Conflict`] if other writers keep changing the same object,
    /// [`Error::Machine`] without time or randomness, and [`Error::Stopped`].
    pub async fn order(
        &self,
        peer: &ClusterId,
        call: impl Fn(&View<'_>, Env) -> Result<Step, LibraryError> + Send + Sync + 'static,
    ) -> Result<Step, Error> {
        self.0.order(peer, Arc::new(call)).await
    }

    /// Configures the provider's side anew, without a restart. Each peer is looked at with
    /// the new configuration. The provider's watches must stay the same. They depend
    /// only on the namespace of the records.
    ///
    /// # Errors
    /// [`Error::NoSuchSide`] without a provider, [`Error::OtherWatches`] and
    /// [`Error::Stopped`]. After the first two errors, nothing has changed.
    pub fn set_provider(&self, provider: Provider) -> Result<(), Error> {
        let present = self.0.sides().provider;
        let present = present.ok_or(Error::NoSuchSide("provider's"))?;
        if present.watches() != provider.watches() {
            return Err(Error::OtherWatches);
        }
        self.0.configure(|sides| sides.provider = Some(provider))
    }

    /// Like [`set_provider`](Self::set_provider), for the consumer's side.
    ///
    /// # Errors
    /// As [`set_provider`](Self::set_provider), but [`Error::NoSuchSide`] without a
    /// consumer.
    pub fn set_consumer(&self, consumer: Consumer) -> Result<(), Error> {
        let present = self.0.sides().consumer;
        let present = present.ok_or(Error::NoSuchSide("consumer's"))?;
        if present.watches() != consumer.watches() {
            return Err(Error::OtherWatches);
        }
        self.0.configure(|sides| sides.consumer = Some(consumer))
    }

    /// The status of a peer, for each side.
    ///
    /// # Errors
    /// [`Error::NotSynchronized`], [`Error::Machine`] if the clock is out of range, and
    /// [`Error::Library`] if the objects of the peer cannot be read.
    pub fn status(&self, peer: &ClusterId) -> Result<Vec<Status>, Error> {
        let now = self.0.clock.now()?;
        let mirror = self.0.mirror();
        let view = mirror.view(peer).map_err(|_| Error::NotSynchronized)?;
        let sides = self.0.sides();
        let statuses = sides
            .machines()
            .map(|(_, machine)| machine.look(&view, now));
        Ok(statuses.collect::<Result<_, _>>()?)
    }

    /// The peers that have an object in the cluster.
    pub fn peers(&self) -> Vec<ClusterId> {
        let mirror = self.0.mirror();
        let others = mirror.peers().filter(|peer| **peer != self.0.own);
        others.cloned().collect()
    }

    /// The activity of the controller since its start.
    pub fn counts(&self) -> Counts {
        let events = self.0.events.as_ref();
        self.0.counters.now(events.map_or(0, Events::left_out))
    }

    /// Whether the controller has listed all objects of its cluster.
    pub fn is_synchronized(&self) -> bool {
        self.0.is_synchronized()
    }

    /// Waits until the controller has listed all objects of its cluster.
    pub async fn synchronized(&self) {
        let mut seen = self.0.synchronized.subscribe();
        // This cannot fail: the sender lives as long as this handle.
        let _ = seen.wait_for(|seen| *seen).await;
    }

    /// Whether the controller runs the provider's side.
    pub fn has_provider(&self) -> bool {
        self.0.sides().provider.is_some()
    }

    /// Whether the controller runs the consumer's side.
    pub fn has_consumer(&self) -> bool {
        self.0.sides().consumer.is_some()
    }

    /// Like [`order`](Self::order), for a call of the provider with its configuration
    /// at the time of this call.
    ///
    /// # Errors
    /// As [`order`](Self::order), and [`Error::NoSuchSide`] without a provider.
    pub async fn order_provider(
        &self,
        peer: &ClusterId,
        call: impl Fn(&Provider, &View<'_>, Env) -> Result<Step, LibraryError> + Send + Sync + 'static,
    ) -> Result<Step, Error> {
        let provider = self.0.sides().provider;
        let provider = provider.ok_or(Error::NoSuchSide("provider's"))?;
        self.order(peer, move |view, env| call(&provider, view, env))
            .await
    }
}

impl core::fmt::Debug for Handle {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter
            .debug_struct("Handle")
            .field("cluster", &self.0.own)
            .finish_non_exhaustive()
    }
}
