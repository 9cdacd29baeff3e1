//! How the clusters are set up, and the faults that are planted there.

/// How the clusters are set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setup {
    /// Kubernetes' own signer, by requests in the store, instead of a signer that
    /// answers at once.
    pub kubernetes_signer: bool,
    /// Whether the provider has a key to commit itself by.
    pub has_provider_key: bool,
    /// Whether the consumer knows the fingerprint of the provider's key.
    pub knows_provider: bool,
    /// Whether the tenant namespace of a hostile consumer has a name of its own.
    pub renames_namespace: bool,
    /// Whether the provider's cluster is a consumer of the hostile cluster, too.
    pub two_way: bool,
    /// Whether the nonce of a peering that has ended serves again.
    pub peer_again: bool,
    /// A planted fault.
    pub fault: Option<Fault>,
}

/// A planted fault in how the clusters are set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The signer signs a request again, and gives another certificate.
    ForgetfulSigner,
    /// The provider lets a nonce serve again, although it should not.
    ServesAgain,
    /// The provider's driver looks up no tenant namespaces but the peer's own.
    ForgetsNamespaces,
    /// The consumer's driver does not say which providers are consumers as well.
    ForgetsConsumers,
    /// The consumer signs the slices that anyone has made.
    SignsAnySlice,
}
