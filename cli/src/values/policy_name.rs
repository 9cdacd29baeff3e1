//! The policies by their names.

use clap::ValueEnum;
use liqo_auth::policy::Policy;
use serde::{Deserialize, Serialize};

/// Which forms of a peer's messages are accepted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum PolicyName {
    /// Only the forms that Liqo itself writes
    #[default]
    Strict,
    /// Also a closed list of harmless variants
    Compatible,
}

impl PolicyName {
    pub(crate) const fn policy(self) -> Policy {
        match self {
            Self::Strict => Policy::strict(),
            Self::Compatible => Policy::compatible(),
        }
    }
}
