//! The watches and look-ups of a provider, and the peers that a change concerns.

use super::Provider;
use crate::{
    machine::{Concerns, Interest, Mirror, Requirement, Watch},
    model::{ClusterId, Kind, Object, ObjectRef, names},
};

impl Provider {
    /// The watches of a controller, for all peers. The look-up of names has
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

    /// What to look up once, to see all of one peer, and of its peering user. If
    /// the peer's tenant namespace has another name than Liqo's, the Secrets in it
    /// belong to this as well.
    pub fn interests(&self, peer: &ClusterId) -> Vec<Interest> {
        let labelled = |kind, label, value: &str| Interest::Labelled {
            kind,
            label,
            value: value.to_owned(),
        };
        let of_peer = |kind| labelled(kind, names::REMOTE_CLUSTER_ID_LABEL, peer.as_str());
        let replica = |kind| labelled(kind, names::REPLICATION_ORIGIN_LABEL, peer.as_str());
        let role = |name| labelled(Kind::ClusterRole, names::APP_NAME_LABEL, name);
        let named = |kind, name| Interest::Named { kind, name };
        let namespace = names::tenant_namespace(peer);
        let user = names::peering_user(peer);
        let of_user = |kind| labelled(kind, names::PEERING_USER_LABEL, &user);
        let component = |kind| {
            let label = names::APP_COMPONENT_LABEL;
            labelled(kind, label, names::PEERING_USER_COMPONENT)
        };
        vec![
            of_peer(Kind::Namespace),
            of_peer(Kind::Secret),
            of_peer(Kind::ResourceSlice),
            replica(Kind::ResourceSlice),
            labelled(Kind::Secret, names::RECORD_PEER_LABEL, peer.as_str()),
            of_peer(Kind::RoleBinding),
            of_peer(Kind::ClusterRoleBinding),
            named(Kind::Tenant, peer.to_string()),
            of_peer(Kind::Tenant),
            replica(Kind::Renew),
            Interest::Object(self.0.record_id(peer)),
            // Also by name: an object without the label is not absent, and blocks
            // the creation of another one.
            Interest::Object(ObjectRef::new(Kind::Namespace, "", &namespace)),
            Interest::InNamespace {
                kind: Kind::Secret,
                namespace,
            },
            of_peer(Kind::CertificateSigningRequest),
            role(names::CONTROL_PLANE_ROLE),
            role(names::CLUSTER_WIDE_ROLE),
            of_user(Kind::RoleBinding),
            of_user(Kind::CertificateSigningRequest),
            named(Kind::RoleBinding, names::peering_user_reader(peer)),
            named(Kind::RoleBinding, names::peering_user_writer(peer)),
            named(Kind::CertificateSigningRequest, user.clone()),
            component(Kind::Role),
            component(Kind::ClusterRole),
        ]
    }

    /// The peers that a change of this object concerns, on the provider's side. A
    /// ClusterRole concerns all peers. A resource slice or a Renew that is no
    /// replica concerns no peer here: this cluster made it as a consumer.
    pub fn concerns(&self, object: &Object, mirror: &Mirror) -> Concerns {
        let is_replica = object.any_metadata().label(names::REPLICATED_LABEL) == Some(names::TRUE);
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

/// The value of [`names::MANAGED_BY_LABEL`] on the objects that this library
/// creates.
const OURS: &str = "liqo-auth";
