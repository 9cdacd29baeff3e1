//! What a consumer looks up, and whom a change concerns.

use super::{Consumer, record};
use crate::{
    machine::Interest,
    model::{ClusterId, Kind, Object, ObjectRef, names},
};

impl Consumer {
    /// What to look up, to see all of one peer.
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
        let kubeconfig = names::kubeconfig_secret(&names::identity_name(peer));
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
            Interest::Object(ObjectRef::new(
                Kind::Secret,
                &namespace,
                names::SIGNED_NONCE_SECRET,
            )),
            Interest::Object(ObjectRef::new(Kind::Secret, &namespace, kubeconfig)),
        ]
    }

    /// Whom a change of this object concerns, if anyone: by its name where the
    /// name says it, also of an object that cannot be read, and else by its
    /// label.
    pub fn peer_of(&self, object: &Object) -> Option<ClusterId> {
        let id = object.id();
        let labels = object.metadata().map(|metadata| &metadata.labels);
        let label = |label: &str| labels?.get(label)?.parse().ok();
        let named = |name: &str, prefix: &str| name.strip_prefix(prefix)?.parse().ok();
        match id.kind {
            // A replica is the provider's concern: it is another cluster's.
            Kind::ResourceSlice | Kind::Renew => match labels {
                Some(labels) if labels.get(names::REPLICATED_LABEL).is_some() => None,
                Some(_) => label(names::REPLICATION_DESTINATION_LABEL),
                None => named(&id.namespace, names::TENANT_NAMESPACE_PREFIX),
            },
            Kind::Identity => named(&id.name, names::CONTROL_PLANE_IDENTITY_PREFIX)
                .or_else(|| label(names::REMOTE_CLUSTER_ID_LABEL)),
            Kind::Secret if id.namespace == self.0.namespace => {
                named(&id.name, record::NAME_PREFIX)
                    .or_else(|| label(names::REMOTE_CLUSTER_ID_LABEL))
            }
            _ => label(names::REMOTE_CLUSTER_ID_LABEL),
        }
    }
}
