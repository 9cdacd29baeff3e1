//! The outcome of a request.

use super::RequestError;
use crate::{
    error::{Error, PeerIncompatible},
    model::{ClusterId, ProtocolVersion},
};

/// The outcome of a request, for logs and audits. It does not contain a token.
#[derive(Debug, Clone, PartialEq, Eq, derive_more::Display)]
#[non_exhaustive]
pub enum Outcome {
    /// A home cluster received its identity.
    #[display("{peer} was given its identity (form {version})")]
    Issued {
        /// The home cluster.
        peer: ClusterId,
        /// The protocol form of the request.
        version: ProtocolVersion,
    },
    /// The token was wrong.
    #[display("{peer} asked with {} token", if *is_empty { "the empty" } else { "a wrong" })]
    WrongToken {
        /// The cluster ID in the request.
        peer: ClusterId,
        /// Whether the token was empty. An honest home cluster first asks with the
        /// empty token.
        is_empty: bool,
    },
    /// The cluster ID has an identity already.
    #[display("{peer} asked for a second identity")]
    SecondIdentity {
        /// The cluster ID.
        peer: ClusterId,
    },
    /// The token was right, but another part of the request was refused.
    #[display("{peer} was refused: {error}")]
    Refused {
        /// The cluster ID in the request.
        peer: ClusterId,
        /// The reason.
        error: Error,
    },
    /// The request could not be read.
    #[display("a request could not be read: {_0}")]
    Malformed(RequestError),
}

impl Outcome {
    /// The outcome as an error, with its fault and advice. `None` if an identity was
    /// given, or if the request could not be read.
    pub fn error(&self) -> Option<Error> {
        match self {
            Self::Issued { .. } | Self::Malformed(_) => None,
            Self::WrongToken { .. } => {
                let field = "destinationClusterToken";
                Some(Error::new(PeerIncompatible::WrongToken, None, field))
            }
            Self::SecondIdentity { .. } => {
                Some(Error::new(PeerIncompatible::SecondIdentity, None, ""))
            }
            Self::Refused { error, .. } => Some(error.clone()),
        }
    }
}
