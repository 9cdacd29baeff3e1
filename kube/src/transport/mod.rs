mod merging;
mod remote_cluster;
mod tenant_namespace;
mod wait;

use futures::future::BoxFuture;
use liqo_auth::{crypto::BoxError, machine::Message};

use crate::Handle;

pub use self::remote_cluster::RemoteCluster;

/// Carries messages to a peer: to its cluster, to another process, or to a person.
///
/// A message describes a state, not an event, so a repeated message does no harm. The
/// controller delivers each message once, and repeats a delivery that failed. Messages
/// contain no private key. An Identity is confidential: only its consumer may read it.
pub trait Transport: Send + Sync {
    /// Carries a message to the cluster in `message.to`.
    ///
    /// # Errors
    /// Any error: the controller logs it and tries again later.
    fn deliver<'a>(&'a self, message: &'a Message) -> BoxFuture<'a, Result<(), BoxError>>;
}

/// Hands messages to another controller of this process. A tool with the kubeconfigs of
/// both clusters can use it.
#[derive(Debug, Clone)]
pub struct Link(pub Handle);

impl Transport for Link {
    fn deliver<'a>(&'a self, message: &'a Message) -> BoxFuture<'a, Result<(), BoxError>> {
        Box::pin(async move { Ok(self.0.receive(message.clone()).await.map(|_| ())?) })
    }
}
