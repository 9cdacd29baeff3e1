//! What a hostile cluster may do, and the faults that are planted.

/// What the hostile cluster is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hostile {
    Nobody,
    Consumer,
    Provider,
    /// A consumer of the provider's cluster that is its provider as well.
    Both,
}

impl Hostile {
    pub fn is_none(self) -> bool {
        self == Self::Nobody
    }

    pub fn is_consumer(self) -> bool {
        matches!(self, Self::Consumer | Self::Both)
    }

    pub fn is_provider(self) -> bool {
        matches!(self, Self::Provider | Self::Both)
    }
}

/// A deed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    /// A hostile consumer answers this nonce with a Tenant.
    Answer { nonce: u32, how: Answer },
    /// A hostile consumer writes in its tenant namespace at the provider.
    WriteAtProvider(WriteAtProvider),
    /// A hostile provider sends a message.
    Send(Forgery),
    /// A hostile provider sends a nonce of somebody else as its own.
    Relay { nonce: u32 },
    /// A hostile provider writes in its tenant namespace at the consumer.
    WriteAtConsumer(WriteAtConsumer),
}

/// How a nonce is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// As an honest consumer with its first key does.
    Honestly,
    /// As an honest consumer with its second key does.
    WithOtherKey,
    /// With the first key and the second key's signature of the nonce.
    WithOtherSignature,
    /// With a request for the honest consumer's name.
    ForOtherName,
    /// Under the honest consumer's name.
    AsOther,
}

/// What is written in the tenant namespace at the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteAtProvider {
    /// The nonce Secret with this nonce; with a finalizer, or without.
    Nonce {
        message: u32,
        stays: bool,
    },
    /// The empty nonce Secret, by which Liqo asks for a nonce.
    EmptyNonce {
        stays: bool,
    },
    DeleteNonce,
    /// The Secret with the certificate gets another content.
    SpoilCertificate,
    DeleteCertificate,
    /// A slice with a request by the first key, or by the second.
    Slice {
        by_other_key: bool,
        stays: bool,
    },
    /// A slice that cannot be read.
    UnreadableSlice,
    /// The slice loses its labels.
    UnlabelSlice,
    DeleteSlice,
    /// A NamespaceMap, by which Liqo binds the peer's group in an offloaded namespace.
    NamespaceMap {
        stays: bool,
    },
    /// The NamespaceMap loses its labels.
    UnlabelNamespaceMap,
    /// A Renew with a request by the second key.
    Renew,
    /// The Tenant says Active.
    ActiveTenant,
    /// The Tenant cannot be read any more.
    UnreadableTenant,
    /// The Tenant names the second key.
    OtherKeyInTenant,
    /// A Tenant of the honest consumer's name in the hostile consumer's own namespace.
    TenantOfOther {
        is_readable: bool,
    },
    /// A Tenant of the hostile consumer's name in a namespace of no peer.
    TenantElsewhere,
    /// A Tenant of a cluster that does not exist.
    TenantOfNobody,
    /// A slice that looks like the honest consumer's.
    SliceOfOther,
}

/// A message of a hostile provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forgery {
    /// A nonce for this consumer. There are two of them.
    OwnNonce(u8),
    /// A nonce that names another consumer.
    NonceForOther,
    /// A nonce that names the honest provider, made without its key.
    NonceOfProvider,
    /// The Identity that an honest provider would send.
    Identity,
    IdentityForOtherKey,
    /// An Identity for the key that the cluster has towards all other providers.
    IdentityForClusterKey,
    IdentityForOtherName,
    IdentityAtUnsafeUrl,
    IdentityThatHasEnded,
    IdentityInOtherNamespace,
    IdentityAtOtherServer,
    /// An Identity in the honest provider's name.
    IdentityOfProvider,
}

/// What is written in the tenant namespace at the consumer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteAtConsumer {
    /// The Secret of signed nonces with a nonce for somebody else.
    NonceForOther,
    DeleteSignedNonce,
    DeleteKubeconfig,
    /// A Renew that carries a certificate for another key.
    RenewForOtherKey,
    /// A slice that looks like the consumer's own.
    Slice,
    /// The same, with a request that the consumer has signed once.
    SliceAgain,
    /// A kubeconfig that leads elsewhere; with Liqo's labels and owner, or without.
    Kubeconfig {
        is_owned: bool,
    },
    /// The consumer's nonce with another signature.
    OtherSignature,
    /// A nonce of another provider with the cluster's signature of it.
    SignatureForOther,
    /// The name of the provider's own key, in the tenant namespace.
    KeyOfProvider,
    /// The names of both sides' records, in the tenant namespace.
    Records,
}

/// A planted fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plant {
    /// The driver skips the version check, and writes over what is there.
    IgnoresVersions,
    /// The driver skips the deletion of bindings.
    KeepsRights,
    /// The driver leaves NamespaceMaps as they are.
    KeepsNamespaceMaps,
    /// The provider's own namespace is restored from an old copy, in which the first
    /// nonce is on offer.
    RestoresOffer,
    /// The same, with a copy of a record without any condition; the Tenant, too, says
    /// Active.
    RestoresActive,
    /// The driver has a request signed before its Tenant was verified.
    SignsUnproven,
    /// The consumer's key is used for another cluster as well.
    SharesKey,
    /// The driver stores an Identity that the library did not take.
    StoresUnverified,
    /// The network loses every Identity.
    LosesIdentities,
    /// The network changes the API server in every Identity.
    ChangesEndpoint,
    /// A second Tenant of a peer lies in a namespace of no peer.
    MisplacesTenant,
    /// The driver writes no kubeconfig anew.
    KeepsKubeconfigs,
}
