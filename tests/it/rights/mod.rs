//! What a peer is given, and how it is withdrawn.

mod grants;
mod offloaded;
mod unreadable_namespace;
mod withdrawal;
