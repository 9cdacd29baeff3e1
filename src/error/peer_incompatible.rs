//! Faults of messages and objects that an honest peer may send, but that this
//! side cannot use.

#[cfg(test)]
use super::family::every_fact;
use super::{
    CommitmentFault, Rule, SuccessionFault,
    family::{
        Basis::{Broken, NoRule},
        Facts, facts, family,
    },
};
use crate::{
    crypto::{Fingerprint, SignatureError},
    model::{NameError, Timestamp},
};

family! {
    /// A fault of a message or object that an honest peer may send, but that this
    /// side cannot use.
    #[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
    #[non_exhaustive]
    pub enum PeerIncompatible {
        /// A name, label or ID does not match the peer or the cluster.
        #[error("expected {expected:?}, found {found:?}")]
        NameMismatch {
            /// The name expected.
            expected: String,
            /// The name that was found, shortened and escaped.
            found: String,
        } => {
            code: "name-mismatch",
            rule: NoRule("the object is for somebody else, which breaks no rule by itself"),
            advice: "Check that the object is meant for this peer, and that nobody edited its \
                     names.",
        },
        /// The nonce has expired.
        #[error("the nonce expired at {at}")]
        NonceExpired {
            /// When the nonce expired.
            at: Timestamp,
        } => {
            code: "nonce-expired",
            rule: Broken(Rule::Nonce),
            advice: "Check this cluster's clock, have the provider make a new nonce and the \
                     consumer sign it; an unmodified consumer has to delete its Secret \
                     liqo-signed-nonce first.",
        },
        /// The provider has no nonce that the consumer could have signed.
        #[error("there is no nonce for this peer")]
        NonceMissing => {
            code: "nonce-missing",
            rule: Broken(Rule::Nonce),
            advice: "Make a nonce for this peer and have the consumer sign it; an unmodified \
                     consumer has to delete its Secret liqo-signed-nonce first.",
        },
        /// The signature over the nonce does not verify.
        #[error("signature over the nonce: {0}")]
        NonceSignature(SignatureError) => {
            code: "nonce-signature-wrong",
            rule: Broken(Rule::Nonce),
            advice: "Check that the Tenant is for this provider, and have the consumer sign this \
                     provider's present nonce and generate its Tenant again.",
        },
        /// The nonce names another provider or another consumer.
        #[error("the nonce names another provider or another consumer")]
        NonceForOthers => {
            code: "nonce-for-others",
            rule: Broken(Rule::SignsNoncesOnly),
            advice: "Ask this provider for a nonce that is meant for this cluster, and do not \
                     sign this one.",
        },
        /// The nonce was not made by this provider.
        #[error("the nonce does not carry this provider's authentication code")]
        NonceNotOurs => {
            code: "nonce-not-ours",
            rule: Broken(Rule::Nonce),
            advice: "Replace the nonce by one of this provider's own, and have the consumer sign \
                     the new nonce and generate its Tenant again.",
        },
        /// The nonce was already used for another key, request or Tenant, or it was
        /// replaced, or its peering has ended.
        #[error("the nonce was already used or replaced, or its peering has ended")]
        NonceUsed => {
            code: "nonce-used",
            rule: Broken(Rule::Nonce),
            advice: "Make a new nonce for this peer and have the consumer sign it; an unmodified \
                     consumer has to delete its Secret liqo-signed-nonce first.",
        },
        /// The cluster ID is pinned to another key.
        #[error("the cluster ID is pinned to the key {pinned}, but the received key is {found}")]
        KeyChanged {
            /// Fingerprint of the pinned key.
            pinned: String,
            /// Fingerprint of the key that was found.
            found: String,
        } => {
            code: "key-changed",
            rule: Broken(Rule::PinnedKey),
            advice: "Ask the peer's administrator over another channel whether the key was \
                     changed, and release the pinned key only if the answer is yes.",
        },
        /// The client certificate has expired.
        #[error(
            "client certificate: the certificate was valid until {not_after}; the present time is \
             {now}"
        )]
        CertificateExpired {
            /// Until when the certificate was valid.
            not_after: Timestamp,
            /// The present time.
            now: Timestamp,
        } => {
            code: "certificate-expired",
            rule: Broken(Rule::IdentityContent),
            advice: "Check this cluster's clock, and have the provider issue a new certificate.",
        },
        /// The client certificate is not valid yet. A clock may be wrong.
        #[error(
            "client certificate: the certificate is valid from {not_before} on; the present time \
             is {now}"
        )]
        CertificateNotYetValid {
            /// From when the certificate is valid.
            not_before: Timestamp,
            /// The present time.
            now: Timestamp,
        } => {
            code: "certificate-not-yet-valid",
            rule: Broken(Rule::IdentityContent),
            advice: "Compare the clocks of both clusters, and look again once the certificate is \
                     valid.",
        },
        /// The API server or the CA differs from the pinned one. An honest provider may change
        /// either.
        #[error("the value differs from the pinned one")]
        EndpointChanged => {
            code: "endpoint-changed",
            rule: Broken(Rule::IdentityContent),
            advice: "Ask the provider's administrator over another channel whether the API server \
                     or its CA was changed, and release the pins only if the answer is yes.",
        },
        /// The consumer claims that the pinned key signed its new key, and the claim
        /// does not verify.
        #[error("the succession of the key: {0}")]
        KeySuccession(SuccessionFault) => {
            code: "key-succession-refused",
            rule: Broken(Rule::PinnedKey),
            advice: "Have the consumer sign its new key with the key that is pinned here, over \
                     this provider's present nonce.",
        },
        /// The certificate signing request is for another key. A consumer that was made anew has
        /// another key.
        #[error(
            "certificate signing request: the request is for the key {found}, not for {expected}"
        )]
        CsrKey {
            /// The fingerprint of the key expected.
            expected: Fingerprint,
            /// The fingerprint of the key that was found.
            found: Fingerprint,
        } => {
            code: "csr-for-another-key",
            rule: Broken(Rule::RequestSignature),
            advice: "Have the consumer generate its request again, with its own cluster ID and \
                     key.",
        },
        /// The client certificate is for another key. An answer to an earlier request is.
        #[error("client certificate: the certificate is for the key {found}, not for {expected}")]
        CertificateKey {
            /// The fingerprint of this consumer's key.
            expected: Fingerprint,
            /// The fingerprint of the key that was found.
            found: Fingerprint,
        } => {
            code: "certificate-for-another-key",
            rule: Broken(Rule::IdentityContent),
            advice: "Have the provider generate the Identity again from this cluster's own \
                     request.",
        },
        /// The proxy is not the one that this consumer asked for.
        #[error("the proxy is not the one that was asked for")]
        ProxyMismatch => {
            code: "proxy-mismatch",
            rule: Broken(Rule::IdentityContent),
            advice: "Ask for this proxy when the Tenant is generated, or have the provider leave \
                     the proxy out.",
        },
        /// The new credentials are of another kind than the stored ones
        /// (certificate or AWS keys), or of another AWS user.
        #[error("the new credentials are of another kind or user than the stored ones")]
        OtherCredentials => {
            code: "credentials-replaced",
            rule: Broken(Rule::IdentityContent),
            advice: "Ask the provider's administrator over another channel whether the change is \
                     intended; if the answer is yes, end the peering on this side and \
                     authenticate again.",
        },
        /// The provider's commitment does not verify, or is another provider's.
        #[error("the provider's commitment: {0}")]
        Commitment(CommitmentFault) => {
            code: "commitment-refused",
            rule: NoRule("no rule requires a commitment, and Liqo itself has none"),
            advice: "Ask the provider's administrator over another channel for the fingerprint of \
                     the provider's key, and go on only if the fingerprint is the expected one.",
        },
        /// The provider's commitment is not in the Identity, although a key of this provider is
        /// known or its nonce commits to one.
        #[error("the Identity does not carry the provider's commitment")]
        CommitmentMissing => {
            code: "commitment-missing",
            rule: NoRule("no rule requires a commitment, and Liqo itself has none"),
            advice: "Authenticate by `liqo-auth authenticate`, since `liqoctl` does not carry the \
                     commitment; or compare the fingerprint of the provider's key with its \
                     administrator, and accept this provider without it \
                     (acceptUnprovenProvider).",
        },
        /// A namespace does not have the form of a namespace's name.
        #[error("namespace: {0}")]
        NamespaceName(NameError) => {
            code: "namespace-name-malformed",
            rule: Broken(Rule::IdentityContent),
            advice: "Have the provider generate the Identity again, with the name of its tenant \
                     namespace.",
        },
        /// The Identity is of another type than expected.
        #[error("an Identity of type {found} is not expected here")]
        IdentityType {
            /// The type that was found.
            found: String,
        } => {
            code: "identity-type-unexpected",
            rule: NoRule("the object is for another use, which breaks no rule by itself"),
            advice: "Have the provider generate the Identity of the control plane.",
        },
        /// The token is not this cluster's token.
        #[error("the token is not this cluster's")]
        WrongToken => {
            code: "token-wrong",
            rule: Broken(Rule::SecretsAndLimits),
            advice: "Give this cluster's token to the peer's administrator if the peer is meant \
                     to connect.",
        },
        /// The other cluster answered with an HTTP status other than success.
        #[error("the foreign cluster answered with the status {found}")]
        Status {
            /// The status that was found.
            found: u16,
        } => {
            code: "answer-status",
            rule: NoRule("the token protocol has no rule on statuses"),
            advice: "Find the reason in the foreign cluster's log, and then try again.",
        },
        /// The other cluster does not serve the paths of the token protocol.
        #[error("the foreign cluster and this cluster share no version of the token protocol")]
        NoTokenProtocol => {
            code: "token-protocol-unknown",
            rule: NoRule("the token protocol has no rule on versions"),
            advice: "Check the URL of the authentication service; Liqo 1.0 and later have no such \
                     service and authenticate by keys.",
        },
        /// The other cluster gave an identity to this cluster's ID already.
        #[error("the foreign cluster has already given an identity to this cluster ID")]
        SecondIdentity => {
            code: "identity-given-before",
            rule: NoRule("the token protocol gives each cluster ID one identity"),
            advice: "Have the foreign cluster's administrator delete the identity that was given, \
                     then set authStatus to Pending.",
        },
        /// The Identity carries neither a certificate nor AWS keys.
        #[error("the Identity carries neither a certificate nor an AWS user")]
        NoCertificate => {
            code: "credentials-missing",
            rule: NoRule("nothing was given that a rule could refuse"),
            advice: "Have the provider generate the Identity again once it has issued the \
                     certificate.",
        },
        /// The certificate is due for renewal, and the provider does not issue a new one:
        /// the provider renews in another way or not at all.
        #[error("the certificate was due for renewal at {since}, and no new one arrived")]
        RenewalUnanswered {
            /// When the certificate was due, or when a new one was asked for.
            since: Timestamp,
        } => {
            code: "renewal-unanswered",
            rule: NoRule("no rule makes a provider renew"),
            advice: "Authenticate with the provider again before the certificate ends, or update \
                     the older of the two clusters.",
        },
        /// The answer to a request for renewal could not be accepted.
        #[error("the answer to the renewal request of {since} could not be accepted")]
        RenewalUnusable {
            /// When a new certificate was asked for.
            since: Timestamp,
        } => {
            code: "renewal-unusable",
            rule: NoRule("the refused answer has its own error, which names the rule"),
            advice: "Authenticate with the provider again before the certificate ends, or update \
                     the older of the two clusters.",
        },
    }
}
