//! A look-up of users and groups in memory, built from the cluster's objects.

use core::sync::atomic::{AtomicBool, Ordering};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{PoisonError, RwLock},
};

use serde::Deserialize;
use zeroize::Zeroizing;

use super::{Claimant, NameRequest, PrincipalName, Principals};
use crate::{
    crypto::{Answer, BoxError, Entropy, RecordKey, Subject, keyed_hash},
    machine::{
        Follower, Requirement, Watch,
        sealed::{PEER_DOMAIN, SLICE_DOMAIN, Seal},
    },
    model::{ClusterId, Kind, Metadata, Namespace, Object, ObjectRef, RbacSubject, Secret, names},
};

/// The users and groups of a provider's cluster, as its objects name them:
/// tenant namespaces, this library's records of peers and slices, and the
/// subjects of RoleBindings and ClusterRoleBindings.
///
/// Only objects that no peer can write count. A peer can write Tenants and replicas
/// of resource slices, so the registry ignores them. A peer can also write Secrets
/// in its tenant namespace. So a record counts only in the provider's own namespace
/// and with the provider's seal.
///
/// A registry follows a [`Mirror`](crate::machine::Mirror), or gets its objects from
/// another watcher, through [`observe`](Follower::observe) and
/// [`forget`](Follower::forget). A [`Provider`](crate::Provider) that shares the
/// registry looks names up in it. Before the call of
/// [`complete`](Follower::complete), each answer is [`Answer::Pending`]. The
/// registry stores hashes under a key of its own, not the names. So a peer with three
/// slices needs less than a KiB, and a question takes hardly longer with more peers.
///
/// Two names with the same hash of 64 bits count as the same name. Such a collision
/// can cause the refusal of a peer, but never the wrong acceptance of a peer. Without
/// the key, nobody can cause a collision.
///
/// # Examples
/// ```
/// use liqo_auth::{
///     crypto::{Answer, Entropy, RecordKey},
///     machine::Follower,
///     model::{Namespace, Object},
///     provider::{Claimant, NameRegistry, NameRequest, PrincipalName, Principals},
/// };
///
/// let (record_key, entropy) = (RecordKey::new([1; 32])?, Entropy::from_bytes([7; 32]));
/// let registry = NameRegistry::new("cl-provider".parse()?, record_key, &entropy);
/// let (itself, other) = ("cl-consumer".parse()?, "cl-other".parse()?);
/// let wanted_by = |peer| NameRequest {
///     name: PrincipalName::User("cl-consumer"),
///     claimant: Claimant::ControlPlane(peer),
/// };
/// assert_eq!(registry.is_taken(&wanted_by(&other))?, Answer::Pending);
///
/// let namespace = Object::from(Namespace::for_tenant(&itself));
/// registry.observe(&namespace);
/// registry.complete();
/// assert_eq!(registry.is_taken(&wanted_by(&itself))?, Answer::Ready(false));
/// assert_eq!(registry.is_taken(&wanted_by(&other))?, Answer::Ready(true));
///
/// registry.forget(&namespace.id());
/// assert_eq!(registry.is_taken(&wanted_by(&other))?, Answer::Ready(false));
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[derive(derive_more::Debug)]
#[debug("NameRegistry {{ .. }}")]
pub struct NameRegistry {
    /// The provider.
    cluster_id: ClusterId,
    record_key: RecordKey,
    /// The namespace of the provider's records.
    namespace: String,
    key: Zeroizing<[u8; 32]>,
    tables: RwLock<Tables>,
    is_complete: AtomicBool,
}

#[derive(Default)]
struct Tables {
    /// The claims of each object.
    objects: BTreeMap<u64, Claims>,
    /// Each claimed name, with its claimant and the object.
    names: BTreeSet<(u64, u64, u64)>,
}

/// An object's claims, all of one claimant.
struct Claims {
    claimant: u64,
    names: Box<[u64]>,
}

impl NameRegistry {
    /// An empty registry for the provider with this name and record key. It derives
    /// its own key from `entropy`.
    pub fn new(cluster_id: ClusterId, record_key: RecordKey, entropy: &Entropy) -> Self {
        Self {
            cluster_id,
            record_key,
            namespace: names::LIQO_NAMESPACE.to_owned(),
            key: Zeroizing::new(entropy.derive("name registry", &[])),
            tables: RwLock::default(),
            is_complete: AtomicBool::new(false),
        }
    }

    /// Sets the namespace of the provider's records, if it is not Liqo's.
    #[must_use]
    pub fn in_namespace(self, namespace: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            ..self
        }
    }

    fn claims(&self, object: &Object) -> Option<Claims> {
        match object {
            Object::Namespace(namespace) => self.claims_of_namespace(namespace),
            Object::Secret(secret) => self.claims_of_record(secret),
            Object::RoleBinding(binding) => {
                self.claims_of_subjects(&binding.metadata, &binding.subjects)
            }
            Object::ClusterRoleBinding(binding) => {
                self.claims_of_subjects(&binding.metadata, &binding.subjects)
            }
            _ => None,
        }
    }

    /// The claims of a tenant namespace. The namespace exists from the invitation of
    /// its peer, before any credential is issued.
    fn claims_of_namespace(&self, namespace: &Namespace) -> Option<Claims> {
        let labels = &namespace.metadata.labels;
        let is_tenants = labels.get(names::TENANT_NAMESPACE_LABEL)? == names::TRUE;
        let peer = labels.get(names::REMOTE_CLUSTER_ID_LABEL)?;
        let peer = peer.parse().ok().filter(|_| is_tenants)?;
        Some(self.claims_of_peer(&peer))
    }

    /// The claims of a record with a valid seal. A record exists until its last
    /// certificate has expired.
    fn claims_of_record(&self, secret: &Secret) -> Option<Claims> {
        let label = secret.metadata.labels.get(names::RECORD_PEER_LABEL)?;
        if secret.metadata.namespace != self.namespace {
            return None;
        }
        let peer: ClusterId = label.parse().ok()?;
        let seal = |domain| Seal {
            key: &self.record_key,
            domain,
            owner: &self.cluster_id,
            peer: &peer,
        };
        if seal(PEER_DOMAIN).open(secret, |_| Some(())).is_ok() {
            return Some(self.claims_of_peer(&peer));
        }
        let read = |text: &[u8]| serde_json::from_slice::<NamedSlice>(text).ok();
        let named = seal(SLICE_DOMAIN).open(secret, read).ok()?.record;
        Some(self.claims_of_slice(&peer, &named.slice))
    }

    /// The claims of a peer: its user, and the group of its slices.
    fn claims_of_peer(&self, peer: &ClusterId) -> Claims {
        Claims {
            claimant: self.claimant(Claimant::ControlPlane(peer)),
            names: Box::new([
                self.name(&PrincipalName::User(peer.as_str())),
                self.name(&PrincipalName::Group(peer.as_str())),
            ]),
        }
    }

    fn claims_of_slice(&self, consumer: &ClusterId, slice: &str) -> Claims {
        let subject = Subject::resource_slice(slice, consumer);
        Claims {
            claimant: self.claimant(Claimant::Slice { consumer, slice }),
            names: Box::new([self.name(&PrincipalName::User(subject.common_name()))]),
        }
    }

    /// The claims of a binding. A binding that gives a peer its rights claims its
    /// subjects for that peer. Any other binding claims its subjects for a claimant
    /// that is no peer.
    fn claims_of_subjects(&self, metadata: &Metadata, subjects: &[RbacSubject]) -> Option<Claims> {
        let peer: Option<ClusterId> = metadata
            .label(names::REMOTE_CLUSTER_ID_LABEL)
            .filter(|_| metadata.label(names::MANAGED_BY_LABEL) == Some(names::MANAGED_BY_LIQO))
            .and_then(|peer| peer.parse().ok());
        let names: Box<[u64]> = subjects
            .iter()
            .filter_map(|subject| match subject.kind.as_str() {
                "User" => Some(PrincipalName::User(&subject.name)),
                "Group" => Some(PrincipalName::Group(&subject.name)),
                _ => None,
            })
            .map(|name| self.name(&name))
            .collect();
        let claimant = match &peer {
            Some(peer) => self.claimant(Claimant::ControlPlane(peer)),
            None => SOMEBODY,
        };
        (!names.is_empty()).then_some(Claims { claimant, names })
    }

    fn object(&self, id: &ObjectRef) -> u64 {
        let kind = id.kind.as_str().as_bytes();
        let parts = [kind, id.namespace.as_bytes(), id.name.as_bytes()];
        self.hash("object", &parts)
    }

    fn name(&self, name: &PrincipalName<'_>) -> u64 {
        let (kind, name) = match name {
            PrincipalName::User(name) => ("user", name),
            PrincipalName::Group(name) => ("group", name),
        };
        self.hash(kind, &[name.as_bytes()])
    }

    fn claimant(&self, claimant: Claimant<'_>) -> u64 {
        match claimant {
            Claimant::ControlPlane(peer) => self.hash("control plane", &[peer.as_str().as_bytes()]),
            Claimant::PeeringUser(peer) => self.hash("peering user", &[peer.as_str().as_bytes()]),
            Claimant::Slice { consumer, slice } => {
                self.hash("slice", &[consumer.as_str().as_bytes(), slice.as_bytes()])
            }
        }
    }

    fn hash(&self, domain: &str, parts: &[&[u8]]) -> u64 {
        keyed_hash(&self.key, domain, parts)
    }
}

impl Principals for NameRegistry {
    fn is_taken(&self, request: &NameRequest<'_>) -> Result<Answer<bool>, BoxError> {
        if !self.is_complete.load(Ordering::Acquire) {
            return Ok(Answer::Pending);
        }
        let (name, claimant) = (self.name(&request.name), self.claimant(request.claimant));
        let tables = self.tables.read().unwrap_or_else(PoisonError::into_inner);
        let mut claims = tables
            .names
            .range((name, 0, 0)..=(name, u64::MAX, u64::MAX));
        // The claims are in the order of their claimants.
        let ends = [claims.next(), claims.next_back()];
        let mut others = ends.into_iter().flatten();
        Ok(Answer::Ready(
            others.any(|(_, other, _)| *other != claimant),
        ))
    }
}

impl Follower for NameRegistry {
    /// Includes all bindings, with any labels, since each binding names users or
    /// groups.
    fn watches(&self) -> Vec<Watch> {
        vec![
            Watch::all(Kind::Namespace).with(Requirement::Exists(names::REMOTE_CLUSTER_ID_LABEL)),
            Watch::all(Kind::Secret)
                .in_namespace(self.namespace.as_str())
                .with(Requirement::Exists(names::RECORD_PEER_LABEL)),
            Watch::all(Kind::RoleBinding),
            Watch::all(Kind::ClusterRoleBinding),
        ]
    }

    /// Objects without a user or a group are ignored.
    fn observe(&self, object: &Object) {
        let id = self.object(&object.id());
        let claims = self.claims(object);
        let mut tables = self.tables.write().unwrap_or_else(PoisonError::into_inner);
        tables.forget(id);
        if let Some(claims) = claims {
            tables.note(id, claims);
        }
    }

    fn forget(&self, object: &ObjectRef) {
        let id = self.object(object);
        let mut tables = self.tables.write().unwrap_or_else(PoisonError::into_inner);
        tables.forget(id);
    }

    fn complete(&self) {
        self.is_complete.store(true, Ordering::Release);
    }
}

impl Tables {
    fn note(&mut self, object: u64, claims: Claims) {
        let names = claims.names.iter();
        self.names
            .extend(names.map(|name| (*name, claims.claimant, object)));
        self.objects.insert(object, claims);
    }

    fn forget(&mut self, object: u64) {
        if let Some(Claims { claimant, names }) = self.objects.remove(&object) {
            for name in names {
                self.names.remove(&(name, claimant, object));
            }
        }
    }
}

/// The part of a slice's record that contains the slice's name.
#[derive(Deserialize)]
struct NamedSlice {
    slice: String,
}

/// The claimant of names that belong to no peer.
const SOMEBODY: u64 = 0;

#[cfg(test)]
mod tests;
