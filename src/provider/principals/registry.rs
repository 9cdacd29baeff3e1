//! Who has which name: a look-up in memory, fed with the cluster's objects.

use core::hash::{BuildHasherDefault, Hasher};
use std::{
    collections::HashMap,
    sync::{PoisonError, RwLock},
};

use zeroize::Zeroizing;

use super::{Claimant, PrincipalKind, PrincipalName, Principals};
use crate::{
    crypto::{Answer, BoxError, Entropy, Subject, keyed_hash},
    model::{
        ClusterId, Metadata, Object, ObjectRef, RbacSubject, Resource, ResourceSlice, Tenant, names,
    },
};

/// The users and groups of a provider's cluster, as its objects name them:
/// Tenants and this library's records of peers, replicas of resource slices,
/// and the subjects of RoleBindings and ClusterRoleBindings.
///
/// It is fed by whoever watches the objects ([`observe`](Self::observe),
/// [`forget`](Self::forget)), and asked by a
/// [`Provider`](crate::Provider) that shares it. It holds hashes under a key of
/// its own and no names, so that a peer with three slices costs less than a
/// KiB, and every question takes the same time.
///
/// Two names with the same hash of 64 bits count as the same name. That keeps a
/// peer out, if it ever happens, and lets none in; without the key nobody can
/// bring it about.
///
/// # Examples
/// ```
/// use liqo_auth::{
///     crypto::{Answer, Entropy},
///     model::{Metadata, Object, Tenant, TenantSpec},
///     provider::{Claimant, NameRegistry, PrincipalName, Principals},
/// };
///
/// let registry = NameRegistry::new(&Entropy::from_bytes([7; 32]));
/// let mut tenant = Tenant::default();
/// tenant.metadata.name = "cl-consumer".into();
/// tenant.spec.cluster_id = "cl-consumer".into();
/// let tenant = Object::from(tenant);
/// registry.observe(&tenant);
///
/// let (itself, other) = ("cl-consumer".parse()?, "cl-other".parse()?);
/// let name = PrincipalName::user("cl-consumer");
/// assert_eq!(registry.is_taken(&name, Claimant::ControlPlane(&itself))?, Answer::Ready(false));
/// assert_eq!(registry.is_taken(&name, Claimant::ControlPlane(&other))?, Answer::Ready(true));
///
/// registry.forget(&tenant.id());
/// assert_eq!(registry.is_taken(&name, Claimant::ControlPlane(&other))?, Answer::Ready(false));
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
pub struct NameRegistry {
    key: Zeroizing<[u8; 32]>,
    tables: RwLock<Tables>,
}

/// Keys are hashes already: they are their own.
type Table<V> = HashMap<u64, V, BuildHasherDefault<AsItIs>>;

#[derive(Default)]
struct Tables {
    /// What each object claims.
    objects: Table<Claims>,
    /// Who has each name, where that is one.
    names: Table<Holder>,
    /// The further holders of a name that several have.
    others: Table<Vec<Holder>>,
}

/// An object's claims, all of one claimant.
struct Claims {
    claimant: u64,
    names: Names,
}

enum Names {
    One(u64),
    Two([u64; 2]),
    Many(Box<[u64]>),
}

/// Who has a name, by how many objects.
#[derive(Clone, Copy)]
struct Holder {
    claimant: u64,
    objects: u32,
}

impl NameRegistry {
    /// A registry that knows nobody; its key is derived from `entropy`.
    pub fn new(entropy: &Entropy) -> Self {
        Self {
            key: Zeroizing::new(entropy.derive("name registry", &[])),
            tables: RwLock::default(),
        }
    }

    /// Takes note of an object as it is now, in place of what was known of it.
    /// Objects that name nobody are passed over.
    pub fn observe(&self, object: &Object) {
        let id = self.object(&object.id());
        let claims = self.claims(object);
        let mut tables = self.tables.write().unwrap_or_else(PoisonError::into_inner);
        tables.forget(id);
        if let Some(claims) = claims {
            tables.note(id, claims);
        }
    }

    /// Forgets an object that is gone.
    pub fn forget(&self, object: &ObjectRef) {
        let id = self.object(object);
        let mut tables = self.tables.write().unwrap_or_else(PoisonError::into_inner);
        tables.forget(id);
    }

    /// How many names are taken.
    pub fn len(&self) -> usize {
        let tables = self.tables.read().unwrap_or_else(PoisonError::into_inner);
        tables.names.len()
    }

    /// Whether no name is taken.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn claims(&self, object: &Object) -> Option<Claims> {
        if let Some(slice) = ResourceSlice::from_object(object) {
            return self.claims_of_slice(slice);
        }
        if let Some(tenant) = Tenant::from_object(object) {
            return self.claims_of_peer(&tenant.spec.cluster_id);
        }
        match object {
            Object::Secret(secret) => {
                let label = secret.metadata.labels.get(names::RECORD_PEER_LABEL)?;
                let record = crate::provider::record::peer::name(&label.parse().ok()?);
                (secret.metadata.name == record).then(|| self.claims_of_peer(label))?
            }
            Object::RoleBinding(binding) => {
                self.claims_of_subjects(&binding.metadata, &binding.subjects)
            }
            Object::ClusterRoleBinding(binding) => {
                self.claims_of_subjects(&binding.metadata, &binding.subjects)
            }
            _ => None,
        }
    }

    /// A peer is a user, and its slices are a group.
    fn claims_of_peer(&self, peer: &str) -> Option<Claims> {
        let peer: ClusterId = peer.parse().ok()?;
        Some(Claims {
            claimant: self.claimant(Claimant::ControlPlane(&peer)),
            names: Names::Two([
                self.name(&PrincipalName::user(peer.as_str())),
                self.name(&PrincipalName::group(peer.as_str())),
            ]),
        })
    }

    fn claims_of_slice(&self, slice: &ResourceSlice) -> Option<Claims> {
        let labels = &slice.metadata.labels;
        let label = |name: &str| labels.get(name).map(String::as_str);
        let consumer = slice.spec.consumer_cluster_id.as_deref()?;
        let replica = label(names::REPLICATED_LABEL) == Some(names::TRUE)
            && label(names::REPLICATION_ORIGIN_LABEL) == Some(consumer);
        let consumer: ClusterId = consumer.parse().ok().filter(|_| replica)?;
        let name = &slice.metadata.name;
        let subject = Subject::resource_slice(name, &consumer);
        let claimant = Claimant::Slice {
            consumer: &consumer,
            slice: name,
        };
        Some(Claims {
            claimant: self.claimant(claimant),
            names: Names::One(self.name(&PrincipalName::user(subject.common_name()))),
        })
    }

    /// The bindings that give a peer its rights name it; the others name
    /// somebody who is no peer.
    fn claims_of_subjects(&self, metadata: &Metadata, subjects: &[RbacSubject]) -> Option<Claims> {
        let label = |name: &str| metadata.labels.get(name).map(String::as_str);
        let peer: Option<ClusterId> = label(names::REMOTE_CLUSTER_ID_LABEL)
            .filter(|_| label(names::MANAGED_BY_LABEL) == Some(names::MANAGED_BY_LIQO))
            .and_then(|peer| peer.parse().ok());
        let named: Vec<u64> = subjects
            .iter()
            .filter_map(|subject| match subject.kind.as_str() {
                "User" => Some(PrincipalName::user(&subject.name)),
                "Group" => Some(PrincipalName::group(&subject.name)),
                _ => None,
            })
            .map(|name| self.name(&name))
            .collect();
        let names = match named[..] {
            [] => return None,
            [one] => Names::One(one),
            [one, other] => Names::Two([one, other]),
            _ => Names::Many(named.into_boxed_slice()),
        };
        let claimant = match &peer {
            Some(peer) => self.claimant(Claimant::ControlPlane(peer)),
            None => SOMEBODY,
        };
        Some(Claims { claimant, names })
    }

    fn object(&self, id: &ObjectRef) -> u64 {
        let kind = id.kind.as_str().as_bytes();
        let parts = [kind, id.namespace.as_bytes(), id.name.as_bytes()];
        self.hash("object", &parts)
    }

    fn name(&self, name: &PrincipalName<'_>) -> u64 {
        let kind = match name.kind {
            PrincipalKind::User => "user",
            PrincipalKind::Group => "group",
        };
        self.hash(kind, &[name.name.as_bytes()])
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
    fn is_taken(
        &self,
        name: &PrincipalName<'_>,
        claimant: Claimant<'_>,
    ) -> Result<Answer<bool>, BoxError> {
        let (name, claimant) = (self.name(name), self.claimant(claimant));
        let tables = self.tables.read().unwrap_or_else(PoisonError::into_inner);
        let others = tables.others.get(&name).into_iter().flatten();
        let mut holders = tables.names.get(&name).into_iter().chain(others);
        let is_taken = holders.any(|holder| holder.claimant != claimant);
        Ok(Answer::Ready(is_taken))
    }
}

impl core::fmt::Debug for NameRegistry {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter
            .debug_struct("NameRegistry")
            .field("names", &self.len())
            .finish_non_exhaustive()
    }
}

impl Tables {
    fn note(&mut self, object: u64, claims: Claims) {
        for name in claims.names.as_slice() {
            let new = Holder {
                claimant: claims.claimant,
                objects: 1,
            };
            match self.names.entry(*name) {
                std::collections::hash_map::Entry::Vacant(vacant) => {
                    vacant.insert(new);
                }
                std::collections::hash_map::Entry::Occupied(mut first) => {
                    let first = first.get_mut();
                    let mut all = core::iter::once(first)
                        .chain(self.others.get_mut(name).into_iter().flatten());
                    match all.find(|holder| holder.claimant == claims.claimant) {
                        Some(holder) => holder.objects = holder.objects.saturating_add(1),
                        None => self.others.entry(*name).or_default().push(new),
                    }
                }
            }
        }
        self.objects.insert(object, claims);
    }

    fn forget(&mut self, object: u64) {
        let Some(claims) = self.objects.remove(&object) else {
            return;
        };
        for name in claims.names.as_slice() {
            let first = self.names.remove(name);
            let others = self.others.remove(name).unwrap_or_default();
            let mut left = first.into_iter().chain(others).filter_map(|holder| {
                if holder.claimant != claims.claimant {
                    return Some(holder);
                }
                let objects = holder.objects.saturating_sub(1);
                (objects > 0).then_some(Holder { objects, ..holder })
            });
            if let Some(first) = left.next() {
                let others: Vec<Holder> = left.collect();
                self.names.insert(*name, first);
                if !others.is_empty() {
                    self.others.insert(*name, others);
                }
            }
        }
    }
}

impl Names {
    fn as_slice(&self) -> &[u64] {
        match self {
            Self::One(name) => core::slice::from_ref(name),
            Self::Two(names) => names,
            Self::Many(names) => names,
        }
    }
}

/// Hashes that are spread evenly already.
#[derive(Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// A claimant who is no peer.
const SOMEBODY: u64 = 0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ClusterRoleBinding, RoleBinding};

    fn registry() -> NameRegistry {
        NameRegistry::new(&Entropy::from_bytes([1; 32]))
    }

    fn is_taken(registry: &NameRegistry, name: &PrincipalName<'_>, by: Claimant<'_>) -> bool {
        registry.is_taken(name, by).unwrap() == Answer::Ready(true)
    }

    fn id(name: &str) -> ClusterId {
        name.parse().unwrap()
    }

    fn tenant(name: &str) -> Object {
        let mut tenant = Tenant::default();
        tenant.metadata.name = name.to_owned();
        tenant.spec.cluster_id = name.to_owned();
        tenant.into()
    }

    fn slice(consumer: &str, name: &str) -> Object {
        let mut slice = ResourceSlice::default();
        slice.metadata.name = name.to_owned();
        slice.metadata.namespace = format!("liqo-tenant-{consumer}");
        slice.metadata.labels = [
            (names::REPLICATED_LABEL, "true"),
            (names::REPLICATION_ORIGIN_LABEL, consumer),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into();
        slice.spec.consumer_cluster_id = Some(consumer.to_owned());
        slice.into()
    }

    fn cluster_binding(subjects: Vec<RbacSubject>, labels: &[(&str, &str)]) -> ClusterRoleBinding {
        let mut binding = ClusterRoleBinding {
            subjects,
            ..ClusterRoleBinding::default()
        };
        binding.metadata.name = "binding".to_owned();
        binding.metadata.labels = labels
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect();
        binding
    }

    #[test]
    fn a_slice_and_a_control_plane_keep_out_of_each_others_way() {
        let registry = registry();
        registry.observe(&slice("victim-cluster", "pool"));
        let user = PrincipalName::user("pool-37893f03fd76");
        let victim = id("victim-cluster");
        let own = Claimant::Slice {
            consumer: &victim,
            slice: "pool",
        };
        assert!(!is_taken(&registry, &user, own));
        let attacker = id("pool-37893f03fd76");
        let claimant = Claimant::ControlPlane(&attacker);
        assert!(is_taken(&registry, &user, claimant));
        let group = PrincipalName::group("pool-37893f03fd76");
        assert!(!is_taken(&registry, &group, claimant));

        // The other way round.
        let registry = self::registry();
        registry.observe(&tenant("pool-37893f03fd76"));
        assert!(!is_taken(&registry, &user, claimant));
        assert!(is_taken(&registry, &user, own));
    }

    #[test]
    fn a_name_is_free_when_the_last_object_that_names_it_is_gone() {
        let registry = registry();
        let (peer, other) = (id("cl-consumer"), id("cl-other"));
        let name = PrincipalName::user("cl-consumer");
        let taken = |peer| is_taken(&registry, &name, Claimant::ControlPlane(peer));
        let ours = [
            (names::REMOTE_CLUSTER_ID_LABEL, "cl-consumer"),
            (names::MANAGED_BY_LABEL, "liqo"),
        ];
        let mut binding = RoleBinding {
            metadata: cluster_binding(Vec::new(), &ours).metadata,
            subjects: vec![RbacSubject::user("cl-consumer")],
            ..RoleBinding::default()
        };
        binding.metadata.namespace = "liqo-tenant-cl-consumer".to_owned();
        let objects = [tenant("cl-consumer"), binding.clone().into()];
        for object in &objects {
            registry.observe(object);
            registry.observe(object);
            assert!(!taken(&peer) && taken(&other));
        }
        // Somebody else is bound by that name, too.
        binding.metadata.labels.clear();
        binding.metadata.name = "admins".to_owned();
        let admins = Object::from(binding);
        registry.observe(&admins);
        assert!(taken(&peer) && taken(&other));
        registry.forget(&admins.id());
        assert!(!taken(&peer) && taken(&other));
        registry.forget(&objects[0].id());
        registry.forget(&objects[0].id());
        assert!(taken(&other));
        registry.forget(&objects[1].id());
        assert!(!taken(&other));
        assert!(registry.is_empty());
    }

    #[test]
    fn an_object_that_changes_names_others() {
        let registry = registry();
        let other = id("cl-other");
        let taken = |name| is_taken(&registry, &name, Claimant::ControlPlane(&other));
        let subjects = ["one", "two", "three"].map(RbacSubject::user).to_vec();
        registry.observe(&cluster_binding(subjects, &[]).into());
        assert!(taken(PrincipalName::user("three")));
        assert!(!taken(PrincipalName::group("three")));
        let subjects = vec![RbacSubject::group("three"), RbacSubject::group("four")];
        registry.observe(&cluster_binding(subjects, &[]).into());
        assert!(!taken(PrincipalName::user("three")));
        assert!(taken(PrincipalName::group("three")));
        assert_eq!(registry.len(), 2);
        registry.observe(&cluster_binding(Vec::new(), &[]).into());
        assert!(registry.is_empty());
    }

    #[test]
    fn what_says_that_it_is_of_others_names_nobody() {
        let registry = registry();
        let mut foreign = slice("attacker", "pool");
        let labels = &mut foreign.metadata_mut().unwrap().labels;
        labels.insert(names::REPLICATION_ORIGIN_LABEL.into(), "victim".into());
        registry.observe(&foreign);
        let mut secret = crate::model::Secret::default();
        secret.metadata.name = "planted".into();
        let labels = &mut secret.metadata.labels;
        labels.insert(names::RECORD_PEER_LABEL.into(), "victim".into());
        registry.observe(&secret.clone().into());
        assert!(registry.is_empty());
        secret.metadata.name = "liqo-auth-provider-victim".into();
        registry.observe(&secret.into());
        assert_eq!(registry.len(), 2);
    }
}
