//! The consumer's functions that are not part of the exchange: transcripts.

use liqo_auth::assurance::transcript::Transcript;

use super::ConsumerSide;
use crate::failure::Result;

impl ConsumerSide<'_> {
    /// The transcript of the agreement with the peer. None if this home does not
    /// have all parts of it.
    pub(crate) fn transcript(&self) -> Result<Option<Transcript>> {
        self.machine
            .transcript(&self.view())
            .map_err(|error| self.failure(&error))
    }
}
