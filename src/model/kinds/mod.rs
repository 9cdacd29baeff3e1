//! The kinds of objects, one in each file, and the parts that all kinds share.

pub(super) mod auth_params;
pub(super) mod certificate_signing_request;
pub(super) mod config_map;
pub(super) mod foreign_cluster;
pub(super) mod identity;
pub(super) mod metadata;
pub(super) mod namespace;
pub(super) mod namespace_map;
pub(super) mod object;
pub(super) mod renew;
pub(super) mod resource_slice;
pub(super) mod role;
pub(super) mod role_binding;
pub(super) mod secret;
pub(super) mod service_account;
pub(super) mod tenant;
