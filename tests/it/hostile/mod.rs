//! Attacks of a peer within the rights that Liqo's ClusterRoles give it.

mod condition_tokens;
mod nonces;
mod slice_names;
mod unreadable_slices;
mod unreadable_tenants;
