//! What came of a request.

use core::fmt;

use super::RequestError;
use crate::{
    error::{Error, PeerIncompatible, PeerMisbehaved},
    model::{ClusterId, ProtocolVersion},
};

/// What came of a request, for logs and audits. No token is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// A home cluster was given its identity.
    Issued {
        /// The home cluster.
        peer: ClusterId,
        /// The form in which it asked.
        version: ProtocolVersion,
    },
    /// The token was not the right one.
    WrongToken {
        /// The cluster ID in the request.
        peer: ClusterId,
        /// Whether the token was empty: an honest home cluster asks so first.
        is_empty: bool,
    },
    /// The cluster ID has an identity already.
    SecondIdentity {
        /// The cluster ID.
        peer: ClusterId,
    },
    /// The token was right, and the rest was refused.
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
    /// What was wrong, as an error: with whose fault it is and what can be done.
    /// Nothing for an identity that was given and a request that could not be
    /// read.
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
