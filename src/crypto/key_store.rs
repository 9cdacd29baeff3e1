//! Where a cluster finds its keys.

use core::fmt;
use std::{collections::BTreeMap, sync::Arc};

use super::{Answer, BoxError, SigningKey};
use crate::model::ClusterId;

/// Finds the key that a cluster uses towards a peer.
///
/// The store only finds: a missing key is awaited
/// ([`Awaited::OwnKey`](crate::machine::Awaited::OwnKey)), and made by the embedder.
pub trait KeyStore: Send + Sync {
    /// The key for this peer; [`Answer::Pending`] while there is none, or while
    /// the store looks.
    ///
    /// # Errors
    /// What kept the store from looking. It is never taken for an absent key.
    fn find(&self, peer: &ClusterId) -> Result<Answer<Arc<dyn SigningKey>>, BoxError>;

    /// The key that the peer still knows this cluster by, if it is another one
    /// than [`find`](Self::find) gives: it signs the new one, and serves until
    /// the peer has taken that.
    ///
    /// # Errors
    /// What kept the store from looking.
    fn predecessor(
        &self,
        peer: &ClusterId,
    ) -> Result<Answer<Option<Arc<dyn SigningKey>>>, BoxError> {
        let _ = peer;
        Ok(Answer::Ready(None))
    }
}

/// The cluster's one key, for every peer: what Liqo does.
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
#[derive(Clone)]
pub struct OneKey(pub Arc<dyn SigningKey>);

impl KeyStore for OneKey {
    fn find(&self, _peer: &ClusterId) -> Result<Answer<Arc<dyn SigningKey>>, BoxError> {
        Ok(Answer::Ready(Arc::clone(&self.0)))
    }
}

/// One key for each peer that has an entry; the others' keys are awaited.
impl KeyStore for BTreeMap<ClusterId, Arc<dyn SigningKey>> {
    fn find(&self, peer: &ClusterId) -> Result<Answer<Arc<dyn SigningKey>>, BoxError> {
        Ok(match self.get(peer) {
            Some(key) => Answer::Ready(Arc::clone(key)),
            None => Answer::Pending,
        })
    }
}

impl fmt::Debug for OneKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("OneKey")
            .field(self.0.public_key())
            .finish()
    }
}
