//! Whether the token protocol is spoken at all.

/// Whether the token protocol is spoken at all. Both sides are silent unless
/// someone chose otherwise.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TokenProtocol {
    /// It is not: a foreign cluster answers 404 to everything, a home cluster
    /// asks nothing.
    #[default]
    Off,
    /// It is: whoever holds the token of a cluster is let in, under any cluster
    /// ID that has no identity yet.
    TrustWhoeverHoldsTheToken,
}
