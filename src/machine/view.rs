//! What was seen of one peer.

use crate::{
    crypto::Nonce,
    error::{Error, LocalFault},
    model::{ClusterId, Kind, Namespace, Object, ObjectRef, Resource, Unreadable, names},
};

/// One peer's objects, borrowed from wherever the caller keeps them.
///
/// It holds what [`interests`](crate::provider::Provider::interests) names, for
/// either role or both; what does not concern the peer is passed over. What
/// could not be read ([`Object::Unreadable`]) belongs in it too: it is never
/// taken for absent.
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
    /// Those that can be read, in the order of their kinds and names.
    objects: Vec<&'o Object>,
    unreadable: Vec<(&'o Unreadable, &'o Object)>,
    vouched_nonces: Vec<[u8; 32]>,
}

/// What to look up, to see all of one peer once. A controller that watches all
/// peers has [`Watch`](super::Watch)es instead.
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
        /// Their namespace.
        namespace: String,
    },
}

impl<'o> View<'o> {
    /// What was seen of `peer`.
    pub fn of(peer: &ClusterId, objects: impl IntoIterator<Item = &'o Object>) -> Self {
        let view = Self {
            peer: peer.clone(),
            objects: Vec::new(),
            unreadable: Vec::new(),
            vouched_nonces: Vec::new(),
        };
        view.and(objects)
    }

    /// And this besides.
    #[must_use]
    pub fn and(mut self, objects: impl IntoIterator<Item = &'o Object>) -> Self {
        for object in objects {
            match object {
                Object::Unreadable(unreadable) => self.unreadable.push((unreadable, object)),
                _ => self.objects.push(object),
            }
        }
        self.objects.sort_by_key(|object| object.key());
        self
    }

    /// Takes a nonce for this provider's although it does not carry this
    /// provider's authentication code: one that Liqo made before this library
    /// took over. Who calls this says that it has not been in the peer's hands
    /// to write.
    #[must_use]
    pub fn vouch_for_nonce(mut self, nonce: &Nonce) -> Self {
        self.vouched_nonces.push(nonce.digest());
        self
    }

    /// What was seen, each kind in the order of its names, and then what cannot
    /// be read.
    pub fn objects(&self) -> impl Iterator<Item = &'o Object> {
        let unreadable = self.unreadable.iter().map(|(_, object)| *object);
        self.objects.iter().copied().chain(unreadable)
    }

    /// Whom the objects concern.
    pub fn peer(&self) -> &ClusterId {
        &self.peer
    }

    pub(crate) fn vouches_for(&self, nonce: &Nonce) -> bool {
        self.vouched_nonces.contains(&nonce.digest())
    }

    /// The object of that name, if there is one.
    pub(crate) fn find<K: Resource + 'o>(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<Option<&'o K>, Error> {
        self.refuse_unreadable(|unreadable| unreadable.may_be(K::KIND, namespace, name))?;
        let key = (K::KIND, namespace, name);
        let at = self.objects.partition_point(|object| object.key() < key);
        let found = self.objects.get(at).filter(|object| object.key() == key);
        Ok(found.and_then(|object| K::from_object(object)))
    }

    /// The object of that name in any namespace; two of them are an error.
    pub(crate) fn find_anywhere<K: Resource + 'o>(
        &self,
        name: &str,
    ) -> Result<Option<&'o K>, Error> {
        self.refuse_unreadable(|unreadable| {
            unreadable.may_be(K::KIND, &unreadable.id.namespace, name)
        })?;
        self.only(|object: &K| object.metadata().name == name)
    }

    /// The peer's tenant namespace, found by its two labels.
    pub(crate) fn tenant_namespace(&self) -> Result<Option<&'o Namespace>, Error> {
        self.refuse_unreadable(|unreadable| unreadable.may_be_of(Kind::Namespace))?;
        let found = self.only(|namespace: &Namespace| {
            let labels = &namespace.metadata.labels;
            labels
                .get(names::REMOTE_CLUSTER_ID_LABEL)
                .map(String::as_str)
                == Some(self.peer.as_str())
                && labels
                    .get(names::TENANT_NAMESPACE_LABEL)
                    .map(String::as_str)
                    == Some("true")
        })?;
        let in_the_way = self.find::<Namespace>("", &names::tenant_namespace(&self.peer))?;
        match (found, in_the_way) {
            (None, Some(namespace)) => Err(Error::new(
                LocalFault::Conflict,
                Some(namespace.id()),
                "metadata.labels",
            )),
            (found, _) => Ok(found),
        }
    }

    /// Every object of a kind; one that cannot be read is an error.
    pub(crate) fn every<K: Resource + 'o>(
        &self,
    ) -> Result<impl Iterator<Item = &'o K> + use<'o, '_, K>, Error> {
        self.refuse_unreadable(|unreadable| unreadable.may_be_of(K::KIND))?;
        Ok(self.all())
    }

    /// Every object of a kind that can be read. The others are
    /// [`unreadable`](Self::unreadable).
    pub(crate) fn readable<K: Resource + 'o>(
        &self,
    ) -> impl Iterator<Item = &'o K> + use<'o, '_, K> {
        self.all()
    }

    /// Every object of a kind that cannot be read.
    pub(crate) fn unreadable(
        &self,
        kind: Kind,
    ) -> impl Iterator<Item = &'o Unreadable> + use<'o, '_> {
        let unreadable = self.unreadable.iter().map(|(unreadable, _)| *unreadable);
        unreadable.filter(move |unreadable| unreadable.id.kind == kind)
    }

    fn all<K: Resource + 'o>(&self) -> impl Iterator<Item = &'o K> + use<'o, '_, K> {
        let start = self
            .objects
            .partition_point(|object| object.key().0 < K::KIND);
        let of_kind = self.objects.get(start..).unwrap_or_default();
        of_kind.iter().map_while(|object| K::from_object(object))
    }

    fn only<K: Resource + 'o>(&self, wanted: impl Fn(&K) -> bool) -> Result<Option<&'o K>, Error> {
        let mut found = self.all::<K>().filter(|object| wanted(object));
        let Some(first) = found.next() else {
            return Ok(None);
        };
        match found.find(|other| other.id() != first.id()) {
            None => Ok(Some(first)),
            Some(other) => Err(Error::new(
                LocalFault::Ambiguous {
                    other: other.id().to_string(),
                },
                Some(first.id()),
                "",
            )),
        }
    }

    fn refuse_unreadable(&self, concerns: impl Fn(&Unreadable) -> bool) -> Result<(), Error> {
        let found = self.unreadable.iter().find(|(found, _)| concerns(found));
        found.map_or(Ok(()), |(found, _)| Err(found.error()))
    }
}

impl Interest {
    /// Whether an object is among those to look up. What cannot be read is
    /// found by its name, or by the labels that are left of it.
    pub fn matches(&self, object: &Object) -> bool {
        let (own_kind, own_namespace, own_name) = object.key();
        match self {
            Self::Object(ObjectRef {
                kind,
                namespace,
                name,
            }) => (*kind, namespace.as_str(), name.as_str()) == object.key(),
            Self::Named { kind, name } => (*kind, name.as_str()) == (own_kind, own_name),
            Self::Labelled { kind, label, value } => {
                let labels = &object.any_metadata().labels;
                *kind == own_kind && labels.get(*label) == Some(value)
            }
            Self::InNamespace { kind, namespace } => {
                (*kind, namespace.as_str()) == (own_kind, own_namespace)
            }
        }
    }
}
