//! The rest of a peering's life, on the consumer's side: slices, renewals, the
//! end, keys and AWS, beside a provider that the test itself plays.

mod aws;
mod ending;
mod home;
mod keys;
mod later_keys;
#[cfg(feature = "rsa")]
mod recorded;
mod renew_now;
mod renewal;
mod slices;
