//! Types that hold only valid values, and the texts and numbers of Kubernetes.

pub(super) mod bytes;
pub(super) mod cluster_id;
pub(super) mod dns_name;
pub(super) mod hex;
pub(super) mod named;
pub mod names;
pub(super) mod namespace_name;
pub(super) mod quantity;
pub(super) mod secret_bytes;
pub(super) mod text_map;
pub(super) mod timestamp;
pub(super) mod token_protocol_version;
pub(super) mod url;
pub(super) mod value_error;
pub(super) mod wiped;
