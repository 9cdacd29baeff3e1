//! The cluster as which a person inspects.

use std::sync::Arc;

use liqo_auth::{
    crypto::{Fingerprint, KeyPair, PublicKey},
    error::Error,
    model::{ClusterId, Identity, Tenant},
};

/// A cluster that judges what its peers send. `F` is why it cannot judge.
pub trait Cluster<F> {
    /// The cluster's ID.
    fn id(&self) -> &ClusterId;

    /// Whether the cluster, as a provider, accepts the Tenant.
    ///
    /// # Errors
    /// The cluster cannot judge.
    fn judge_tenant(&self, consumer: &ClusterId, tenant: &Tenant) -> Result<Result<(), Error>, F>;

    /// Whether the cluster, as a consumer, accepts the Identity.
    ///
    /// # Errors
    /// The cluster cannot judge.
    fn judge_identity(
        &self,
        provider: &ClusterId,
        identity: &Identity,
    ) -> Result<Result<(), Error>, F>;

    /// What to do after the cluster has refused what a consumer sent.
    fn way_out_with_consumer(&self, consumer: &ClusterId, error: &Error) -> String;

    /// What to do after the cluster has refused what a provider sent.
    fn way_out_with_provider(&self, provider: &ClusterId, error: &Error) -> String;

    /// Whether a person told the cluster that this is the provider's key.
    fn is_told(&self, provider: &ClusterId, key: &Fingerprint) -> bool;

    /// The cluster's own key pairs towards this provider, or towards any: the present one first.
    /// None if they cannot be read.
    fn key_pairs(&self, provider: Option<&ClusterId>) -> Option<Vec<Arc<KeyPair>>>;

    /// The key that a consumer's requests must have: that of its Tenant, or the cluster's own.
    fn key_of(&self, consumer: &ClusterId) -> Option<PublicKey>;

    /// The Identity of that name.
    fn identity(&self, name: &str) -> Option<&Identity>;
}
