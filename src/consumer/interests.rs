//! The objects that a consumer reads, and the peers that a change concerns.

use super::configuration::Configuration;
use crate::{
    machine::{Concerns, Interest, Mirror, Watch},
    model::{ClusterId, Kind, Object, names},
};

impl Configuration {
    pub(super) fn watches(&self) -> Vec<Watch> {
        let mut watches = Watch::of_both_sides(self.namespace()).to_vec();
        watches.extend([Kind::Identity, Kind::ResourceSlice, Kind::Renew].map(Watch::all));
        watches
    }

    pub(super) fn interests(&self, peer: &ClusterId) -> Vec<Interest> {
        let replicated = |kind| {
            let label = names::REPLICATION_DESTINATION_LABEL;
            Interest::labelled(kind, label, peer.as_str())
        };
        let named = |kind| Interest::Named {
            kind,
            name: names::identity_name(peer),
        };
        let label = names::REMOTE_CLUSTER_ID_LABEL;
        let mut interests = Interest::of_both_sides(peer, self.record_id(peer)).to_vec();
        interests.extend([
            Interest::labelled(Kind::Identity, label, peer.as_str()),
            named(Kind::Identity),
            replicated(Kind::ResourceSlice),
            replicated(Kind::Renew),
            named(Kind::Renew),
        ]);
        interests
    }

    /// A replica of a resource slice or of a Renew belongs to another cluster. The
    /// replica concerns this cluster only as a provider.
    pub(super) fn concerns(&self, object: &Object, mirror: &Mirror) -> Concerns {
        let is_replica = object
            .any_metadata()
            .labels
            .contains_key(names::REPLICATED_LABEL);
        match object.key().0 {
            Kind::Namespace | Kind::Secret | Kind::Identity => {
                mirror.concerns(object).without(self.cluster_id())
            }
            Kind::ResourceSlice | Kind::Renew if !is_replica => {
                mirror.concerns(object).without(self.cluster_id())
            }
            _ => Concerns::Nobody,
        }
    }
}
