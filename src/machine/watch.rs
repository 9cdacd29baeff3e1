//! The watches of a controller, and the peers that a change concerns.

use core::fmt;

use crate::model::{ClusterId, Kind, Object, names};

/// A watch for all peers together: one kind, in one namespace or in all, selected
/// by labels.
///
/// # Examples
/// ```
/// use liqo_auth::{machine::{Requirement, Watch}, model::{Kind, Namespace}};
///
/// let watch = Watch::all(Kind::Namespace)
///     .with(Requirement::Exists("liqo.io/remote-cluster-id"))
///     .with(Requirement::Equals("liqo.io/tenant-namespace", "true"));
/// assert_eq!(watch.selector(), "liqo.io/remote-cluster-id,liqo.io/tenant-namespace=true");
/// assert!(watch.covers(&Namespace::for_tenant(&"cl-consumer".parse()?).into()));
/// # Ok::<(), liqo_auth::model::NameError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Watch {
    /// The kind.
    pub kind: Kind,
    /// The namespace; `None` for all namespaces.
    pub namespace: Option<String>,
    /// The requirements on the labels. All of them must hold.
    pub labels: Vec<Requirement>,
}

/// One requirement of a label selector, as an API server understands it.
#[derive(Debug, Clone, PartialEq, Eq, derive_more::Display)]
#[non_exhaustive]
pub enum Requirement {
    /// `key`: the label exists.
    #[display("{_0}")]
    Exists(&'static str),
    /// `key=value`.
    #[display("{_0}={_1}")]
    Equals(&'static str, &'static str),
    /// `key in (a,b)`.
    #[display("{_0} in ({})", _1.join(","))]
    In(&'static str, Vec<&'static str>),
}

/// The peers that a change of an object concerns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Concerns {
    /// No known peer.
    Nobody,
    /// One peer.
    Peer(ClusterId),
    /// Several peers, sorted and without duplicates. Examples: a Tenant with one
    /// peer's name in another peer's namespace, or an object that moved from one
    /// peer to another.
    Peers(Vec<ClusterId>),
    /// Every peer, such as for a ClusterRole.
    Everybody,
}

impl Watch {
    /// Every object of a kind.
    pub const fn all(kind: Kind) -> Self {
        Self {
            kind,
            namespace: None,
            labels: Vec::new(),
        }
    }

    /// The objects of a kind with Liqo's label for the peer's cluster ID.
    pub(crate) fn of_peers(kind: Kind) -> Self {
        Self::all(kind).with(Requirement::Exists(names::REMOTE_CLUSTER_ID_LABEL))
    }

    /// The watches of both sides: the tenant namespaces, the Secrets of peers, and
    /// this cluster's records.
    pub(crate) fn of_both_sides(namespace_of_records: &str) -> [Self; 3] {
        let records = Self::all(Kind::Secret).in_namespace(namespace_of_records);
        [
            Self::of_peers(Kind::Namespace),
            records.with(Requirement::Exists(names::RECORD_PEER_LABEL)),
            Self::of_peers(Kind::Secret),
        ]
    }

    /// The same watch, in one namespace only.
    #[must_use]
    pub fn in_namespace(self, namespace: impl Into<String>) -> Self {
        Self {
            namespace: Some(namespace.into()),
            ..self
        }
    }

    /// The same watch with one more requirement.
    #[must_use]
    pub fn with(mut self, requirement: Requirement) -> Self {
        self.labels.push(requirement);
        self
    }

    /// The label selector in the form of the API server; empty without
    /// requirements.
    pub fn selector(&self) -> String {
        let requirements: Vec<String> = self.labels.iter().map(Requirement::to_string).collect();
        requirements.join(",")
    }

    /// Whether an API server includes the object in this watch. For an unreadable
    /// object, the labels that could be read decide.
    pub fn covers(&self, object: &Object) -> bool {
        let metadata = object.metadata();
        self.has_place_of(object)
            && self.labels.iter().all(|requirement| match requirement {
                Requirement::Exists(key) => metadata.label(key).is_some(),
                Requirement::Equals(key, wanted) => metadata.label(key) == Some(wanted),
                Requirement::In(key, values) => metadata
                    .label(key)
                    .is_some_and(|value| values.contains(&value)),
            })
    }

    /// Whether the watch has the object's kind and includes its namespace.
    pub(crate) fn has_place_of(&self, object: &Object) -> bool {
        let (kind, namespace, _) = object.key();
        kind == self.kind && self.namespace.as_deref().is_none_or(|own| own == namespace)
    }
}

impl fmt::Display for Watch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.kind.plural())?;
        if let Some(namespace) = &self.namespace {
            write!(formatter, " in {namespace}")?;
        }
        if !self.labels.is_empty() {
            write!(formatter, " with {}", self.selector())?;
        }
        Ok(())
    }
}

impl Concerns {
    /// The value for a list of peers.
    pub(crate) fn peers(mut peers: Vec<ClusterId>) -> Self {
        peers.sort();
        peers.dedup();
        match peers.len() {
            0 => Self::Nobody,
            1 => peers.pop().map_or(Self::Nobody, Self::Peer),
            _ => Self::Peers(peers),
        }
    }

    /// The peers of both values.
    #[must_use]
    pub(crate) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Everybody, _) | (_, Self::Everybody) => Self::Everybody,
            (Self::Nobody, other) => other,
            (own, Self::Nobody) => own,
            (own, other) => Self::peers([own.named_peers(), other.named_peers()].concat()),
        }
    }

    /// The peers except this cluster: a cluster is not its own peer.
    #[must_use]
    pub(crate) fn without(self, cluster: &ClusterId) -> Self {
        if self == Self::Everybody {
            return self;
        }
        let others = self.named_peers().iter().filter(|peer| *peer != cluster);
        Self::peers(others.cloned().collect())
    }

    /// Whether the change concerns the peer.
    pub fn includes(&self, peer: &ClusterId) -> bool {
        *self == Self::Everybody || self.named_peers().contains(peer)
    }

    /// The named peers; empty for [`Concerns::Everybody`].
    pub(crate) fn named_peers(&self) -> &[ClusterId] {
        match self {
            Self::Nobody | Self::Everybody => &[],
            Self::Peer(peer) => core::slice::from_ref(peer),
            Self::Peers(peers) => peers,
        }
    }
}
