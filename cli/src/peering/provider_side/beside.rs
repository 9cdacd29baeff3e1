//! The provider's transcript of an agreement, which is not part of the exchange.

use liqo_auth::assurance::transcript::Transcript;

use super::ProviderSide;
use crate::failure::Result;

impl ProviderSide<'_> {
    /// The transcript of the agreement with the peer. None if this home does not
    /// have all parts of it.
    pub(crate) fn transcript(&self) -> Result<Option<Transcript>> {
        self.machine
            .transcript(&self.view())
            .map_err(|error| self.failure(&error))
    }
}
