//! The objects that a consumer reads, and the peers that a change concerns.

use super::Consumer;
use crate::{
    machine::{Concerns, Interest, Mirror, Requirement, Watch},
    model::{ClusterId, Kind, Object, ObjectRef, names},
};

impl Consumer {
    /// The watches of a controller, for all peers.
    pub fn watches(&self) -> Vec<Watch> {
        let of_peers =
            |kind| Watch::all(kind).with(Requirement::Exists(names::REMOTE_CLUSTER_ID_LABEL));
        vec![
            of_peers(Kind::Namespace),
            Watch::all(Kind::Secret)
                .in_namespace(self.0.namespace.as_str())
                .with(Requirement::Exists(names::RECORD_PEER_LABEL)),
            of_peers(Kind::Secret),
            Watch::all(Kind::Identity),
            Watch::all(Kind::ResourceSlice),
            Watch::all(Kind::Renew),
        ]
    }

    /// The look-ups for all objects of one peer. If the tenant namespace of the
    /// peer does not have Liqo's default name, also look up the Secrets in it.
    pub fn interests(&self, peer: &ClusterId) -> Vec<Interest> {
        let labelled = |kind| Interest::Labelled {
            kind,
            label: names::REMOTE_CLUSTER_ID_LABEL,
            value: peer.to_string(),
        };
        let replicated = |kind| Interest::Labelled {
            kind,
            label: names::REPLICATION_DESTINATION_LABEL,
            value: peer.to_string(),
        };
        let named = |kind| Interest::Named {
            kind,
            name: names::identity_name(peer),
        };
        let namespace = names::tenant_namespace(peer);
        vec![
            labelled(Kind::Namespace),
            labelled(Kind::Secret),
            labelled(Kind::Identity),
            named(Kind::Identity),
            replicated(Kind::ResourceSlice),
            replicated(Kind::Renew),
            named(Kind::Renew),
            Interest::Object(self.0.record_id(peer)),
            // These lookups need no label. An object without its label still
            // occupies its name, so it must not count as absent.
            Interest::Object(ObjectRef::new(Kind::Namespace, "", &namespace)),
            Interest::InNamespace {
                kind: Kind::Secret,
                namespace,
            },
        ]
    }

    /// The peers that a change of this object concerns, on the consumer's side. A
    /// replica of a resource slice or of a Renew belongs to another cluster. It
    /// concerns this cluster as a provider.
    pub fn concerns(&self, object: &Object, mirror: &Mirror) -> Concerns {
        let is_replica = object
            .any_metadata()
            .labels
            .contains_key(names::REPLICATED_LABEL);
        match object.key().0 {
            Kind::Namespace | Kind::Secret | Kind::Identity => {
                mirror.concerns(object).without(&self.0.cluster_id)
            }
            Kind::ResourceSlice | Kind::Renew if !is_replica => {
                mirror.concerns(object).without(&self.0.cluster_id)
            }
            _ => Concerns::Nobody,
        }
    }
}
