//! What a provider's administrator does apart from the handshake.

pub(crate) mod peering_users;
