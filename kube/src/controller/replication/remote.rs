//! The provider's cluster, as the consumer's identity reaches it.

use futures::{StreamExt, future::pending, stream::BoxStream};
use kube::{Client, runtime::watcher};
use liqo_auth::{
    machine::{Effect, Mirror, MirrorError, Requirement, Step, View, Watch},
    model::{ClusterId, Kind, Namespace, Object, ObjectRef, names},
};

use super::originals::Identity;
use crate::{
    Applied, Error, apply,
    bounded::bounded_for_peer,
    controller::counts::Counters,
    error::with_sources,
    watching::{Change, Failure, follow_peer},
};

/// The replicas in the provider's tenant namespace for this cluster.
pub(super) struct Remote {
    client: Client,
    own: ClusterId,
    identity: Identity,
    mirror: Mirror,
    changes: BoxStream<'static, (Watch, Result<Change, Failure>)>,
    /// Whether the last watch has not failed: the provider answers, and this cluster has
    /// rights there.
    is_open: bool,
    /// Why a watch does not begin.
    failure: Option<String>,
}

impl Remote {
    /// Begins to watch the replicas.
    ///
    /// # Errors
    /// [`Error::Setup`] if the name of the tenant namespace is empty.
    pub(super) fn new(client: Client, own: &ClusterId, identity: &Identity) -> Result<Self, Error> {
        let namespaces = Watch::all(Kind::Namespace);
        let replicas = [Kind::ResourceSlice, Kind::Renew].map(|kind| {
            Watch::all(kind)
                .in_namespace(&identity.namespace)
                .with(Requirement::Exists(names::REPLICATION_ORIGIN_LABEL))
                .with(Requirement::Equals(names::REPLICATED_LABEL, names::TRUE))
        });
        let watches = [namespaces.clone()].into_iter().chain(replicas.clone());
        let client = bounded_for_peer(&client);
        let mut mirror = Mirror::new(watches);
        let listed = mirror.relist(&namespaces, [tenant_namespace(own, identity)]);
        listed.map_err(|error| identity.unusable(error.to_string()))?;
        let changes = follow_peer(&client, replicas);
        Ok(Self {
            client,
            own: own.clone(),
            identity: identity.clone(),
            mirror,
            changes,
            is_open: true,
            failure: None,
        })
    }

    /// The identity by which the provider is reached.
    pub(super) fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Why the provider cannot be watched. Its watches are tried again by themselves.
    pub(super) fn failure(&self) -> Option<String> {
        self.failure.clone()
    }

    /// The provider's view of this cluster, as far as replicas go. `None` until all
    /// replicas are listed.
    pub(super) fn view(&self) -> Option<View<'_>> {
        self.mirror.view(&self.own).ok()
    }

    /// Waits for a change, and takes it.
    pub(super) async fn changed(&mut self) {
        let Some((watch, change)) = self.changes.next().await else {
            return pending().await;
        };
        match change {
            Ok(change) => {
                self.is_open = true;
                self.failure = None;
                if let Err(error) = self.take(&watch, change) {
                    tracing::error!(%watch, %error, "the watch shows an object that it does not select");
                }
            }
            Err(error) => {
                let kubeconfig = self.identity.secret();
                match error {
                    Failure::TooMuch | Failure::EmptyPages(_) => {
                        let failure = format!("{kubeconfig}: {watch}: {error}");
                        self.failure.get_or_insert(failure);
                    }
                    Failure::Watch(
                        watcher::Error::InitialListFailed(error)
                        | watcher::Error::WatchStartFailed(error),
                    ) => {
                        let error = with_sources(&error);
                        let failure = format!("{kubeconfig} does not give access: {error}");
                        self.failure.get_or_insert(failure);
                    }
                    // A watch that ends begins again.
                    error if self.is_open => {
                        tracing::warn!(%kubeconfig, %watch, %error, "the watch of replicas failed and is tried again");
                    }
                    _ => {}
                }
                self.is_open = false;
            }
        }
    }

    fn take(&mut self, watch: &Watch, change: Change) -> Result<(), MirrorError> {
        // A cluster that is not trusted may show what was not asked for.
        match change {
            Change::Listed(mut objects) => {
                objects.retain(|object| watch.covers(object));
                self.mirror.relist(watch, objects)
            }
            Change::Seen(object) if !watch.covers(&object) => return Ok(()),
            Change::Seen(object) => self.mirror.observe(watch, *object),
            Change::Left(object) => self.mirror.forget(watch, &object.id()),
        }?;
        Ok(())
    }

    /// Writes replicas. A refusal of one replica does not stop the others. Returns an
    /// object that another writer has changed first, or whose name is taken.
    pub(super) async fn carry_out(
        &mut self,
        step: Step,
        counters: &Counters,
    ) -> Result<Option<ObjectRef>, Error> {
        let mut overtaken = None;
        let mut failure = None;
        for mut effect in step.effects {
            if self.is_deleted_already(&effect) {
                continue;
            }
            leave_out_ownership(&mut effect);
            match apply(&self.client, &effect).await {
                Ok(Applied::Written(object)) => {
                    counters.effects.add_one();
                    self.mirror.written(&effect, *object);
                }
                Ok(Applied::Deleted) => counters.effects.add_one(),
                // The watch has not shown an earlier deletion yet.
                Ok(Applied::Missing) if matches!(effect, Effect::Delete { .. }) => {}
                Ok(Applied::Conflict | Applied::NameTaken | Applied::Missing) => {
                    counters.conflicts.add_one();
                    overtaken = Some(effect.id());
                }
                Err(error) => {
                    let is_answer = matches!(
                        &error,
                        Error::Request { source, .. } if matches!(**source, kube::Error::Api(_))
                    );
                    failure.get_or_insert(error);
                    if !is_answer {
                        break;
                    }
                }
            }
        }
        failure.map_or(Ok(overtaken), Err)
    }

    /// Whether the effect deletes a replica whose deletion waits for finalizers of the
    /// provider.
    fn is_deleted_already(&self, effect: &Effect) -> bool {
        let Effect::Delete { id, .. } = effect else {
            return false;
        };
        let replica = self.mirror.get(id).map(Object::metadata);
        replica.is_some_and(|replica| replica.deletion_timestamp.is_some())
    }

    /// Whether an object at the consumer need not wait for the provider: it has no replica,
    /// or nothing can be carried at present. The kubeconfig has no replica. It waits only
    /// until the deletions have been carried once.
    pub(super) fn has_let_go(&self, held: &ObjectRef) -> bool {
        let has_replica = |view: View<'_>| {
            let mut replicas = view.objects().map(Object::id);
            replicas.any(|replica| replica.kind == held.kind && replica.name == held.name)
        };
        !self.is_open || self.view().is_some_and(|view| !has_replica(view))
    }
}

/// The provider's tenant namespace. A consumer has no right to read it.
fn tenant_namespace(own: &ClusterId, identity: &Identity) -> Object {
    let mut namespace = Namespace::for_tenant(own);
    namespace.metadata.name.clone_from(&identity.namespace);
    namespace.into()
}

/// Removes the label by which Liqo names a local owner. A replica has none.
fn leave_out_ownership(effect: &mut Effect) {
    if let Effect::Create(replica) = effect {
        replica.metadata_mut().labels.remove(OWNERSHIP_LABEL);
    }
}

const OWNERSHIP_LABEL: &str = "liqo.io/ownership";
