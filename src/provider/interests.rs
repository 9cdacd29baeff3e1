//! What to look up for a peer, and whom an object concerns.

use super::{Provider, record};
use crate::{
    machine::{Interest, View},
    model::{ClusterId, Kind, Object, ObjectRef, ResourceSlice, names},
};

impl Provider {
    /// What to look up, to see all of one peer.
    pub fn interests(&self, peer: &ClusterId) -> Vec<Interest> {
        let labelled = |kind, label, value: &str| Interest::Labelled {
            kind,
            label,
            value: value.to_owned(),
        };
        let namespace = names::tenant_namespace(peer);
        vec![
            labelled(
                Kind::Namespace,
                names::REMOTE_CLUSTER_ID_LABEL,
                peer.as_str(),
            ),
            labelled(Kind::Secret, names::REMOTE_CLUSTER_ID_LABEL, peer.as_str()),
            labelled(
                Kind::ResourceSlice,
                names::REMOTE_CLUSTER_ID_LABEL,
                peer.as_str(),
            ),
            labelled(
                Kind::ResourceSlice,
                names::REPLICATION_ORIGIN_LABEL,
                peer.as_str(),
            ),
            labelled(Kind::Secret, names::RECORD_PEER_LABEL, peer.as_str()),
            labelled(
                Kind::RoleBinding,
                names::REMOTE_CLUSTER_ID_LABEL,
                peer.as_str(),
            ),
            labelled(
                Kind::ClusterRoleBinding,
                names::REMOTE_CLUSTER_ID_LABEL,
                peer.as_str(),
            ),
            Interest::Named {
                kind: Kind::Tenant,
                name: peer.to_string(),
            },
            labelled(Kind::Tenant, names::REMOTE_CLUSTER_ID_LABEL, peer.as_str()),
            labelled(Kind::Renew, names::REPLICATION_ORIGIN_LABEL, peer.as_str()),
            Interest::Object(self.0.record_id(peer)),
            // By name as well: what stands there without its label is in the
            // way, and not absent.
            Interest::Object(ObjectRef::new(Kind::Namespace, "", &namespace)),
            Interest::Object(ObjectRef::new(
                Kind::Secret,
                &namespace,
                names::NONCE_SECRET,
            )),
            Interest::Object(ObjectRef::new(
                Kind::Secret,
                &namespace,
                names::ISSUED_CERTIFICATE_SECRET,
            )),
            labelled(
                Kind::ClusterRole,
                names::APP_NAME_LABEL,
                names::CONTROL_PLANE_ROLE,
            ),
            labelled(
                Kind::ClusterRole,
                names::APP_NAME_LABEL,
                names::CLUSTER_WIDE_ROLE,
            ),
        ]
    }

    /// What to look up besides, once the peer's slices were seen: the Secrets of
    /// their certificates by name. What stands there without its label is in
    /// the way, and not absent.
    pub fn slice_interests(&self, view: &View<'_>) -> Vec<Interest> {
        let namespace = match view.tenant_namespace() {
            Ok(Some(namespace)) => namespace.metadata.name.clone(),
            _ => names::tenant_namespace(view.peer()),
        };
        view.readable::<ResourceSlice>()
            .filter(|slice| slice.metadata.namespace == namespace)
            .map(|slice| {
                let name = names::issued_certificate_secret_of_slice(&slice.metadata.name);
                Interest::Object(ObjectRef::new(Kind::Secret, namespace.as_str(), name))
            })
            .collect()
    }

    /// Whom a change of this object concerns, if anyone: by its name where the
    /// name says it, also of an object that cannot be read, and else by its
    /// label. A ClusterRole concerns every peer, and is nobody's here; nor is a
    /// resource slice that is no replica.
    pub fn peer_of(&self, object: &Object) -> Option<ClusterId> {
        let id = object.id();
        let named = match id.kind {
            Kind::Tenant => Some(id.name.as_str()),
            Kind::Secret if id.namespace == self.0.namespace => {
                id.name.strip_prefix(record::NAME_PREFIX)
            }
            _ => None,
        };
        if let Some(peer) = named {
            return peer.parse().ok();
        }
        let labels = &object.metadata()?.labels;
        let key = match id.kind {
            Kind::Secret
                if id.namespace == self.0.namespace
                    && id.name.starts_with(record::SLICE_NAME_PREFIX) =>
            {
                names::RECORD_PEER_LABEL
            }
            Kind::ResourceSlice => {
                let replica = labels.get(names::REPLICATED_LABEL).map(String::as_str);
                if replica != Some(names::TRUE) {
                    return None;
                }
                names::REPLICATION_ORIGIN_LABEL
            }
            _ => names::REMOTE_CLUSTER_ID_LABEL,
        };
        labels.get(key)?.parse().ok()
    }
}
