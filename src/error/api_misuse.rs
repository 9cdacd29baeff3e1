//! Incorrect calls of the library.

#[cfg(test)]
use super::family::every_fact;
use super::family::{Basis::NoRule, Facts, facts, family};
use crate::{crypto::CertificateError, model::ClusterId};

family! {
    /// An incorrect call of the library. An incorrect answer of an embedder's
    /// backend counts as an incorrect argument.
    #[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
    #[non_exhaustive]
    pub enum ApiMisuse {
        /// A cluster was asked to authenticate to itself.
        #[error("the peer is this cluster itself")]
        OwnCluster => {
            code: "own-cluster",
            rule: NoRule(CALLER),
            advice: "Name another cluster as the peer; the given cluster ID is this cluster's \
                     own.",
        },
        /// The view and the request are about different peers.
        #[error("the view and the request are about different peers")]
        OtherPeer => {
            code: "other-peer",
            rule: NoRule(CALLER),
            advice: "Make the view of the peer that the request names, and call again with that \
                     view.",
        },
        /// The message is for another cluster.
        #[error("the message is for {found}, and this cluster is {expected}")]
        OtherAddressee {
            /// The addressee.
            found: ClusterId,
            /// This cluster.
            expected: ClusterId,
        } => {
            code: "message-for-another-cluster",
            rule: NoRule(CALLER),
            advice: "Deliver each message to the cluster that it names as its addressee.",
        },
        /// The message is from another cluster than the peer of the view.
        #[error("the message is from {found}, and the view is of {expected}")]
        OtherSender {
            /// The sender.
            found: ClusterId,
            /// The peer of the view.
            expected: ClusterId,
        } => {
            code: "message-from-another-cluster",
            rule: NoRule(CALLER),
            advice: "Make the view of the peer that the message names as its sender, and call \
                     again with that view.",
        },
        /// This side does not receive such a message.
        #[error("this side does not receive a {message}")]
        UnexpectedMessage {
            /// The kind of message that was passed.
            message: &'static str,
        } => {
            code: "message-unexpected",
            rule: NoRule(CALLER),
            advice: "Give a Tenant to the provider, and a nonce or an Identity to the consumer.",
        },
        /// The name or namespace is not valid in Kubernetes, or the object to write
        /// could not be read.
        #[error("no API server request can carry out an effect on this object")]
        NotAddressable => {
            code: "object-not-addressable",
            rule: NoRule(CALLER),
            advice: "Pass a step's effects unchanged.",
        },
        /// The signer gave a certificate that does not fit its request.
        #[error("the signer's certificate does not fit its request: {0}")]
        SignerCertificate(CertificateError) as error => {
            code: "signer-certificate-refused",
            match error {
                CertificateError::NotYetValid { .. } => {
                    rule: NoRule(CALLER),
                    advice: "Compare the signer's clock with this cluster's, and look again once \
                             the certificate is valid.",
                }
                _ => {
                    rule: NoRule(CALLER),
                    advice: "Make the signer return a certificate for this request: with its \
                             subject and key, for client authentication, and valid now.",
                }
            }
        },
        /// The service accounts for home clusters of Liqo 0.2 are configured to be in
        /// the namespace of this cluster's own Secrets.
        #[error("the service accounts are in the namespace of this cluster's own Secrets")]
        AccountsInOwnNamespace => {
            code: "service-accounts-in-own-namespace",
            rule: NoRule(CALLER),
            advice: "Use a namespace that holds only the service accounts, since a home may read \
                     the Secret there that has the home's cluster ID as its name.",
        },
        /// The credential from a backend is incomplete, such as an AWS user without
        /// an ARN.
        #[error("the backend's credential lacks {expected}")]
        CredentialForm {
            /// The missing field.
            expected: &'static str,
        } => {
            code: "credential-malformed",
            rule: NoRule(CALLER),
            advice: "Make the backend return every field exactly as the issuer returned it.",
        },
    }
}

const CALLER: &str = "the rules are about what a peer sends, not about the caller";
