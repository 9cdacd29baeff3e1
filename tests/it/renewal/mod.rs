//! How a provider renews its certificates.

mod at_provider;
mod renew_objects;
mod signed_again;
#[cfg(feature = "yaml")]
mod ten_years;
