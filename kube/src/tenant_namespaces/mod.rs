//! The Secrets of tenant namespaces, for a controller that may read no others: a
//! RoleBinding and a watch in each tenant namespace.

mod account;
mod secrets;

pub(crate) use self::{account::Account, secrets::TenantSecrets};
