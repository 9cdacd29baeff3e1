//! Key stores: where the library finds the cluster's keys.

use std::sync::Arc;

use super::{Answer, BoxError, SigningKey};
use crate::model::ClusterId;

/// Finds the key that a cluster uses for a peer.
///
/// A store does not make keys: if a key is missing, the library waits
/// ([`Awaited::OwnKey`](crate::machine::Awaited::OwnKey)) until the embedder has
/// made it.
///
/// # Examples
/// The keys of a database, with one for each provider:
/// ```
/// use std::{collections::BTreeMap, sync::Arc};
/// use liqo_auth::{
///     crypto::{Answer, BoxError, Entropy, KeyPair, KeyStore, SigningKey},
///     model::{ClusterId, SecretText},
///     policy::Policy,
/// };
///
/// /// The table of the keys, by their providers.
/// struct Table(BTreeMap<ClusterId, Row>);
///
/// /// Private keys as PKCS#8 in PEM.
/// struct Row {
///     key: SecretText,
///     predecessor: Option<SecretText>,
/// }
///
/// impl Row {
///     fn read(pem: &SecretText) -> Result<Arc<dyn SigningKey>, BoxError> {
///         let pem = pem.expose().as_bytes();
///         Ok(Arc::new(KeyPair::from_pkcs8_pem(pem, &Policy::strict())?))
///     }
/// }
///
/// impl KeyStore for Table {
///     fn find(&self, peer: &ClusterId) -> Result<Answer<Arc<dyn SigningKey>>, BoxError> {
///         // Without a row, the key is not made yet. A failure of the database is an error.
///         Ok(match self.0.get(peer) {
///             Some(row) => Answer::Ready(Row::read(&row.key)?),
///             None => Answer::Pending,
///         })
///     }
///
///     fn predecessor(
///         &self,
///         peer: &ClusterId,
///     ) -> Result<Answer<Option<Arc<dyn SigningKey>>>, BoxError> {
///         let predecessor = self.0.get(peer).and_then(|row| row.predecessor.as_ref());
///         Ok(Answer::Ready(predecessor.map(Row::read).transpose()?))
///     }
/// }
///
/// let [earlier, key] = [1, 2].map(|byte| KeyPair::from_entropy(&Entropy::from_bytes([byte; 32])));
/// let (rome, milan): (ClusterId, ClusterId) = ("rome".parse()?, "milan".parse()?);
/// let row = Row {
///     key: key.to_pkcs8_pem(),
///     predecessor: Some(earlier.to_pkcs8_pem()),
/// };
/// let table = Table(BTreeMap::from([(rome.clone(), row)]));
/// assert_eq!(table.find(&rome)?.at_once()?.public_key(), key.public_key());
/// let predecessor = table.predecessor(&rome)?.at_once()?.ok_or("no predecessor")?;
/// assert_eq!(predecessor.public_key(), earlier.public_key());
/// assert!(matches!(table.find(&milan)?, Answer::Pending));
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
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
