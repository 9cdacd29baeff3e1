//! Key stores: where the library finds the cluster's keys.

use std::sync::Arc;

use super::{Answer, BoxError, SigningKey};
use crate::model::ClusterId;

/// Finds the key that a cluster uses for a peer.
///
/// A store makes no keys: if a key is missing, the library waits
/// ([`Awaited::OwnKey`](crate::machine::Awaited::OwnKey)) until the embedder has
/// made it.
pub trait KeyStore: Send + Sync {
    /// The key for this peer; [`Answer::Pending`] while the key does not exist, or
    /// while the store searches.
    ///
    /// # Errors
    /// The reason why the store could not search. An error never counts as an absent
    /// key.
    fn find(&self, peer: &ClusterId) -> Result<Answer<Arc<dyn SigningKey>>, BoxError>;

    /// The earlier key that the peer still knows, if it differs from the key of
    /// [`find`](Self::find). The earlier key signs the new key, and stays in use
    /// until the peer has accepted the new key.
    ///
    /// # Errors
    /// The reason why the store could not search.
    fn predecessor(
        &self,
        peer: &ClusterId,
    ) -> Result<Answer<Option<Arc<dyn SigningKey>>>, BoxError> {
        let _ = peer;
        Ok(Answer::Ready(None))
    }
}

/// One key of the cluster for every peer, as in Liqo.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use liqo_auth::crypto::{Entropy, KeyPair, KeyStore, OneKey};
///
/// let key = KeyPair::from_entropy(&Entropy::from_bytes([7; 32]));
/// let store = OneKey(Arc::new(key));
/// assert!(store.find(&"cl-provider".parse()?)?.at_once().is_ok());
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[derive(Clone, derive_more::Debug)]
#[debug("OneKey({:?})", _0.public_key())]
pub struct OneKey(pub Arc<dyn SigningKey>);

impl KeyStore for OneKey {
    fn find(&self, _peer: &ClusterId) -> Result<Answer<Arc<dyn SigningKey>>, BoxError> {
        Ok(Answer::Ready(Arc::clone(&self.0)))
    }
}
