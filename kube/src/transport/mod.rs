mod merging;
mod remote_cluster;

use futures::future::BoxFuture;
use liqo_auth::{crypto::BoxError, machine::Message};

use crate::Handle;

pub use self::remote_cluster::RemoteCluster;

/// Carries messages to a peer: to its cluster, to another process, or to a person.
///
/// A message is a level, not an event: the same message again does no harm. The
/// controller hands over each message once, and again if the delivery fails.
/// Messages carry no private key, but an Identity is meant for its consumer alone.
pub trait Transport: Send + Sync {
    /// Carries a message to the cluster in `message.to`.
    ///
    /// # Errors
    /// Any error: the controller logs it and tries again later.
    fn deliver<'a>(&'a self, message: &'a Message) -> BoxFuture<'a, Result<(), BoxError>>;
}

/// Hands messages to another controller of this process, as a tool does that has the
/// kubeconfigs of both clusters.
#[derive(Debug, Clone)]
pub struct Link(pub Handle);

impl Transport for Link {
    fn deliver<'a>(&'a self, message: &'a Message) -> BoxFuture<'a, Result<(), BoxError>> {
        Box::pin(async move { Ok(self.0.receive(message.clone()).await.map(|_| ())?) })
    }
}
