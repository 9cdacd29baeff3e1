//! How a provider renews its certificates.

mod at_provider;
mod client_cas;
mod renew_objects;
mod signed_again;
#[cfg(feature = "yaml")]
mod ten_years;
