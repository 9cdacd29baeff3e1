//! What a person may want to know of a step.

use core::fmt;
use std::collections::BTreeMap;

use serde::Serialize;

use crate::{
    crypto::Fingerprint,
    error::Error,
    model::{Amounts, ObjectRef, Quantity, TenantCondition, Timestamp},
};

/// A fact that a person may want to know. No notice is an error.
///
/// `Display` says it in a sentence, with what a person can do, for callers of all kinds. The
/// reason why an Identity [will not be renewed](Self::CannotRenew) has its advice in another
/// sentence. A text that a peer may have written is escaped.
///
/// Whoever shows notices is told by the compiler of a new one, as with
/// [`Remedy`](super::Remedy).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum Notice {
    /// The nonce was replaced. An unmodified consumer signs the new nonce only
    /// after its Secret `liqo-signed-nonce` is deleted.
    SignedNonceIsStale,
    /// An empty nonce Secret asks for a nonce, as in Liqo, although the peering has
    /// ended. Only [`Provider::invite`](crate::Provider::invite) admits such a peer
    /// again.
    NonceAskedAfterEnd,
    /// No ClusterRole exists to which the peer could be bound. The peer has a
    /// certificate, but no rights.
    NoClusterRole {
        /// The value of the label `app.kubernetes.io/name` that the role must have.
        label_value: &'static str,
    },
    /// The recorded condition is stricter than the Tenant's, and applies. Only an
    /// administrator of this side can relax it
    /// ([`Provider::set_condition`](crate::Provider::set_condition)).
    ConditionHeld {
        /// The condition that applies.
        condition: TenantCondition,
    },
    /// The provider did not prove that it has its own key.
    ProviderUnproven,
    /// The provider proved that it has a key which nobody has confirmed. This side
    /// trusts the key from now on. Compare its fingerprint over another channel.
    ProviderKeyFirstSeen {
        /// The key.
        fingerprint: Fingerprint,
    },
    /// No CA of the bundle issued the client certificate. This is allowed: the
    /// serving CA and the client CA may differ.
    IssuedByAnotherCa,
    /// The certificate was renewed, but the consumer has no Renew object through
    /// which it could receive the certificate. Deliver the Identity again.
    RenewalNotCarried,
    /// The certificate of an Identity is due for renewal, and a person has to
    /// deliver the next one.
    CertificateDue {
        /// The Identity.
        identity: ObjectRef,
        /// When its certificate expires.
        until: Timestamp,
    },
    /// The certificate of an Identity will not be renewed.
    CannotRenew {
        /// The Identity.
        identity: ObjectRef,
        /// When its certificate expires.
        until: Timestamp,
        /// The reason.
        error: Error,
    },
    /// Liqo granted this to a resource slice beyond the caps, before the peering was taken
    /// over. The slice gets it when an administrator of this side confirms it
    /// ([`Provider::confirm_slice`](crate::Provider::confirm_slice)).
    GrantUnconfirmed {
        /// The slice.
        slice: ObjectRef,
        /// The whole amount of each resource.
        resources: BTreeMap<String, Quantity>,
    },
    /// A resource slice stays cordoned, although somebody has removed the annotation: the peer
    /// may write it, so only [`Provider::uncordon_slice`](crate::Provider::uncordon_slice)
    /// lifts the cordon. A step has the notice when it sets the annotation again.
    SliceCordonHeld {
        /// The slice.
        slice: ObjectRef,
    },
    /// The peer has reached its rate limit for the requests of its slices. The next
    /// request has to wait.
    SignaturesWait {
        /// When the next request is taken.
        until: Timestamp,
    },
    /// The provider knows an earlier key of this cluster. This side sends the new
    /// key in answer to the provider's next nonce.
    NewKeyAwaitsNonce,
    /// The tenant namespace has a kubeconfig that is not made from an Identity. It counts if an
    /// administrator has made it, and this cluster's settings
    /// [name its digest](crate::consumer::PeerSettings::kubeconfig_digest).
    KubeconfigNotNamed {
        /// The Secret with the kubeconfig.
        secret: ObjectRef,
        /// The SHA-256 of the kubeconfig.
        digest: Fingerprint,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SignedNonceIsStale => formatter.write_str(
                "The nonce was replaced: on a consumer with Liqo, the administrator must delete the Secret liqo-signed-nonce before the consumer can sign the new nonce.",
            ),
            Self::NonceAskedAfterEnd => formatter.write_str(
                "A nonce was requested for a peer whose peering has ended: if the peer may come back, invite it.",
            ),
            Self::NoClusterRole { label_value } => write!(
                formatter,
                "There is no ClusterRole with the label app.kubernetes.io/name={label_value}: until it is created, the peer has a certificate, but no rights."
            ),
            Self::ConditionHeld { condition } => write!(
                formatter,
                "The tenant stays {condition:?} until this cluster's administrator uncordons it: the condition in its Tenant has no effect."
            ),
            Self::ProviderUnproven => formatter.write_str(
                "The provider gave no proof of its own key: compare the CA's fingerprint with its administrator.",
            ),
            Self::ProviderKeyFirstSeen { fingerprint } => write!(
                formatter,
                "The provider proved the key {fingerprint}, which is pinned from now on: compare it with the fingerprint that the provider's administrator tells you."
            ),
            Self::IssuedByAnotherCa => formatter.write_str(
                "The client certificate was not issued by a CA of the bundle: that is legal if the API server's certificate comes from another CA.",
            ),
            Self::RenewalNotCarried => formatter.write_str(
                "The certificate was renewed, but no Renew object carries it to the consumer: generate its Identity again, and send it to the consumer.",
            ),
            Self::CertificateDue { identity, until } => write!(
                formatter,
                "The certificate of {identity} is due for renewal and expires at {until}: carry the provider's next certificate to this cluster before that."
            ),
            Self::CannotRenew {
                identity,
                until,
                error,
            } => write!(
                formatter,
                "The certificate of {identity} expires at {until}, and will not be renewed: {error}. {}",
                error.advice()
            ),
            Self::GrantUnconfirmed { slice, resources } => write!(
                formatter,
                "Liqo granted {} to {slice}, more than this cluster's settings keep: the slice gets it again when an administrator confirms it.",
                Amounts(resources)
            ),
            Self::SliceCordonHeld { slice } => write!(
                formatter,
                "{slice} stays cordoned until this cluster's administrator uncordons it: its annotation has no effect."
            ),
            Self::SignaturesWait { until } => write!(
                formatter,
                "The peer has sent more requests for resource slices than this cluster signs at once: the next one is signed at {until}."
            ),
            Self::NewKeyAwaitsNonce => formatter.write_str(
                "The provider still has this cluster's earlier key: this cluster sends its new key with the provider's next nonce.",
            ),
            Self::KubeconfigNotNamed { secret, digest } => write!(
                formatter,
                "{secret} has a kubeconfig that does not count: if you made it, name its digest in the settings of this provider (kubeconfigDigest: {digest})."
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{error::ApiMisuse, model::Kind};

    #[test]
    fn each_notice_is_a_sentence() {
        let identity = ObjectRef::new(Kind::Identity, "a", "b");
        let until: Timestamp = "2026-11-20T13:00:00Z".parse().unwrap();
        let fingerprint = Fingerprint::from_bytes([0xab; 32]);
        for (notice, expected) in [
            (
                Notice::SignedNonceIsStale,
                "The nonce was replaced: on a consumer with Liqo, the administrator must delete the Secret liqo-signed-nonce before the consumer can sign the new nonce.",
            ),
            (
                Notice::NonceAskedAfterEnd,
                "A nonce was requested for a peer whose peering has ended: if the peer may come back, invite it.",
            ),
            (
                Notice::NoClusterRole {
                    label_value: "virtual-kubelet-remote",
                },
                "There is no ClusterRole with the label app.kubernetes.io/name=virtual-kubelet-remote: until it is created, the peer has a certificate, but no rights.",
            ),
            (
                Notice::ConditionHeld {
                    condition: TenantCondition::Drained,
                },
                "The tenant stays Drained until this cluster's administrator uncordons it: the condition in its Tenant has no effect.",
            ),
            (
                Notice::ProviderUnproven,
                "The provider gave no proof of its own key: compare the CA's fingerprint with its administrator.",
            ),
            (
                Notice::ProviderKeyFirstSeen { fingerprint },
                "The provider proved the key SHA256:abababababababababababababababababababababababababababababababab, which is pinned from now on: compare it with the fingerprint that the provider's administrator tells you.",
            ),
            (
                Notice::IssuedByAnotherCa,
                "The client certificate was not issued by a CA of the bundle: that is legal if the API server's certificate comes from another CA.",
            ),
            (
                Notice::RenewalNotCarried,
                "The certificate was renewed, but no Renew object carries it to the consumer: generate its Identity again, and send it to the consumer.",
            ),
            (
                Notice::CertificateDue {
                    identity: identity.clone(),
                    until,
                },
                "The certificate of Identity a/b is due for renewal and expires at 2026-11-20T13:00:00Z: carry the provider's next certificate to this cluster before that.",
            ),
            (
                Notice::CannotRenew {
                    identity,
                    until,
                    error: Error::new(ApiMisuse::OwnCluster, None, ""),
                },
                "The certificate of Identity a/b expires at 2026-11-20T13:00:00Z, and will not be renewed: misuse of the library: the peer is this cluster itself. Name another cluster as the peer; the given cluster ID is this cluster's own.",
            ),
            (
                Notice::GrantUnconfirmed {
                    slice: ObjectRef::new(Kind::ResourceSlice, "a", "b"),
                    resources: [("cpu", "16"), ("a\u{1b}", "1\n")]
                        .map(|(resource, amount)| (resource.to_owned(), amount.into()))
                        .into(),
                },
                "Liqo granted a\\u{1b}=1\\n, cpu=16 to ResourceSlice a/b, more than this cluster's settings keep: the slice gets it again when an administrator confirms it.",
            ),
            (
                Notice::SliceCordonHeld {
                    slice: ObjectRef::new(Kind::ResourceSlice, "a", "b"),
                },
                "ResourceSlice a/b stays cordoned until this cluster's administrator uncordons it: its annotation has no effect.",
            ),
            (
                Notice::SignaturesWait { until },
                "The peer has sent more requests for resource slices than this cluster signs at once: the next one is signed at 2026-11-20T13:00:00Z.",
            ),
            (
                Notice::NewKeyAwaitsNonce,
                "The provider still has this cluster's earlier key: this cluster sends its new key with the provider's next nonce.",
            ),
            (
                Notice::KubeconfigNotNamed {
                    secret: ObjectRef::new(Kind::Secret, "a", "b"),
                    digest: fingerprint,
                },
                "Secret a/b has a kubeconfig that does not count: if you made it, name its digest in the settings of this provider (kubeconfigDigest: SHA256:abababababababababababababababababababababababababababababababab).",
            ),
        ] {
            assert_eq!(notice.to_string(), expected);
        }
    }
}
