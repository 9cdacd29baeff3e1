//! The tenant namespaces of a controller whose rights on Secrets are those of RoleBindings
//! in them.

use std::collections::BTreeMap;

use liqo_auth::{
    machine::{Effect, Watch},
    model::{ClusterId, Kind, Namespace, Object, ObjectRef, Resource},
};

use super::shared::Shared;
use crate::{
    Applied, Error, apply,
    tenant_namespaces::TenantSecrets,
    watching::{Change, Shown},
};

impl Shared {
    /// The watches that are followed as the mirror has them, and those of tenant namespaces.
    pub(super) fn watches(&self) -> (Vec<Watch>, TenantSecrets) {
        let mut watches: Vec<Watch> = self.mirror().watches().cloned().collect();
        let is_of_peers = |watch: &Watch| watch.kind == Kind::Secret && watch.namespace.is_none();
        let by_namespace = self.account.is_some() && !self.watches_all_secrets;
        let of_peers = watches.iter().position(is_of_peers);
        let of_peers = of_peers.filter(|_| by_namespace);
        let of_peers = of_peers.map(|at| watches.remove(at));
        let secrets = TenantSecrets::new(self.client.clone(), self.account.clone(), of_peers);
        (watches, secrets)
    }

    /// Follows the tenant namespaces that a change of Namespaces shows. The peers of new ones
    /// wait until their Secrets are listed.
    pub(super) fn follow_tenants(&self, secrets: &mut TenantSecrets, change: &Change) {
        if self.account.is_none() {
            return;
        }
        let tenant = |object: &Object| {
            let peer = Namespace::from_object(object)?.tenant()?;
            Some((object.id().name, peer))
        };
        let exists = |object: &Object| object.metadata().deletion_timestamp.is_none();
        let mut begun = BTreeMap::new();
        match change {
            Change::Listed(objects) => {
                let tenants: BTreeMap<String, ClusterId> =
                    objects.iter().filter_map(tenant).collect();
                for namespace in secrets.others(&tenants) {
                    self.leave(secrets, &namespace, true);
                }
                begun = tenants;
                begun.retain(|namespace, _| secrets.follow_bound(namespace));
            }
            Change::Seen(object) => match tenant(object) {
                Some((namespace, peer)) => {
                    if secrets.follow_new(&namespace) {
                        begun.insert(namespace, peer);
                    }
                }
                None => self.leave(secrets, &object.id().name, exists(object)),
            },
            Change::Left(object) => self.leave(secrets, &object.id().name, exists(object)),
        }
        if let Some(watch) = secrets.watch() {
            self.unlisted().extend(begun);
            // From now on, it depends on the peer whether its Secrets are listed.
            if !self.is_synchronized() {
                self.feed(watch, |mirror| mirror.relist(watch, []));
            }
        }
    }

    fn leave(&self, secrets: &mut TenantSecrets, namespace: &str, exists: bool) {
        if !secrets.leave(namespace, exists) {
            return;
        }
        self.unlisted().remove(namespace);
        if let Some(watch) = secrets.watch() {
            let there = watch.clone().in_namespace(namespace);
            self.feed(watch, |mirror| mirror.relist(&there, []));
        }
    }

    /// Puts what the watch of a tenant namespace shows into the mirror. Returns the peers to
    /// look at.
    pub(super) fn take_secrets(
        &self,
        secrets: &TenantSecrets,
        namespace: &str,
        shown: Shown,
    ) -> Vec<ClusterId> {
        let Some(watch) = secrets.watch() else {
            return Vec::new();
        };
        let mut awaited = None;
        if let Shown::Late | Shown::Changed(Change::Listed(_)) = &shown {
            awaited = self.unlisted().remove(namespace);
        }
        let mut peers = match shown {
            Shown::Late => Vec::new(),
            Shown::Changed(Change::Listed(objects)) => {
                let there = watch.clone().in_namespace(namespace);
                self.feed(watch, |mirror| mirror.relist(&there, objects))
            }
            Shown::Changed(change) => self.take(watch, change),
        };
        peers.extend(self.others(awaited));
        peers
    }

    /// Whether the peer waits for the first list of its Secrets.
    pub(super) fn awaits_secrets(&self, peer: &ClusterId) -> bool {
        self.unlisted().values().any(|waiting| waiting == peer)
    }

    /// Applies an effect. Where the account has no rights on the Secrets of a tenant
    /// namespace yet, it is bound there first.
    ///
    /// # Errors
    /// As [`apply`].
    pub(super) async fn apply(&self, effect: &Effect) -> Result<Applied, Error> {
        let applied = apply(&self.client, effect).await;
        let Some(account) = &self.account else {
            return applied;
        };
        match (effect, applied) {
            (Effect::Create(Object::Namespace(namespace)), Ok(written @ Applied::Written(_)))
                if namespace.tenant().is_some() =>
            {
                account.bind(&namespace.metadata.name).await?;
                Ok(written)
            }
            (_, Err(error)) if error.is_forbidden() && self.is_tenants_secret(&effect.id()) => {
                account.bind_again(&effect.id().namespace).await?;
                apply(&self.client, effect).await
            }
            (_, applied) => applied,
        }
    }

    /// Whether the controller has rights on the object: its account has given up those on the
    /// Secrets of a namespace that is no tenant namespace any more.
    pub(super) fn may_read(&self, id: &ObjectRef) -> bool {
        id.kind != Kind::Secret
            || self.account.as_ref().is_none_or(|account| {
                account.namespace() == id.namespace || self.is_tenants_secret(id)
            })
    }

    fn is_tenants_secret(&self, id: &ObjectRef) -> bool {
        let namespace = ObjectRef::new(Kind::Namespace, "", id.namespace.as_str());
        let mirror = self.mirror();
        let namespace = mirror.get(&namespace).and_then(Namespace::from_object);
        id.kind == Kind::Secret && namespace.is_some_and(|it| it.tenant().is_some())
    }
}
