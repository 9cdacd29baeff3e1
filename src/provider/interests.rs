//! The watches and look-ups of a provider, and the peers that a change concerns.

use super::configuration::Configuration;
use crate::{
    machine::{Concerns, Interest, Mirror, Requirement, Watch},
    model::{ClusterId, Kind, Object, names},
};

impl Configuration {
    pub(super) fn watches(&self) -> Vec<Watch> {
        let roles = vec![names::CONTROL_PLANE_ROLE, names::CLUSTER_WIDE_ROLE];
        let mut watches = Watch::of_both_sides(self.namespace()).to_vec();
        watches.extend([
            Watch::all(Kind::Tenant),
            Watch::all(Kind::ResourceSlice),
            Watch::all(Kind::Renew),
            Watch::of_peers(Kind::RoleBinding),
            Watch::of_peers(Kind::ClusterRoleBinding),
            Watch::all(Kind::ClusterRole).with(Requirement::In(names::APP_NAME_LABEL, roles)),
            Watch::of_peers(Kind::CertificateSigningRequest)
                .with(Requirement::Equals(names::MANAGED_BY_LABEL, OURS)),
        ]);
        watches
    }

    pub(super) fn interests(&self, peer: &ClusterId) -> Vec<Interest> {
        let labelled = Interest::labelled;
        let of_peer = |kind| labelled(kind, names::REMOTE_CLUSTER_ID_LABEL, peer.as_str());
        let replica = |kind| labelled(kind, names::REPLICATION_ORIGIN_LABEL, peer.as_str());
        let role = |name| labelled(Kind::ClusterRole, names::APP_NAME_LABEL, name);
        let named = |kind, name| Interest::Named { kind, name };
        let user = names::peering_user(peer);
        let of_user = |kind| labelled(kind, names::PEERING_USER_LABEL, &user);
        let component = |kind| {
            let label = names::APP_COMPONENT_LABEL;
            labelled(kind, label, names::PEERING_USER_COMPONENT)
        };
        let mut interests = Interest::of_both_sides(peer, self.record_id(peer)).to_vec();
        interests.extend([
            of_peer(Kind::ResourceSlice),
            replica(Kind::ResourceSlice),
            labelled(Kind::Secret, names::RECORD_PEER_LABEL, peer.as_str()),
            of_peer(Kind::RoleBinding),
            of_peer(Kind::ClusterRoleBinding),
            named(Kind::Tenant, peer.to_string()),
            of_peer(Kind::Tenant),
            replica(Kind::Renew),
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
        ]);
        interests
    }

    /// A resource slice or a Renew that is no replica concerns no peer of the
    /// provider, since this cluster created the object as a consumer.
    pub(super) fn concerns(&self, object: &Object, mirror: &Mirror) -> Concerns {
        let is_replica = object.any_metadata().label(names::REPLICATED_LABEL) == Some(names::TRUE);
        match object.key().0 {
            Kind::Identity => Concerns::Nobody,
            Kind::ResourceSlice | Kind::Renew
                if !is_replica && object.as_unreadable().is_none() =>
            {
                Concerns::Nobody
            }
            _ => mirror.concerns(object).without(self.cluster_id()),
        }
    }
}

/// The value of [`names::MANAGED_BY_LABEL`] on the objects that this library
/// creates.
const OURS: &str = "liqo-auth";
