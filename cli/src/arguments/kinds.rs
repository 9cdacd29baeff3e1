//! The other names of Liqo's kinds: those of liqoctl, and the short names that their
//! CustomResourceDefinitions have for kubectl.

pub(super) const TENANT: [&str; 2] = ["tenants", "tn"];
pub(super) const TENANTS: [&str; 2] = ["tenant", "tn"];
pub(super) const IDENTITY: [&str; 2] = ["identities", "id"];
pub(super) const IDENTITIES: [&str; 2] = ["identity", "id"];
pub(super) const RESOURCE_SLICE: [&str; 3] = ["rs", "resourceslices", "rslice"];
pub(super) const RESOURCE_SLICES: [&str; 3] = ["rs", "resourceslice", "rslice"];
