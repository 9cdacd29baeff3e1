//! Faults of this side: something is broken, unreadable or contradictory.

#[cfg(test)]
use super::family::every_fact;
use super::{
    Backend, Rule,
    family::{
        Basis::{Broken, NoRule},
        Facts, facts, family,
    },
};
use crate::{crypto::TokenError, model::UrlError};

family! {
    /// A fault of this side: something is broken, unreadable or contradictory.
    #[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
    #[non_exhaustive]
    pub enum LocalFault {
        /// An object exists but cannot be read, so its content is unknown.
        #[error("the object exists but cannot be read: {reason}")]
        Unreadable {
            /// Why the object cannot be read.
            reason: String,
        } => {
            code: "object-unreadable",
            rule: NoRule(OWN_OBJECTS),
            advice: "Restore the object, or read it with the version that wrote it; delete it \
                     only if its whole content may be lost, including a pinned key.",
        },
        /// Two objects exist where only one is expected.
        #[error("only one such object is expected, but another one exists: {other}")]
        Ambiguous {
            /// The other object.
            other: String,
        } => {
            code: "object-ambiguous",
            rule: NoRule(OWN_OBJECTS),
            advice: "Compare the two objects, and remove the one that does not belong there.",
        },
        /// A record's seal does not verify. The seal covers the record, the
        /// peer's cluster ID and this cluster's own.
        #[error("the record's seal does not verify with this cluster ID and record key")]
        BrokenSeal => {
            code: "seal-broken",
            rule: Broken(Rule::OwnRecords),
            advice: "Check first that this cluster's ID is the one that the record was sealed \
                     with; only if the record key was changed, give the former key as a \
                     predecessor, and restore an edited record from a backup.",
        },
        /// An object that this library would write already exists with other content.
        #[error("an object of this name already exists with other content")]
        Conflict => {
            code: "object-conflict",
            rule: NoRule(OWN_OBJECTS),
            advice: "Find out what made the object; correct, rename or remove it only if nothing \
                     else needs it.",
        },
        /// The name of the peer's tenant namespace belongs to another Namespace.
        #[error("the Namespace is not the peer's tenant namespace: {holder}")]
        NamespaceHeld {
            /// What the Namespace's labels say about it.
            holder: String,
        } => {
            code: "tenant-namespace-held",
            rule: NoRule(OWN_OBJECTS),
            advice: "Delete this Namespace if nothing needs it; or make the peer's tenant \
                     namespace under another name, with both labels.",
        },
        /// The content of a token field is not a valid token.
        #[error("token: {0}")]
        Token(TokenError) => {
            code: "own-token-malformed",
            rule: NoRule(OWN_OBJECTS),
            advice: "Replace the content of the field with a token that Liqo made.",
        },
        /// The URL of a foreign cluster or its proxy is not safe to connect to.
        #[error("URL: {0}")]
        AuthUrl(UrlError) => {
            code: "auth-url-refused",
            rule: NoRule(OWN_OBJECTS),
            advice: "Correct this URL in the ForeignCluster.",
        },
        /// The identity was accepted, but its Secret no longer exists.
        #[error("the identity was accepted once, and its Secret is gone")]
        IdentityLost => {
            code: "identity-lost",
            rule: NoRule(OWN_OBJECTS),
            advice: "Restore the Secret from a backup; or have the foreign cluster's \
                     administrator delete the identity that was given, then set authStatus to \
                     Pending.",
        },
        /// The resource slice's name cannot be the name of an object, or cannot be the
        /// value of a label of the Identity.
        #[error("{found:?} cannot be the name of a resource slice")]
        SliceName {
            /// The name that was found, shortened and escaped.
            found: String,
        } => {
            code: "own-slice-name-malformed",
            rule: NoRule("the name is checked before any rule applies"),
            advice: "Name the slice with at most 51 lower-case letters, digits, dots and inner \
                     hyphens, with a letter or a digit before and after each dot.",
        },
        /// The peer has a peering user already.
        #[error("this cluster already has a peering user")]
        PeeringUserExists => {
            code: "peering-user-exists",
            rule: NoRule(OWN_OBJECTS),
            advice: "Use the existing peering user; or delete it first, which makes its \
                     kubeconfig useless.",
        },
        /// A kubeconfig cannot use the private key.
        #[error("the private key is not exportable, and no exec plugin is configured for it")]
        KeyNotExportable => {
            code: "key-not-exportable",
            rule: NoRule("no rule makes a key exportable"),
            advice: "Make the signing key name a file or an exec plugin that a kubeconfig can \
                     use.",
        },
        /// A kubeconfig that an administrator has made cannot be used.
        #[error("the kubeconfig cannot be used: {reason}")]
        KubeconfigUnusable {
            /// What is wrong. No text of the kubeconfig is in it.
            reason: String,
        } => {
            code: "kubeconfig-unusable",
            rule: NoRule(OWN_OBJECTS),
            advice: "Make the kubeconfig with one cluster, one user and one context, and with its \
                     certificates, key or token as data; then name its new digest in the \
                     settings.",
        },
        /// A backend of the embedder failed. The backend's error is the
        /// [`source`](core::error::Error::source).
        #[error("{backend}: {message:?}")]
        Backend {
            /// The backend that failed.
            backend: Backend,
            /// The message of the backend's error, shortened.
            message: String,
        } => {
            code: "backend-failed",
            rule: NoRule("a failing backend breaks no rule"),
            advice: "Look for the cause in the message and in the log of the backend that \
                     failed; the call may be tried again.",
        },
    }
}

const OWN_OBJECTS: &str = "the rules are about what a peer sends, not about this side's objects";
