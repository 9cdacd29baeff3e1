//! Attacks of a peer within the rights that Liqo's ClusterRoles give it.

mod budgets;
mod condition_tokens;
mod courses;
#[cfg(feature = "rsa")]
mod foreign_keys;
mod foreign_tenants;
mod large_requests;
mod many_slices;
mod nonces;
mod other_names;
mod other_names_unrecorded;
mod planted_secrets;
mod returning_tenants;
mod signing_rate;
mod slice_names;
mod unreadable_slices;
mod unreadable_tenants;
mod withheld_commitments;
