//! Replication between two clusters after authentication: the consumer's resource
//! slices and renewals go to the provider, and their statuses come back.
//!
//! On real clusters, Liqo's crd-replicator does this with the rights of the
//! control-plane identity. [`to_provider`] and [`to_consumer`] return the same changes
//! for a caller that has the objects of both clusters: a tool, a simulation, a test.
//! The functions do not check whether the consumer has the rights for the changes: the
//! caller has to check this.
//!
//! Source: Liqo `internal/crdReplicator/reflection`.
//!
//! # Examples
//! ```
//! use liqo_auth::{
//!     crypto::Entropy,
//!     machine::{Objects, replication},
//!     model::{Metadata, Namespace, ResourceSlice, names},
//! };
//!
//! let (consumer, provider) = ("cl-consumer".parse()?, "cl-provider".parse()?);
//! let labels = [
//!     (names::REPLICATION_LABEL, "true"),
//!     (names::REPLICATION_DESTINATION_LABEL, "cl-provider"),
//!     (names::REMOTE_CLUSTER_ID_LABEL, "cl-provider"),
//! ];
//! let slice = ResourceSlice {
//!     metadata: Metadata {
//!         name: "mypool".to_owned(),
//!         namespace: names::tenant_namespace(&provider),
//!         labels: labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
//!         ..Metadata::default()
//!     },
//!     ..ResourceSlice::default()
//! };
//! let mut at_consumer = Objects::new(&Entropy::from_bytes([1; 32]));
//! at_consumer.extend([Namespace::for_tenant(&provider).into(), slice.into()]);
//! let mut at_provider = Objects::new(&Entropy::from_bytes([2; 32]));
//! at_provider.insert(Namespace::for_tenant(&consumer).into());
//!
//! let step = replication::to_provider(&at_consumer.view(&provider), &at_provider.view(&consumer))?;
//! for effect in &step.effects {
//!     at_provider.apply(effect)?;
//! }
//! let replica: &ResourceSlice = at_provider.get("liqo-tenant-cl-consumer", "mypool").unwrap();
//! assert_eq!(replica.metadata.labels.get(names::REPLICATION_ORIGIN_LABEL).unwrap(), "cl-consumer");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::{Effect, Part, Step, Version, View};
use crate::{
    error::Error,
    model::{ClusterId, Metadata, Namespace, Renew, Resource, ResourceSlice, names},
};

/// The step for the provider that replicates the consumer's objects: it creates
/// replicas, updates their specs, and deletes replicas without an original. The
/// step is empty until both tenant namespaces exist.
///
/// `at_consumer` is the consumer's view of the provider; `at_provider` is the
/// provider's view of the consumer.
///
/// # Errors
/// [`LocalFault`](crate::error::LocalFault): an original, or an object with the
/// name of a replica, cannot be read.
pub fn to_provider(at_consumer: &View<'_>, at_provider: &View<'_>) -> Result<Step, Error> {
    let mut step = Step::default();
    if let Some(between) = Between::of(at_consumer, at_provider)? {
        between.update_provider::<ResourceSlice>(&mut step.effects)?;
        between.update_provider::<Renew>(&mut step.effects)?;
    }
    Ok(step)
}

/// The step for the consumer that copies the statuses from the replicas to their
/// originals.
///
/// # Errors
/// As [`to_provider`].
pub fn to_consumer(at_consumer: &View<'_>, at_provider: &View<'_>) -> Result<Step, Error> {
    let mut step = Step::default();
    if let Some(between) = Between::of(at_consumer, at_provider)? {
        between.update_consumer::<ResourceSlice>(&mut step.effects)?;
        between.update_consumer::<Renew>(&mut step.effects)?;
    }
    Ok(step)
}

/// Whether Liqo replicates an object to that cluster, by the object's labels.
pub fn is_shared_with(metadata: &Metadata, destination: &ClusterId) -> bool {
    metadata.label(names::REPLICATION_LABEL) == Some(names::TRUE)
        && metadata.label(names::REPLICATION_DESTINATION_LABEL) == Some(destination.as_str())
}

/// Whether an object is a replica from that cluster, by the object's labels.
pub fn is_replica_of(metadata: &Metadata, origin: &ClusterId) -> bool {
    is_replica(metadata) && metadata.label(names::REPLICATION_ORIGIN_LABEL) == Some(origin.as_str())
}

/// Whether an object is a replica from any cluster, by the object's label.
pub(crate) fn is_replica(metadata: &Metadata) -> bool {
    metadata.label(names::REPLICATED_LABEL) == Some(names::TRUE)
}

/// Whether this cluster made the object for a provider, by the object's labels. If
/// the peer is provider and consumer of this cluster, the tenant namespace has such
/// objects beside the replicas from the peer.
pub(crate) fn is_requested_from(metadata: &Metadata, provider: &ClusterId) -> bool {
    is_shared_with(metadata, provider) && !is_replica(metadata)
}

/// Both sides, with their tenant namespaces.
struct Between<'v, 'o> {
    at_consumer: &'v View<'o>,
    at_provider: &'v View<'o>,
    consumers_namespace: &'o Namespace,
    providers_namespace: &'o Namespace,
}

impl<'v, 'o> Between<'v, 'o> {
    fn of(at_consumer: &'v View<'o>, at_provider: &'v View<'o>) -> Result<Option<Self>, Error> {
        let (Some(consumers_namespace), Some(providers_namespace)) = (
            at_consumer.tenant_namespace()?,
            at_provider.tenant_namespace()?,
        ) else {
            return Ok(None);
        };
        Ok(Some(Self {
            at_consumer,
            at_provider,
            consumers_namespace,
            providers_namespace,
        }))
    }

    fn update_provider<K: Replicated + 'o>(&self, effects: &mut Vec<Effect>) -> Result<(), Error> {
        let originals = self.originals::<K>()?;
        for original in originals.iter().copied() {
            match self.replica_of(original)? {
                None => effects.push(Effect::Create(self.replica(original).into())),
                Some(replica) => {
                    let mut wanted = replica.clone();
                    wanted.take_spec(original);
                    effects.extend(Effect::patch(replica, wanted, Part::Main));
                }
            }
        }
        let namespace = &self.providers_namespace.metadata.name;
        for replica in self.at_provider.every::<K>()? {
            let metadata = replica.metadata();
            let stays = originals
                .iter()
                .any(|original| original.metadata().name == metadata.name);
            if metadata.namespace == *namespace
                && is_replica_of(metadata, self.at_provider.peer())
                && !stays
            {
                effects.push(Effect::Delete {
                    id: replica.id(),
                    version: Version::of(metadata),
                });
            }
        }
        Ok(())
    }

    fn update_consumer<K: Replicated + 'o>(&self, effects: &mut Vec<Effect>) -> Result<(), Error> {
        for original in self.originals::<K>()? {
            if let Some(replica) = self.replica_of(original)? {
                let mut wanted = original.clone();
                wanted.take_status(replica);
                effects.extend(Effect::patch(original, wanted, Part::Status));
            }
        }
        Ok(())
    }

    fn originals<K: Replicated + 'o>(&self) -> Result<Vec<&'o K>, Error> {
        let namespace = &self.consumers_namespace.metadata.name;
        let every = self.at_consumer.every::<K>()?;
        Ok(every
            .filter(|object| {
                let metadata = object.metadata();
                metadata.namespace == *namespace
                    && metadata.deletion_timestamp.is_none()
                    && is_shared_with(metadata, self.at_consumer.peer())
            })
            .collect())
    }

    fn replica_of<K: Replicated + 'o>(&self, original: &K) -> Result<Option<&'o K>, Error> {
        let namespace = &self.providers_namespace.metadata.name;
        self.at_provider.find(namespace, &original.metadata().name)
    }

    /// A replica has the labels of its original but for the owning program, and those that mark
    /// a replica.
    fn replica<K: Replicated>(&self, original: &K) -> K {
        let origin = self.at_provider.peer().as_str();
        let mut replica = K::default();
        replica.take_spec(original);
        let metadata = replica.metadata_mut();
        metadata.name.clone_from(&original.metadata().name);
        metadata.namespace = self.providers_namespace.metadata.name.clone();
        metadata.annotations = original.metadata().annotations.clone();
        metadata.labels = original.metadata().labels.clone();
        for (key, value) in [
            (names::REPLICATION_LABEL, "false"),
            (names::REPLICATED_LABEL, names::TRUE),
            (names::REPLICATION_ORIGIN_LABEL, origin),
            (names::REMOTE_CLUSTER_ID_LABEL, origin),
        ] {
            metadata.labels.insert(key.to_owned(), value.to_owned());
        }
        metadata.labels.remove(OWNERSHIP_LABEL);
        replica
    }
}

/// The label that says which program of a cluster has made an object. It means nothing in the
/// other cluster.
const OWNERSHIP_LABEL: &str = "liqo.io/ownership";

/// A kind whose spec goes to the provider and whose status comes back.
trait Replicated: Resource + Default + Clone + PartialEq {
    fn take_spec(&mut self, from: &Self);
    fn take_status(&mut self, from: &Self);
}

impl Replicated for ResourceSlice {
    fn take_spec(&mut self, from: &Self) {
        self.spec = from.spec.clone();
    }

    fn take_status(&mut self, from: &Self) {
        self.status = from.status.clone();
    }
}

impl Replicated for Renew {
    fn take_spec(&mut self, from: &Self) {
        self.spec = from.spec.clone();
    }

    fn take_status(&mut self, from: &Self) {
        self.status = from.status.clone();
    }
}
