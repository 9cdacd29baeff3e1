//! How a provider renews its certificates.

mod at_provider;
mod renew_objects;
#[cfg(feature = "yaml")]
mod ten_years;
