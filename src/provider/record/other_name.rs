//! A Tenant whose name is not the peer's ID.

use serde::{Deserialize, Serialize};

use crate::model::{ClusterId, Kind, Metadata, ObjectRef, Tenant};

/// A Tenant that has another name than the peer's ID. No other Tenant has its UID.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OtherName {
    pub(crate) uid: String,
    namespace: String,
    name: String,
}

impl OtherName {
    /// What the record keeps of a Tenant; `None` if its name is the peer's ID, or if it has no
    /// UID yet.
    pub(crate) fn of(tenant: &Tenant, peer: &ClusterId) -> Option<Self> {
        let Metadata {
            uid,
            namespace,
            name,
            ..
        } = &tenant.metadata;
        (name != peer.as_str() && !uid.is_empty()).then(|| Self {
            uid: uid.clone(),
            namespace: namespace.clone(),
            name: name.clone(),
        })
    }

    /// Whether an object with this metadata has the place of the Tenant.
    pub(crate) fn is_at(&self, metadata: &Metadata) -> bool {
        (&self.namespace, &self.name) == (&metadata.namespace, &metadata.name)
    }

    /// Whether the place has another object, so that the Tenant is gone.
    pub(crate) fn is_replaced_by(&self, metadata: &Metadata) -> bool {
        self.is_at(metadata) && !metadata.uid.is_empty() && metadata.uid != self.uid
    }

    /// The place of the Tenant.
    pub(crate) fn id(&self) -> ObjectRef {
        ObjectRef::new(Kind::Tenant, &self.namespace, &self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenant_is_kept_by_its_uid_and_its_place() {
        let peer = "cl01".parse().unwrap();
        let tenant = |name: &str, uid: &str| Tenant {
            metadata: Metadata {
                name: name.to_owned(),
                namespace: "t".to_owned(),
                uid: uid.to_owned(),
                ..Metadata::default()
            },
            ..Tenant::default()
        };
        assert_eq!(OtherName::of(&tenant("cl01", "1"), &peer), None);
        assert_eq!(OtherName::of(&tenant("my-tenant", ""), &peer), None);
        let other = OtherName::of(&tenant("my-tenant", "1"), &peer).unwrap();
        assert_eq!(other.id().to_string(), "Tenant t/my-tenant");
        assert!(other.is_at(&tenant("my-tenant", "2").metadata));
        assert!(!other.is_at(&tenant("another", "1").metadata));
        let mut elsewhere = tenant("my-tenant", "1").metadata;
        elsewhere.namespace = "u".to_owned();
        assert!(!other.is_at(&elsewhere));
    }
}
