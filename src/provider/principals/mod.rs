//! The look-up of names that are already users or groups.

mod registry;

use std::{collections::BTreeSet, sync::Arc};

pub use registry::NameRegistry;

use serde::{Serialize, Serializer};

use crate::{
    crypto::{Answer, BoxError},
    error::{Backend, Error},
    model::ClusterId,
};

/// Looks up which names are principals of the provider's cluster.
///
/// A peer's cluster ID becomes the name of a user and, through the peer's resource
/// slices, of a group. The provider looks up both names before it records the peer's
/// first handshake, and not again later. A resource slice also becomes a user. The
/// provider looks up its user name before it records the slice's request.
///
/// If an implementation returns `false` for a name in use, a peer can become that
/// principal. If it returns `true` for a free name, the peer is only refused. When
/// in doubt, return `true` or an error.
///
/// # Examples
/// The users and groups of a company's directory, through which people log in to the cluster.
/// Together with a [`NameRegistry`], it is a pair: `(registry, directory)`.
/// ```
/// use std::{collections::BTreeSet, sync::RwLock};
/// use liqo_auth::{
///     crypto::{Answer, BoxError},
///     provider::{Claimant, NameRequest, PrincipalName, Principals},
/// };
///
/// /// What a task of the program has read of the directory; at first nothing.
/// struct Directory(RwLock<Option<Read>>);
///
/// struct Read {
///     users: BTreeSet<String>,
///     groups: BTreeSet<String>,
/// }
///
/// impl Principals for Directory {
///     fn is_taken(&self, request: &NameRequest<'_>) -> Result<Answer<bool>, BoxError> {
///         let read = self.0.read().map_err(|_| "the task of the directory has failed")?;
///         // No consumer is in the directory. So it does not matter who claims the name.
///         Ok(match (&*read, request.name) {
///             (None, _) => Answer::Pending,
///             (Some(read), PrincipalName::User(user)) => Answer::Ready(read.users.contains(user)),
///             (Some(read), PrincipalName::Group(group)) => {
///                 Answer::Ready(read.groups.contains(group))
///             }
///         })
///     }
/// }
///
/// let consumer = "milan".parse()?;
/// let claimant = Claimant::ControlPlane(&consumer);
/// let [user, group] = [PrincipalName::User("milan"), PrincipalName::Group("milan")]
///     .map(|name| NameRequest { name, claimant });
/// let directory = Directory(RwLock::default());
/// assert_eq!(directory.is_taken(&user)?, Answer::Pending);
///
/// let read = Read { users: ["jane".into()].into(), groups: ["milan".into()].into() };
/// *directory.0.write().map_err(|_| "a caller has failed")? = Some(read);
/// assert_eq!(directory.is_taken(&user)?, Answer::Ready(false));
/// assert_eq!(directory.is_taken(&group)?, Answer::Ready(true));
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
pub trait Principals: Send + Sync {
    /// Whether the name belongs to a principal other than the claimant.
    ///
    /// # Errors
    /// The reason why there is no answer. The step fails and can be tried again.
    fn is_taken(&self, request: &NameRequest<'_>) -> Result<Answer<bool>, BoxError>;
}

/// A function looks a name up.
impl<F> Principals for F
where
    F: Fn(&NameRequest<'_>) -> Result<Answer<bool>, BoxError> + Send + Sync,
{
    fn is_taken(&self, request: &NameRequest<'_>) -> Result<Answer<bool>, BoxError> {
        self(request)
    }
}

/// A name that a claimant wants. As data, it is the question `name` of
/// [the JSON forms](crate::machine::json).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename = "name")]
pub struct NameRequest<'a> {
    /// The name.
    #[serde(flatten)]
    pub name: PrincipalName<'a>,
    /// The claimant.
    pub claimant: Claimant<'a>,
}

/// The party that claims a name. A name that the claimant already has does not count
/// as taken, since the provider may ask the same question again after a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
#[non_exhaustive]
pub enum Claimant<'a> {
    /// A consumer's control plane: the user with the consumer's ID. The group with
    /// this ID is the group of the consumer's slices.
    ControlPlane(#[serde(serialize_with = "as_consumer")] &'a ClusterId),
    /// A consumer's peering user.
    PeeringUser(#[serde(serialize_with = "as_consumer")] &'a ClusterId),
    /// A consumer's resource slice: the user of its certificate.
    Slice {
        /// The consumer.
        consumer: &'a ClusterId,
        /// The slice's name.
        slice: &'a str,
    },
}

/// The name of a Kubernetes user or group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", content = "name", rename_all = "lowercase")]
pub enum PrincipalName<'a> {
    /// A user: the CN of a client certificate.
    User(&'a str),
    /// A group: an O of a client certificate.
    Group(&'a str),
}

/// A fixed table of taken names. Each name counts as a user and as a group. An empty
/// table means that the cluster has no users and groups besides the well-known ones.
///
/// # Examples
/// ```
/// use liqo_auth::crypto::Answer;
/// use liqo_auth::provider::{Claimant, NameRequest, NameTable, PrincipalName, Principals};
///
/// let peer = "cl-consumer".parse()?;
/// let user = |name| NameRequest {
///     name: PrincipalName::User(name),
///     claimant: Claimant::ControlPlane(&peer),
/// };
/// let table: NameTable = ["pool-37893f03fd76"].into_iter().map(String::from).collect();
/// assert_eq!(table.is_taken(&user("pool-37893f03fd76"))?, Answer::Ready(true));
/// assert_eq!(table.is_taken(&user("cl-consumer"))?, Answer::Ready(false));
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct NameTable(BTreeSet<String>);

impl Principals for NameTable {
    fn is_taken(&self, request: &NameRequest<'_>) -> Result<Answer<bool>, BoxError> {
        let (PrincipalName::User(name) | PrincipalName::Group(name)) = request.name;
        Ok(Answer::Ready(self.0.contains(name)))
    }
}

/// The look-up of a provider without a configured look-up. It always fails, since an
/// unchecked peer could take the name of a principal.
pub(crate) struct NotSet;

impl Principals for NotSet {
    fn is_taken(&self, _request: &NameRequest<'_>) -> Result<Answer<bool>, BoxError> {
        Err("no look-up of the names of users and groups is configured".into())
    }
}

impl<P: Principals + ?Sized> Principals for Arc<P> {
    fn is_taken(&self, request: &NameRequest<'_>) -> Result<Answer<bool>, BoxError> {
        (**self).is_taken(request)
    }
}

/// A name is taken if one of the two look-ups knows it.
impl<A: Principals, B: Principals> Principals for (A, B) {
    fn is_taken(&self, request: &NameRequest<'_>) -> Result<Answer<bool>, BoxError> {
        Ok(match self.0.is_taken(request)? {
            Answer::Ready(false) => self.1.is_taken(request)?,
            taken => taken,
        })
    }
}

impl FromIterator<String> for NameTable {
    fn from_iter<I: IntoIterator<Item = String>>(names: I) -> Self {
        Self(names.into_iter().collect())
    }
}

/// The form of a claimant that is its consumer.
fn as_consumer<S: Serializer>(consumer: &ClusterId, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map([("consumer", consumer)])
}

/// Whether no principal other than the claimant has one of these names (rule 7);
/// `None` if the look-up has not answered yet. It is asked for each name, so that its answers
/// can come together.
pub(crate) fn are_free(
    principals: &dyn Principals,
    names: &[PrincipalName<'_>],
    claimant: Claimant<'_>,
) -> Result<Option<bool>, Error> {
    let mut are_all_known = true;
    for name in names {
        let name = *name;
        let taken = principals.is_taken(&NameRequest { name, claimant });
        match taken.map_err(|error| Error::backend(Backend::Principals, error))? {
            Answer::Ready(false) => {}
            Answer::Pending => are_all_known = false,
            Answer::Ready(true) | Answer::Denied(_) => return Ok(Some(false)),
        }
    }
    Ok(are_all_known.then_some(true))
}

/// The same for the names of a consumer: the user and the group of its ID.
pub(crate) fn are_free_for(
    principals: &dyn Principals,
    consumer: &ClusterId,
) -> Result<Option<bool>, Error> {
    let name = consumer.as_str();
    are_free(
        principals,
        &[PrincipalName::User(name), PrincipalName::Group(name)],
        Claimant::ControlPlane(consumer),
    )
}

/// Whether Kubernetes or a common distribution uses the name itself. The list has
/// no name with a colon, since such a name cannot be a cluster ID.
pub(crate) fn is_well_known(name: &str) -> bool {
    WELL_KNOWN.contains(&name)
}

const WELL_KNOWN: [&str; 26] = [
    "admin",
    "aggregator",
    "apiserver",
    "cluster-admin",
    "cluster-autoscaler",
    "clusteradmin",
    "clusteruser",
    "default",
    "docker-for-desktop",
    "edit",
    "etcd",
    "front-proxy-client",
    "kube-apiserver",
    "kube-apiserver-etcd-client",
    "kube-apiserver-kubelet-client",
    "kube-controller-manager",
    "kube-proxy",
    "kube-scheduler",
    "kubelet",
    "kubernetes",
    "kubernetes-admin",
    "kubernetes-super-admin",
    "masterclient",
    "minikube-user",
    "root",
    "view",
];
