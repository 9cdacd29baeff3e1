//! What a consumer does beside the exchange: transcripts.

use liqo_auth::assurance::transcript::Transcript;

use super::ConsumerSide;
use crate::failure::Result;

impl ConsumerSide<'_> {
    /// What was agreed on with the peer, as far as it is here.
    pub(crate) fn transcript(&self) -> Result<Option<Transcript>> {
        self.machine
            .transcript(&self.view())
            .map_err(|error| self.failure(&error))
    }
}
