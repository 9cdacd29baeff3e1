//! How a provider renews what it issued.

mod at_provider;
mod renew_objects;
#[cfg(feature = "yaml")]
mod ten_years;
