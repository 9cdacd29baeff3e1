//! Whether the token protocol is on.

/// Whether the token protocol is on. It is off by default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TokenProtocol {
    /// The protocol is off. A foreign cluster answers 404 to every request, and a
    /// home cluster does not send requests.
    #[default]
    Off,
    /// The protocol is on. A holder of a cluster's token gets an identity for any
    /// cluster ID that has no identity yet.
    TrustWhoeverHoldsTheToken,
}
