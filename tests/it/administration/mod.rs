//! What a provider's administrator does apart from the handshake.

mod peering_users;
