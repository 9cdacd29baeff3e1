//! A Tenant that signs the nonce of an invitation, where a home has lost this nonce.

use liqo_auth::provider::Phase;

use crate::{
    peering::provider_side::{ProviderSide, nonce_secret},
    remedies,
};

/// How the nonce comes back. None if it is there, or if nobody is invited. On a cluster, the
/// controllers make it again.
pub(super) fn way_out(provider: &ProviderSide<'_>) -> Option<String> {
    let (home, peer) = (&*provider.home, &provider.peer);
    let renew = remedies::run(home)?;
    let is_invited = provider
        .status()
        .is_ok_and(|status| matches!(status.phase, Phase::NeedsNonce(_)));
    (is_invited && nonce_secret(home, peer).is_none()).then(|| {
        format!(
            "missing: there is no nonce for this peer. {} has invited {peer}, and the nonce of the invitation is lost. The command that brings it back is {renew}. Then apply the Tenant again.",
            home.cluster_id()
        )
    })
}
