//! An object that the other cluster's administrator sent.

use liqo_auth::model::{Identity, Kind, Renew, ResourceSlice, Tenant};

/// An object from a file.
pub(super) enum Received {
    Tenant(Box<Tenant>),
    Identity(Box<Identity>),
    ResourceSlice(Box<ResourceSlice>),
    Renew(Box<Renew>),
}

impl Received {
    pub(super) fn kind_and_name(&self) -> (Kind, String) {
        match self {
            Self::Tenant(tenant) => (Kind::Tenant, tenant.metadata.name.clone()),
            Self::Identity(identity) => (Kind::Identity, identity.metadata.name.clone()),
            Self::ResourceSlice(slice) => (Kind::ResourceSlice, slice.metadata.name.clone()),
            Self::Renew(renew) => (Kind::Renew, renew.metadata.name.clone()),
        }
    }
}
