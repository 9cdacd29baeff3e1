//! What a provider's administrator does beside the handshake.

mod peering_users;
