//! What a provider watches and looks up, and whom a change concerns.

use super::Provider;
use crate::{
    machine::{Concerns, Interest, Mirror, Requirement, Watch},
    model::{ClusterId, Kind, Object, ObjectRef, names},
};

impl Provider {
    /// What a controller watches, for all peers. The look-up of names has
    /// watches of its own ([`NameRegistry`](super::NameRegistry)).
    ///
    /// # Examples
    /// ```
    /// # use liqo_auth::{crypto::{Authority, Entropy, RecordKey}, provider::{Endpoint, Provider}};
    /// # let now = "2026-11-20T13:00:00Z".parse()?;
    /// # let day = core::time::Duration::from_secs(86_400);
    /// # let ca = Authority::new("ca", now, day, &Entropy::from_bytes([7; 32]))?;
    /// # let endpoint = Endpoint::new("https://172.19.0.3:6443".parse()?, Some(ca.ca_bundle()));
    /// # let builder = Provider::builder("cl-provider".parse()?, endpoint, RecordKey::new([1; 32])?);
    /// let provider = builder.build();
    /// let watches: Vec<String> = provider.watches().iter().map(ToString::to_string).collect();
    /// assert!(watches.contains(&"tenants".to_owned()));
    /// assert!(watches.contains(&"secrets in liqo with liqo-auth/peer".to_owned()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn watches(&self) -> Vec<Watch> {
        let of_peers =
            |kind| Watch::all(kind).with(Requirement::Exists(names::REMOTE_CLUSTER_ID_LABEL));
        vec![
            of_peers(Kind::Namespace),
            Watch::all(Kind::Secret)
                .in_namespace(self.0.namespace.as_str())
                .with(Requirement::Exists(names::RECORD_PEER_LABEL)),
            of_peers(Kind::Secret),
            Watch::all(Kind::Tenant),
            Watch::all(Kind::ResourceSlice),
            Watch::all(Kind::Renew),
            of_peers(Kind::RoleBinding),
            of_peers(Kind::ClusterRoleBinding),
            Watch::all(Kind::ClusterRole).with(Requirement::In(
                names::APP_NAME_LABEL,
                vec![names::CONTROL_PLANE_ROLE, names::CLUSTER_WIDE_ROLE],
            )),
            of_peers(Kind::CertificateSigningRequest)
                .with(Requirement::Equals(names::MANAGED_BY_LABEL, OURS)),
        ]
    }

    /// What to look up once, to see all of one peer. If the peer's tenant
    /// namespace has another name than Liqo's, the Secrets in it belong to this
    /// as well.
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
            Interest::InNamespace {
                kind: Kind::Secret,
                namespace,
            },
            labelled(
                Kind::CertificateSigningRequest,
                names::REMOTE_CLUSTER_ID_LABEL,
                peer.as_str(),
            ),
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

    /// Whom a change of this object concerns, as a provider. A ClusterRole
    /// concerns everybody. A resource slice or a Renew that is no replica is this
    /// cluster's own, and concerns it as a consumer.
    pub fn concerns(&self, object: &Object, mirror: &Mirror) -> Concerns {
        let labels = &object.any_metadata().labels;
        let is_replica =
            labels.get(names::REPLICATED_LABEL).map(String::as_str) == Some(names::TRUE);
        match object.key().0 {
            Kind::Identity => Concerns::Nobody,
            Kind::ResourceSlice | Kind::Renew
                if !is_replica && object.as_unreadable().is_none() =>
            {
                Concerns::Nobody
            }
            _ => mirror.concerns(object).without(&self.0.cluster_id),
        }
    }
}

/// The value of [`names::MANAGED_BY_LABEL`] on what is this library's own.
const OURS: &str = "liqo-auth";
