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
/// # Ok::<(), liqo_auth::model::ClusterIdError>(())
/// ```
#[derive(Debug, Clone)]
pub struct View<'o> {
    peer: ClusterId,
    objects: Vec<&'o Object>,
    vouched_nonces: Vec<[u8; 32]>,
}

/// What to look up, to see all of one peer.
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
}

impl<'o> View<'o> {
    /// What was seen of `peer`.
    pub fn of(peer: &ClusterId, objects: impl IntoIterator<Item = &'o Object>) -> Self {
        Self {
            peer: peer.clone(),
            objects: objects.into_iter().collect(),
            vouched_nonces: Vec::new(),
        }
    }

    /// And this besides.
    #[must_use]
    pub fn and(mut self, objects: impl IntoIterator<Item = &'o Object>) -> Self {
        self.objects.extend(objects);
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
        let here =
            |id: &ObjectRef| id.kind == K::KIND && id.namespace == namespace && id.name == name;
        self.refuse_unreadable(&here)?;
        Ok(self.all::<K>().find(|object| {
            object.metadata().namespace == namespace && object.metadata().name == name
        }))
    }

    /// The object of that name in any namespace; two of them are an error.
    pub(crate) fn find_anywhere<K: Resource + 'o>(
        &self,
        name: &str,
    ) -> Result<Option<&'o K>, Error> {
        self.refuse_unreadable(&|id| id.kind == K::KIND && id.name == name)?;
        self.only(|object: &K| object.metadata().name == name)
    }

    /// The peer's tenant namespace, found by its two labels.
    pub(crate) fn tenant_namespace(&self) -> Result<Option<&'o Namespace>, Error> {
        self.refuse_unreadable(&|id| id.kind == Kind::Namespace)?;
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
        self.refuse_unreadable(&|id| id.kind == K::KIND)?;
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
        self.objects.iter().filter_map(move |object| match object {
            Object::Unreadable(unreadable) if unreadable.id.kind == kind => Some(unreadable),
            _ => None,
        })
    }

    fn all<K: Resource + 'o>(&self) -> impl Iterator<Item = &'o K> + use<'o, '_, K> {
        self.objects
            .iter()
            .filter_map(|object| K::from_object(object))
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

    fn refuse_unreadable(&self, concerns: &dyn Fn(&ObjectRef) -> bool) -> Result<(), Error> {
        let unreadable = self.objects.iter().find_map(|object| match object {
            Object::Unreadable(Unreadable { id, reason, .. }) if concerns(id) => Some((id, reason)),
            _ => None,
        });
        match unreadable {
            None => Ok(()),
            Some((id, reason)) => Err(Error::new(
                LocalFault::Unreadable {
                    reason: reason.to_string(),
                },
                Some(id.clone()),
                "",
            )),
        }
    }
}
