//! The names of the renewal schemes, on the command line and in the settings.

use clap::ValueEnum;
use liqo_auth::consumer::RenewalScheme;
use serde::{Deserialize, Serialize};

/// Who renews the certificates that this cluster has from a provider.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(
    clippy::enum_variant_names,
    reason = "the names are those of the renewal schemes"
)]
pub(crate) enum RenewalName {
    /// The provider's answers show it
    #[default]
    ByEvidence,
    /// The provider, as Liqo since 1.2
    ByProvider,
    /// This cluster asks, as Liqo 1.0 and 1.1
    ByConsumer,
    /// A person, who authenticates again
    ByHand,
}

impl RenewalName {
    pub(crate) const fn scheme(self) -> RenewalScheme {
        match self {
            Self::ByEvidence => RenewalScheme::ByEvidence,
            Self::ByProvider => RenewalScheme::ByProvider,
            Self::ByConsumer => RenewalScheme::ByConsumer,
            Self::ByHand => RenewalScheme::ByHand,
        }
    }

    pub(crate) fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}
