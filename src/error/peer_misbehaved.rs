//! Faults of messages and objects that no honest peer sends.

#[cfg(test)]
use super::family::every_fact;
use super::{
    Rule,
    family::{
        Basis::{Broken, NoRule},
        Facts, facts, family,
    },
};
use crate::{
    crypto::{CertificateError, CsrError, KeyError, NonceError, SignatureError, TokenError},
    model::{DocumentError, KubeconfigError, NameError, UrlError},
};

family! {
    /// A fault of a message or object that no honest peer sends.
    #[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
    #[non_exhaustive]
    pub enum PeerMisbehaved {
        /// A name is not a cluster ID.
        #[error("not a cluster ID: {0}")]
        ClusterId(NameError) => {
            code: "cluster-id-malformed",
            rule: NoRule("the cluster ID is checked before any rule applies"),
            advice: "Have the peer generate the object again, with the cluster ID that its Liqo \
                     was installed with.",
        },
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
        /// The name of a resource slice cannot be the name of an object.
        #[error("not the name of an object: {found:?}")]
        SliceName {
            /// The name that was found, shortened and escaped.
            found: String,
        } => {
            code: "slice-name-malformed",
            rule: NoRule("the name is checked before any rule applies"),
            advice: "Have the consumer give the resource slice a name of lower-case letters, \
                     digits, '-' and '.'.",
        },
        /// The public key cannot be read, or is not strong enough.
        #[error("public key: {0}")]
        PublicKey(KeyError) as error => {
            code: "public-key-refused",
            match error {
                KeyError::FeatureNotEnabled { .. } => {
                    rule: Broken(Rule::KeyStrength),
                    advice: "Use a build of this library that has the feature; the consumer's \
                             keys can stay as they are.",
                }
                // The field decodes to a key, so it is probably not damaged.
                KeyError::Algorithm { .. }
                | KeyError::RsaModulusBits { .. }
                | KeyError::RsaExponent
                | KeyError::EcdsaCurve { .. } => {
                    rule: Broken(Rule::KeyStrength),
                    advice: "Compare the field with the consumer's own public key: only if both \
                             are equal does the consumer need other cluster keys (Ed25519, RSA of \
                             2048 to 4096 bits, or ECDSA on P-256, P-384 or P-521), and other keys \
                             break every peering that the consumer has.",
                }
                _ => {
                    rule: Broken(Rule::KeyStrength),
                    advice: "Have the consumer generate the object again, since the field is \
                             damaged; the consumer's cluster keys can stay as they are.",
                }
            }
        },
        /// The certificate signing request is not the one expected.
        #[error("certificate signing request: {0}")]
        Csr(CsrError) as error => {
            code: "csr-refused",
            match error {
                CsrError::Pem(_) | CsrError::StringType { .. } | CsrError::SubjectOrder => {
                    rule: Broken(Rule::RequestContent),
                    advice: "Have the consumer generate its request again; if the consumer is not \
                             Liqo itself, the compatible policy may accept the form.",
                }
                CsrError::SelfSignature(_) | CsrError::Key { .. } => {
                    rule: Broken(Rule::RequestSignature),
                    advice: "Have the consumer generate its request again, with its own cluster \
                             ID and key.",
                }
                _ => {
                    rule: Broken(Rule::RequestContent),
                    advice: "Have the consumer generate its request again, with its own cluster \
                             ID and key.",
                }
            }
        },
        /// The signature over the nonce does not verify.
        #[error("signature over the nonce: {0}")]
        NonceSignature(SignatureError) => {
            code: "nonce-signature-wrong",
            rule: Broken(Rule::Nonce),
            advice: "Check that the Tenant is for this provider, and have the consumer sign this \
                     provider's present nonce and generate its Tenant again.",
        },
        /// The nonce does not have the form of a nonce.
        #[error("nonce: {0}")]
        NonceForm(NonceError) => {
            code: "nonce-malformed",
            rule: Broken(Rule::SignsNoncesOnly),
            advice: "Take the nonce from the provider again and pass it on unchanged.",
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
        /// The token is not this cluster's token.
        #[error("the token is not this cluster's")]
        WrongToken => {
            code: "token-wrong",
            rule: Broken(Rule::SecretsAndLimits),
            advice: "Give this cluster's token to the peer's administrator if the peer is meant \
                     to connect.",
        },
        /// The origin token from the home cluster is not a valid token.
        #[error("token: {0}")]
        Token(TokenError) => {
            code: "token-malformed",
            rule: Broken(Rule::SecretsAndLimits),
            advice: "Have the home cluster send a token that Liqo made.",
        },
        /// The answer of the foreign cluster is not JSON of the form expected.
        #[error("the answer: {0}")]
        AnswerForm(DocumentError) => {
            code: "answer-malformed",
            rule: NoRule("the token protocol has no rule on the form of an answer"),
            advice: "Check that the URL is that of the foreign cluster's authentication service, \
                     and that no other server answers in between.",
        },
        /// A field of the answer is not base64.
        #[error("not base64 in the standard alphabet")]
        AnswerBase64 => {
            code: "answer-base64-malformed",
            rule: NoRule("the token protocol has no rule on the form of an answer"),
            advice: "Check that the URL is that of the foreign cluster's authentication service, \
                     and that no other server answers in between.",
        },
        /// The kubeconfig from the foreign cluster does not have the only form that
        /// this library reads.
        #[error("kubeconfig: {0}")]
        Kubeconfig(KubeconfigError) => {
            code: "kubeconfig-refused",
            rule: NoRule("the token protocol has no rule on the form of an answer"),
            advice: "Check that the URL is that of the foreign cluster's authentication service, \
                     and that no other server answers in between.",
        },
        /// The client certificate cannot be this consumer's. One that is outside of its time is in
        /// [`PeerIncompatible`](super::PeerIncompatible).
        #[error("client certificate: {0}")]
        Certificate(CertificateError) => {
            code: "certificate-refused",
            rule: Broken(Rule::IdentityContent),
            advice: "Have the provider generate the Identity again from this cluster's own \
                     request.",
        },
        /// The CA bundle holds anything other than CA certificates.
        #[error("CA bundle: {0}")]
        CaBundle(CertificateError) => {
            code: "ca-bundle-refused",
            rule: Broken(Rule::IdentityContent),
            advice: "Have the provider put the CA of its API server into the Identity, and \
                     nothing else.",
        },
        /// The URL of the API server or the proxy is not safe to connect to.
        #[error("URL: {0}")]
        Url(UrlError) => {
            code: "url-refused",
            rule: Broken(Rule::IdentityContent),
            advice: "Have the peer give the URL of its API server, or the URL of its proxy where \
                     the field asks for one, in the form that the message names.",
        },
        /// The proxy is not the one that this consumer asked for.
        #[error("the proxy is not the one that was asked for")]
        ProxyMismatch => {
            code: "proxy-mismatch",
            rule: Broken(Rule::IdentityContent),
            advice: "Ask for this proxy when the Tenant is generated, or have the provider leave \
                     the proxy out.",
        },
        /// The Identity carries both a certificate and AWS keys.
        #[error("a certificate and AWS keys exclude each other")]
        MixedCredentials => {
            code: "credentials-mixed",
            rule: Broken(Rule::IdentityContent),
            advice: "Have the provider generate the Identity with one kind of credentials.",
        },
        /// A field of the AWS user does not have the form that AWS gives it.
        #[error("the field is not {expected}")]
        AwsField {
            /// The form expected.
            expected: &'static str,
        } => {
            code: "aws-field-malformed",
            rule: Broken(Rule::IdentityContent),
            advice: "Have the provider generate the Identity again, with the user and key that \
                     AWS gave.",
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
        /// The consumer claims that the pinned key signed its new key, and the claim
        /// does not verify.
        #[error("the succession of the key: {0}")]
        KeySuccession(SuccessionFault) => {
            code: "key-succession-refused",
            rule: Broken(Rule::PinnedKey),
            advice: "Have the consumer sign its new key with the key that is pinned here, over \
                     this provider's present nonce.",
        },
    }
}

/// The fault of a provider's commitment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CommitmentFault {
    /// The commitment cannot be read.
    #[error("the text cannot be read")]
    Encoding,
    /// The commitment is missing, although this provider has to give one.
    #[error(
        "the commitment is missing, although a key of this provider is known or its nonce \
         commits to one"
    )]
    Missing,
    /// The commitment's key is not the one expected.
    #[error("the commitment was made with the key {found}, which is not the one expected")]
    OtherKey {
        /// Fingerprint of the key that was found.
        found: String,
    },
    /// The commitment's key is unusable.
    #[error("the key: {0}")]
    Key(KeyError),
    /// The commitment's signature does not verify over the received content.
    #[error("the signature: {0}")]
    Signature(SignatureError),
}

/// The fault of the succession of a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SuccessionFault {
    /// The succession cannot be read.
    #[error("the text cannot be read")]
    Encoding,
    /// The key that made the succession is not the pinned one.
    #[error("the succession was made with another key than the pinned one")]
    OtherKey,
    /// The signature does not verify over this key, nonce and pair of clusters.
    #[error("the signature: {0}")]
    Signature(SignatureError),
}
