//! One peer's objects.

use super::tenancy;
use crate::{
    crypto::Nonce,
    error::{Error, LocalFault, shortened},
    model::{ClusterId, Kind, Metadata, Namespace, Object, ObjectRef, Resource, Unreadable, names},
};

/// One peer's objects, borrowed from wherever the caller keeps them.
///
/// The view holds the objects that [`interests`](super::Machine::interests) names,
/// for either role or both. Objects that do not concern the peer are ignored.
/// Unreadable objects ([`Object::Unreadable`]) belong in the view too: an
/// unreadable object does not count as absent.
///
/// # Examples
/// ```
/// use liqo_auth::{machine::View, model::{Namespace, Object}};
///
/// let peer = "cl-consumer".parse()?;
/// let objects = [Object::from(Namespace::for_tenant(&peer))];
/// let view = View::of(&peer, &objects);
/// assert_eq!(view.peer(), &peer);
/// # Ok::<(), liqo_auth::model::NameError>(())
/// ```
#[derive(Debug, Clone)]
pub struct View<'o> {
    peer: ClusterId,
    /// The readable objects, sorted by kind, namespace and name.
    objects: Vec<&'o Object>,
    /// The unreadable objects, in the same order.
    unreadable: Vec<&'o Object>,
    vouched_nonces: Vec<[u8; 32]>,
}

/// A look-up for a [`View`] of one peer. A controller that watches all peers uses
/// [`Watch`](super::Watch)es instead.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Interest {
    /// One object.
    Object(ObjectRef),
    /// The objects of a kind and name, in every namespace.
    Named {
        /// Their kind.
        kind: Kind,
        /// Their name.
        name: String,
    },
    /// The objects of a kind with a label, in every namespace.
    Labelled {
        /// Their kind.
        kind: Kind,
        /// The label's key.
        label: &'static str,
        /// The label's value.
        value: String,
    },
    /// The objects of a kind in one namespace.
    InNamespace {
        /// Their kind.
        kind: Kind,
        /// Their namespace. As in a request to an API server, an empty one means all
        /// namespaces, and all objects of a kind that has none.
        namespace: String,
    },
}

impl<'o> View<'o> {
    /// A view of `peer` with these objects.
    pub fn of(peer: &ClusterId, objects: impl IntoIterator<Item = &'o Object>) -> Self {
        let view = Self {
            peer: peer.clone(),
            objects: Vec::new(),
            unreadable: Vec::new(),
            vouched_nonces: Vec::new(),
        };
        view.and(objects)
    }

    /// The same view with more objects.
    #[must_use]
    pub(crate) fn and(mut self, objects: impl IntoIterator<Item = &'o Object>) -> Self {
        for object in objects {
            match object {
                Object::Unreadable(_) => self.unreadable.push(object),
                _ => self.objects.push(object),
            }
        }
        self.objects.sort_by_key(|object| object.key());
        self.objects.dedup_by_key(|object| object.key());
        self.unreadable.sort_by_key(|object| object.key());
        let namespaces: Vec<&Namespace> = self.readable().collect();
        let is_own = |object: &&Object| !is_of_another(&self.peer, object, &namespaces);
        self.objects.retain(is_own);
        self.unreadable.retain(is_own);
        self
    }

    /// The view after this object was written.
    pub(crate) fn after<'a>(&self, changed: &'a Object) -> View<'a>
    where
        'o: 'a,
    {
        let others = self
            .objects()
            .filter(|object| object.key() != changed.key());
        View {
            vouched_nonces: self.vouched_nonces.clone(),
            ..View::of(&self.peer, others.chain([changed]))
        }
    }

    /// Accepts a nonce as this provider's own, although the nonce does not have
    /// this provider's authentication code. An example is a nonce that Liqo made
    /// before this library was installed. The caller asserts that the peer could
    /// not write the nonce.
    #[must_use]
    pub fn vouch_for_nonce(mut self, nonce: &Nonce) -> Self {
        self.vouched_nonces.push(nonce.digest());
        self
    }

    /// The objects: first the readable ones, sorted by kind, namespace and name,
    /// then the unreadable ones.
    pub fn objects(&self) -> impl Iterator<Item = &'o Object> {
        self.objects.iter().chain(&self.unreadable).copied()
    }

    /// The peer that the objects concern.
    pub fn peer(&self) -> &ClusterId {
        &self.peer
    }

    pub(crate) fn vouches_for(&self, nonce: &Nonce) -> bool {
        self.vouched_nonces.contains(&nonce.digest())
    }

    /// The object of that name, if it exists.
    pub(crate) fn find<K: Resource + 'o>(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<Option<&'o K>, Error> {
        let key = (K::KIND, namespace, name);
        self.refuse_unreadable_at(key)?;
        let at = self.objects.partition_point(|object| object.key() < key);
        let found = self.objects.get(at).filter(|object| object.key() == key);
        Ok(found.and_then(|object| K::from_object(object)))
    }

    /// The object of that name in any namespace. Two such objects are an error.
    pub(crate) fn find_anywhere<K: Resource + 'o>(
        &self,
        name: &str,
    ) -> Result<Option<&'o K>, Error> {
        self.refuse_unreadable(K::KIND, |unreadable| {
            unreadable.may_be(K::KIND, &unreadable.id.namespace, name)
        })?;
        self.only(|object: &K| object.metadata().name == name)
    }

    /// The peer's tenant namespace, found by its two labels. If the only candidate
    /// is a Namespace with the default name and without the labels, the result is an
    /// error that names its holder.
    pub(crate) fn tenant_namespace(&self) -> Result<Option<&'o Namespace>, Error> {
        self.refuse_unreadable_of(Kind::Namespace)?;
        let found = self.only(|namespace: &Namespace| {
            let metadata = &namespace.metadata;
            metadata.label(names::REMOTE_CLUSTER_ID_LABEL) == Some(self.peer.as_str())
                && metadata.label(names::TENANT_NAMESPACE_LABEL) == Some(names::TRUE)
        })?;
        let in_the_way = self.find::<Namespace>("", &names::tenant_namespace(&self.peer))?;
        match (found, in_the_way) {
            (None, Some(namespace)) => Err(Error::found_in(
                namespace,
                "metadata.labels",
                LocalFault::NamespaceHeld {
                    holder: holder_of(namespace),
                },
            )),
            (found, _) => Ok(found),
        }
    }

    /// The peer's tenant namespace by its metadata alone, for a caller that only takes away. It
    /// may be unreadable. An unreadable Namespace with the default name is it if no other
    /// one has the labels, and its own labels name nobody else.
    fn tenant_namespace_by_metadata(&self) -> Option<&'o Object> {
        let peer = Some(self.peer.as_str());
        let is_tenants = |found: &Metadata| {
            found.label(names::REMOTE_CLUSTER_ID_LABEL) == peer
                && found.label(names::TENANT_NAMESPACE_LABEL) == Some(names::TRUE)
        };
        let present = self.present(Kind::Namespace);
        let mut labelled = present.filter(|found| is_tenants(found.metadata()));
        match (labelled.next(), labelled.next()) {
            (None, _) => {}
            (Some(only), None) => return Some(only),
            (Some(_), Some(_)) => return None,
        }
        let by_name = |found: &&&Object| {
            let holder = found.metadata().label(names::REMOTE_CLUSTER_ID_LABEL);
            found.key().2 == names::tenant_namespace(&self.peer)
                && (holder.is_none() || holder == peer)
        };
        let mut unreadable = of_kind(&self.unreadable, Kind::Namespace).iter();
        unreadable.find(by_name).copied()
    }

    /// The tenant namespace and its name, for a caller that also takes away. If it may be one
    /// that cannot be read, or another Namespace cannot be read that may be it, the name is that
    /// of the metadata, and the error is the third.
    pub(crate) fn tenant_namespace_and_name(
        &self,
    ) -> Result<(Option<&'o Namespace>, String, Option<Error>), Error> {
        let error = match self.tenant_namespace() {
            Ok(found) => return Ok((found, Namespace::name_for(found, &self.peer), None)),
            Err(error) => error,
        };
        let Some(found) = self.tenant_namespace_by_metadata() else {
            return Err(error);
        };
        let name = found.key().2.to_owned();
        Ok((Namespace::from_object(found), name, Some(error)))
    }

    /// Every object of a kind. An unreadable object of the kind is an error.
    pub(crate) fn every<K: Resource + 'o>(
        &self,
    ) -> Result<impl Iterator<Item = &'o K> + use<'o, '_, K>, Error> {
        self.refuse_unreadable_of(K::KIND)?;
        Ok(self.readable())
    }

    /// Every readable object of a kind.
    pub(crate) fn readable<K: Resource + 'o>(
        &self,
    ) -> impl Iterator<Item = &'o K> + use<'o, '_, K> {
        let readable = of_kind(&self.objects, K::KIND).iter();
        readable.filter_map(|object| K::from_object(object))
    }

    /// Every object of a kind, readable or not.
    pub(crate) fn present(&self, kind: Kind) -> impl Iterator<Item = &'o Object> + use<'o, '_> {
        let readable = of_kind(&self.objects, kind).iter();
        readable.chain(of_kind(&self.unreadable, kind)).copied()
    }

    /// Every unreadable object of a kind.
    pub(crate) fn unreadable(
        &self,
        kind: Kind,
    ) -> impl Iterator<Item = &'o Unreadable> + use<'o, '_> {
        let unreadable = of_kind(&self.unreadable, kind).iter();
        unreadable.filter_map(|object| object.as_unreadable())
    }

    fn only<K: Resource + 'o>(&self, wanted: impl Fn(&K) -> bool) -> Result<Option<&'o K>, Error> {
        only(self.readable().filter(|object: &&K| wanted(object)))
    }

    /// Checks that no unreadable object may be of that kind.
    fn refuse_unreadable_of(&self, kind: Kind) -> Result<(), Error> {
        self.refuse_unreadable(kind, |found| found.may_be_of(kind))
    }

    /// Checks that no unreadable object of that kind, or of an unknown kind, has this
    /// property.
    pub(crate) fn refuse_unreadable(
        &self,
        kind: Kind,
        concerns: impl Fn(&Unreadable) -> bool,
    ) -> Result<(), Error> {
        let mut found = self.unreadable(kind).chain(self.unreadable(Kind::Other));
        let found = found.find(|found| concerns(found));
        found.map_or(Ok(()), |found| Err(found.error()))
    }

    /// Checks that no unreadable object may be the one at this place. If the kind,
    /// namespace or name of an unreadable object is unknown, it may be any kind,
    /// namespace or name. In the object's ID, the unknown namespace or name is empty.
    fn refuse_unreadable_at(&self, key: (Kind, &str, &str)) -> Result<(), Error> {
        let (kind, namespace, name) = key;
        let concerns = |found: &Unreadable| found.may_be(kind, namespace, name);
        if !kind.is_namespaced() {
            return self.refuse_unreadable(kind, concerns);
        }
        for kind in [kind, Kind::Other] {
            for (namespace, name) in [(namespace, name), (namespace, ""), ("", name), ("", "")] {
                let key = (kind, namespace, name);
                let start = self.unreadable.partition_point(|found| found.key() < key);
                let rest = self.unreadable.get(start..).unwrap_or_default().iter();
                let here = rest.take_while(|found| found.key() == key);
                let mut here = here.filter_map(|found| found.as_unreadable());
                if let Some(found) = here.find(|found| concerns(found)) {
                    return Err(found.error());
                }
            }
        }
        Ok(())
    }
}

/// The only object. Two different objects are an error.
pub(crate) fn only<'o, K: Resource>(
    mut found: impl Iterator<Item = &'o K>,
) -> Result<Option<&'o K>, Error> {
    let Some(first) = found.next() else {
        return Ok(None);
    };
    match found.find(|other| other.id() != first.id()) {
        None => Ok(Some(first)),
        Some(other) => {
            let other = other.id().to_string();
            let fault = LocalFault::Ambiguous { other };
            Err(Error::found_in(first, "", fault))
        }
    }
}

/// What the labels of a Namespace say about its holder.
fn holder_of(namespace: &Namespace) -> String {
    let labelled = namespace.metadata.label(names::REMOTE_CLUSTER_ID_LABEL);
    match (namespace.tenant(), labelled) {
        (Some(other), _) => format!("it is that of {other}"),
        (None, Some(other)) => format!("it is another Namespace of {:?}", shortened(other)),
        (None, None) => "its labels do not name a cluster".to_owned(),
    }
}

/// Whether this is a Tenant or an Identity in the tenant namespace of another peer.
/// These kinds are looked up by their names, and a peering user may write a Tenant of
/// any name in its own namespace.
fn is_of_another(peer: &ClusterId, object: &Object, namespaces: &[&Namespace]) -> bool {
    let (kind, place, _) = object.key();
    if !matches!(kind, Kind::Tenant | Kind::Identity) {
        return false;
    }
    let mut namespaces = namespaces.iter().copied();
    let namespace = namespaces.find(|namespace| namespace.metadata.name == place);
    tenancy::owner_of(kind, place, namespace).is_some_and(|owner| owner != *peer)
}

/// The objects of a kind among sorted objects.
fn of_kind<'s, 'o>(sorted: &'s [&'o Object], kind: Kind) -> &'s [&'o Object] {
    let start = sorted.partition_point(|found| found.key().0 < kind);
    let rest = sorted.get(start..).unwrap_or_default();
    let end = rest.partition_point(|found| found.key().0 <= kind);
    rest.get(..end).unwrap_or_default()
}

impl Interest {
    /// All objects of a kind.
    pub(crate) const fn all(kind: Kind) -> Self {
        let namespace = String::new();
        Self::InNamespace { kind, namespace }
    }

    pub(crate) fn labelled(kind: Kind, label: &'static str, value: &str) -> Self {
        let value = value.to_owned();
        Self::Labelled { kind, label, value }
    }

    /// The look-ups of both sides: the tenant namespace, the Secrets, and the
    /// record.
    ///
    /// The namespace and its Secrets are also looked up by name. An object without
    /// the label still occupies its name, so it must not count as absent.
    ///
    /// The tenant namespaces of all other peers are looked up as well. They may have any
    /// names, and show which Tenants and Identities of this peer's name are not its own.
    pub(crate) fn of_both_sides(peer: &ClusterId, record: ObjectRef) -> [Self; 6] {
        let label = names::REMOTE_CLUSTER_ID_LABEL;
        let namespace = names::tenant_namespace(peer);
        [
            Self::labelled(Kind::Namespace, label, peer.as_str()),
            Self::labelled(Kind::Namespace, names::TENANT_NAMESPACE_LABEL, names::TRUE),
            Self::labelled(Kind::Secret, label, peer.as_str()),
            Self::Object(record),
            Self::Object(ObjectRef::new(Kind::Namespace, "", &namespace)),
            Self::InNamespace {
                kind: Kind::Secret,
                namespace,
            },
        ]
    }

    /// Whether this look-up includes the object. An unreadable object matches by
    /// its name, or by the labels that could be read.
    pub fn matches(&self, object: &Object) -> bool {
        let (own_kind, own_namespace, own_name) = object.key();
        match self {
            Self::Object(id) => (id.kind, id.namespace.as_str(), id.name.as_str()) == object.key(),
            Self::Named { kind, name } => (*kind, name.as_str()) == (own_kind, own_name),
            Self::Labelled { kind, label, value } => {
                let labels = &object.metadata().labels;
                *kind == own_kind && labels.get(*label) == Some(value)
            }
            Self::InNamespace { kind, namespace } => {
                *kind == own_kind && (namespace.is_empty() || namespace == own_namespace)
            }
        }
    }
}

#[cfg(test)]
mod tests;
