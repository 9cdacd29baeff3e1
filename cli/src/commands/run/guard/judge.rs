//! Who judges: the machines of the running controllers.

use anyhow::Context;
use futures::{FutureExt, future::BoxFuture};
use liqo_auth::{
    error::Error,
    model::{ClusterId, Namespace, Object},
};
use liqo_auth_kube::Handle;

use super::super::webhook::{OnCluster, Surroundings};

/// What becomes of a changed object.
pub(crate) enum Verdict {
    Passed,
    Refused(Error),
    /// The verdict needs something that is not known yet.
    Awaited,
}

/// Judges peers' objects.
pub(crate) trait Judge: Send + Sync + 'static {
    fn namespace<'s>(&'s self, name: &'s str) -> BoxFuture<'s, anyhow::Result<Option<Namespace>>>;

    /// Judges an object of this peer as it will be stored.
    fn judge<'s>(
        &'s self,
        peer: &'s ClusterId,
        object: &'s Object,
        how: How,
    ) -> BoxFuture<'s, anyhow::Result<Verdict>>;
}

/// How an object is judged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct How {
    /// Whether what follows from the verdict is recorded before it is given.
    pub(crate) records: bool,
    /// Whether an administrator lets a nonce count that was there before the guard.
    pub(crate) adopts: bool,
}

/// The machines of a controller, and its cluster.
pub(crate) struct Machines {
    pub(crate) handle: Handle,
    pub(crate) cluster: OnCluster,
}

impl Judge for Machines {
    fn namespace<'s>(&'s self, name: &'s str) -> BoxFuture<'s, anyhow::Result<Option<Namespace>>> {
        self.cluster.namespace(name)
    }

    fn judge<'s>(
        &'s self,
        peer: &'s ClusterId,
        object: &'s Object,
        How { records, adopts }: How,
    ) -> BoxFuture<'s, anyhow::Result<Verdict>> {
        async move {
            match self.handle.guard(peer, object, !records, adopts).await {
                Ok(true) => Ok(Verdict::Passed),
                Ok(false) => Ok(Verdict::Awaited),
                Err(liqo_auth_kube::Error::Library(error)) => Ok(Verdict::Refused(error)),
                Err(error) => Err(error).context("the judgement"),
            }
        }
        .boxed()
    }
}
