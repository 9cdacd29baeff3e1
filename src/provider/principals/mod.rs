//! Names that are users or groups already.

mod registry;

use std::{collections::BTreeSet, sync::Arc};

pub use registry::NameRegistry;

use crate::{
    crypto::{Answer, BoxError},
    model::ClusterId,
};

/// Knows which names are principals of the provider's cluster.
///
/// A cluster ID becomes a user and, by its resource slices, a group. It is
/// asked for both before a peer is met for the first time, and not again for a
/// peer whose proof is on record. A resource slice becomes a user: it is asked
/// for before the slice's request is recorded.
///
/// An implementation that says `false` for a name in use lets a peer become
/// that principal; one that says `true` for a free name only keeps a peer out.
/// When in doubt, say `true` or fail.
pub trait Principals: Send + Sync {
    /// Whether the name belongs to someone else than the claimant.
    ///
    /// # Errors
    /// Whatever keeps it from knowing; the step fails and can be tried again.
    fn is_taken(
        &self,
        name: &PrincipalName<'_>,
        claimant: Claimant<'_>,
    ) -> Result<Answer<bool>, BoxError>;
}

/// Who wants to be a principal. What it is already is not taken from it: the
/// same question may come again after a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Claimant<'a> {
    /// A consumer's control plane: the user of its ID. The group of its ID is
    /// that of its slices.
    ControlPlane(&'a ClusterId),
    /// A consumer's peering user.
    PeeringUser(&'a ClusterId),
    /// A consumer's resource slice: the user of its certificate.
    Slice {
        /// The consumer.
        consumer: &'a ClusterId,
        /// The slice's name.
        slice: &'a str,
    },
}

/// The name of a Kubernetes user or group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrincipalName<'a> {
    /// User or group.
    pub kind: PrincipalKind,
    /// Its name.
    pub name: &'a str,
}

/// What a principal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrincipalKind {
    /// A user: the CN of a client certificate.
    User,
    /// A group: an O of a client certificate.
    Group,
}

/// A fixed table of names, taken as users and as groups alike.
///
/// # Examples
/// ```
/// use liqo_auth::crypto::Answer;
/// use liqo_auth::provider::{Claimant, NameTable, PrincipalName, Principals};
///
/// let peer = "cl-consumer".parse()?;
/// let claimant = Claimant::ControlPlane(&peer);
/// let table: NameTable = ["pool-37893f03fd76"].into_iter().map(String::from).collect();
/// assert_eq!(
///     table.is_taken(&PrincipalName::user("pool-37893f03fd76"), claimant)?,
///     Answer::Ready(true),
/// );
/// assert_eq!(table.is_taken(&PrincipalName::user("cl-consumer"), claimant)?, Answer::Ready(false));
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct NameTable(BTreeSet<String>);

impl Principals for NameTable {
    fn is_taken(
        &self,
        name: &PrincipalName<'_>,
        _claimant: Claimant<'_>,
    ) -> Result<Answer<bool>, BoxError> {
        Ok(Answer::Ready(self.0.contains(name.name)))
    }
}

impl<P: Principals + ?Sized> Principals for Arc<P> {
    fn is_taken(
        &self,
        name: &PrincipalName<'_>,
        claimant: Claimant<'_>,
    ) -> Result<Answer<bool>, BoxError> {
        (**self).is_taken(name, claimant)
    }
}

/// A name is taken if either look-up says so.
impl<A: Principals, B: Principals> Principals for (A, B) {
    fn is_taken(
        &self,
        name: &PrincipalName<'_>,
        claimant: Claimant<'_>,
    ) -> Result<Answer<bool>, BoxError> {
        Ok(match self.0.is_taken(name, claimant)? {
            Answer::Ready(false) => self.1.is_taken(name, claimant)?,
            taken => taken,
        })
    }
}

impl FromIterator<String> for NameTable {
    fn from_iter<I: IntoIterator<Item = String>>(names: I) -> Self {
        Self(names.into_iter().collect())
    }
}

impl<'a> PrincipalName<'a> {
    /// A user.
    pub fn user(name: &'a str) -> Self {
        Self {
            kind: PrincipalKind::User,
            name,
        }
    }

    /// A group.
    pub fn group(name: &'a str) -> Self {
        Self {
            kind: PrincipalKind::Group,
            name,
        }
    }
}

/// Whether Kubernetes or a common distribution uses the name itself, as far as
/// it could be a cluster ID at all: no name with a colon can.
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
