//! A peering after the handshake, on the consumer's side: slices, renewals, the
//! end, keys and AWS. The tests themselves act as the provider.

mod addresses;
mod aws;
#[cfg(feature = "yaml")]
mod by_hand;
mod ending;
mod home;
mod key_choice;
mod keys;
mod late_nonces;
mod later_keys;
#[cfg(feature = "rsa")]
mod older_kubeconfigs;
mod proxies;
mod recorded;
mod renew_now;
mod renewal;
mod slices;
mod verified;
