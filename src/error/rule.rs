//! The rules that hold in every policy.

/// A rule that holds in every policy.
///
/// [`Policy::compatible`](crate::policy::Policy::compatible) widens the forms
/// that are read. No policy changes which cluster may become which user.
///
/// `Display` is the rule's number, as in `rule 4`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, derive_more::Display)]
#[display("rule {}", self.number())]
#[non_exhaustive]
pub enum Rule {
    /// Rule 1. A certificate signing request asks for one organization and one
    /// common name, exactly those expected, each in an RDN of its own. It has
    /// version 0, and no other RDN, extension, attribute or alternative name.
    /// Its DER must equal the expected DER. The strict policy also requires
    /// canonical PEM.
    RequestContent,
    /// Rule 2. The signature of a certificate signing request is verified, and
    /// its key is the Tenant's key.
    RequestSignature,
    /// Rule 3. An Ed25519 key is in canonical encoding and neither of small nor
    /// of mixed order, and its signatures are verified strictly. An RSA key has
    /// 2048 to 4096 bits, a composite modulus and the exponent 65537. An ECDSA
    /// key is on P-256, P-384 or P-521. Sizes are checked before any arithmetic.
    KeyStrength,
    /// Rule 4. A nonce carries this provider's authentication code, or the
    /// embedder vouches for it, or for all running peerings of Liqo. It has not
    /// expired, is read only from the peer's own tenant namespace, and is accepted
    /// once. The same key, request and nonce succeed again while their Tenant
    /// exists. If the configuration
    /// [says so](crate::provider::ProviderConfig::peer_again), the nonce of a peering that has
    /// ended serves again, for a time, for the pinned key and a Tenant with another UID: unless
    /// there was a drain, a denial, a release, a succession or an end for good. A nonce is
    /// replaced only on request, or if it expired before its first Tenant arrived.
    Nonce,
    /// Rule 5. The key of a cluster ID is pinned. The pin outlasts the peering
    /// while a certificate or an access key may still be valid. Another key is
    /// accepted only if the pinned key signed it together with a fresh nonce, or
    /// after an administrator has released the pinned key.
    PinnedKey,
    /// Rule 6. The policy for a peer is the provider's own configuration, never
    /// a field that the peer wrote. `TolerateNoHandshake` counts only if that
    /// configuration names the peer. If the recorded condition and the Tenant's
    /// condition differ, the stricter one applies.
    OwnPolicy,
    /// Rule 7. A name that already belongs to a Kubernetes user or group is
    /// refused as a cluster ID and as the user of a resource slice. No two
    /// principals share a common name.
    UniquePrincipal,
    /// Rule 8. A consumer signs only a text that has the form of a nonce, is made
    /// for this provider and this consumer, and has not expired. It never signs
    /// arbitrary data.
    SignsNoncesOnly,
    /// Rule 9. A consumer stores an Identity only if the certificate carries the
    /// consumer's key and subject, is valid now, has a lifetime within the
    /// policy's limit, is for client authentication and is not a CA certificate.
    /// The URLs are safe to connect to. The CA bundle holds CA certificates only.
    /// The namespace is the expected one, unless the compatible policy accepts
    /// another, and the proxy is the one that this consumer asked for. An Identity
    /// never holds both a certificate and AWS keys. The first Identity pins the API
    /// server and the CA.
    IdentityContent,
    /// Rule 10. The provider never trusts data about a peer that the peer can
    /// write. Pins, proofs, used nonces, conditions and requests are in sealed
    /// records in the provider's own namespace. The provider writes them before
    /// it signs or issues anything. Nothing that a peer can write prevents the
    /// revocation of the peer's rights.
    OwnRecords,
    /// Rule 11. Tokens and authentication codes are compared in constant time.
    /// Secrets are wiped after use and never printed. All input has size limits.
    SecretsAndLimits,
}

impl Rule {
    /// The rule's number, 1 to 11, as `DESIGN.md` counts them.
    pub const fn number(self) -> u8 {
        match self {
            Self::RequestContent => 1,
            Self::RequestSignature => 2,
            Self::KeyStrength => 3,
            Self::Nonce => 4,
            Self::PinnedKey => 5,
            Self::OwnPolicy => 6,
            Self::UniquePrincipal => 7,
            Self::SignsNoncesOnly => 8,
            Self::IdentityContent => 9,
            Self::OwnRecords => 10,
            Self::SecretsAndLimits => 11,
        }
    }
}
