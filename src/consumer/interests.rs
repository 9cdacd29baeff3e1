//! What a consumer looks up, and whom a change concerns.

use super::Consumer;
use crate::{
    machine::{Concerns, Interest, Mirror, Requirement, Watch},
    model::{ClusterId, Kind, Object, ObjectRef, names},
};

impl Consumer {
    /// What a controller watches, for all peers.
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

    /// What to look up once, to see all of one peer. If the peer's tenant
    /// namespace has another name than Liqo's, the Secrets in it belong to this
    /// as well.
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
            // By name as well: what stands there without its label is in the
            // way, and not absent.
            Interest::Object(ObjectRef::new(Kind::Namespace, "", &namespace)),
            Interest::InNamespace {
                kind: Kind::Secret,
                namespace,
            },
        ]
    }

    /// Whom a change of this object concerns, as a consumer. A replica of a
    /// resource slice or of a Renew is another cluster's, and concerns this one
    /// as a provider.
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
