//! The outcome of a request.

use core::fmt;

use super::RequestError;
use crate::{
    error::{Error, PeerIncompatible, PeerMisbehaved},
    model::{ClusterId, ProtocolVersion},
};

/// The outcome of a request, for logs and audits. It contains no token.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// A home cluster received its identity.
    Issued {
        /// The home cluster.
        peer: ClusterId,
        /// The protocol form of the request.
        version: ProtocolVersion,
    },
    /// The token was wrong.
    WrongToken {
        /// The cluster ID in the request.
        peer: ClusterId,
        /// Whether the token was empty. An honest home cluster first asks with the
        /// empty token.
        is_empty: bool,
    },
    /// The cluster ID has an identity already.
    SecondIdentity {
        /// The cluster ID.
        peer: ClusterId,
    },
    /// The token was right, but another part of the request was refused.
    Refused {
        /// The cluster ID in the request.
        peer: ClusterId,
        /// The reason.
        error: Error,
    },
    /// The request could not be read.
    Malformed(RequestError),
}

impl Outcome {
    /// The outcome as an error, with fault and advice. None if an identity was
    /// given, or if the request could not be read.
    pub fn error(&self) -> Option<Error> {
        match self {
            Self::Issued { .. } | Self::Malformed(_) => None,
            Self::WrongToken { .. } => {
                let field = "destinationClusterToken";
                Some(Error::new(PeerMisbehaved::WrongToken, None, field))
            }
            Self::SecondIdentity { .. } => {
                Some(Error::new(PeerIncompatible::SecondIdentity, None, ""))
            }
            Self::Refused { error, .. } => Some(error.clone()),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Issued { peer, version } => {
                write!(formatter, "{peer} was given its identity (form {version})")
            }
            Self::WrongToken {
                peer,
                is_empty: true,
            } => write!(formatter, "{peer} asked with the empty token"),
            Self::WrongToken { peer, .. } => write!(formatter, "{peer} asked with a wrong token"),
            Self::SecondIdentity { peer } => {
                write!(formatter, "{peer} asked for a second identity")
            }
            Self::Refused { peer, error } => write!(formatter, "{peer} was refused: {error}"),
            Self::Malformed(error) => write!(formatter, "a request could not be read: {error}"),
        }
    }
}
