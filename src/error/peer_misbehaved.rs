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
        /// The nonce does not have the form of a nonce.
        #[error("nonce: {0}")]
        NonceForm(NonceError) => {
            code: "nonce-malformed",
            rule: Broken(Rule::SignsNoncesOnly),
            advice: "Take the nonce from the provider again and pass it on unchanged.",
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
        /// The Identity carries both a certificate and AWS keys.
        #[error("the Identity carries both a certificate and an AWS user")]
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
