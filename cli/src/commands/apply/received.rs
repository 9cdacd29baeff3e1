//! An object that the other cluster's administrator sent, or this cluster's signer.

use liqo_auth::model::{CertificateSigningRequest, Identity, Kind, Renew, ResourceSlice, Tenant};

/// An object from a file.
pub(super) enum Received {
    Tenant(Box<Tenant>),
    Identity(Box<Identity>),
    ResourceSlice(Box<ResourceSlice>),
    Renew(Box<Renew>),
    /// From the cluster that the home represents.
    Request(Box<CertificateSigningRequest>),
}

impl Received {
    pub(super) fn kind_and_name(&self) -> (Kind, String) {
        match self {
            Self::Tenant(tenant) => (Kind::Tenant, tenant.metadata.name.clone()),
            Self::Identity(identity) => (Kind::Identity, identity.metadata.name.clone()),
            Self::ResourceSlice(slice) => (Kind::ResourceSlice, slice.metadata.name.clone()),
            Self::Renew(renew) => (Kind::Renew, renew.metadata.name.clone()),
            Self::Request(request) => (
                Kind::CertificateSigningRequest,
                request.metadata.name.clone(),
            ),
        }
    }
}
