//! The keys that this cluster has towards a provider.

use std::sync::Arc;

use crate::{
    consumer::Consumer,
    crypto::{Answer, BoxError, SigningKey},
    error::{Backend, Error},
    model::ClusterId,
};

/// The present key, and the one that the provider may still know.
#[derive(Clone)]
pub(in crate::consumer) struct Keys {
    pub(in crate::consumer) current: Arc<dyn SigningKey>,
    pub(in crate::consumer) predecessor: Option<Arc<dyn SigningKey>>,
}

impl Keys {
    /// The same without the key that is on its way out.
    pub(in crate::consumer) fn current_only(&self) -> Self {
        Self {
            current: Arc::clone(&self.current),
            predecessor: None,
        }
    }
}

impl Consumer {
    pub(in crate::consumer) fn find_keys(&self, peer: &ClusterId) -> Result<Option<Keys>, Error> {
        let failed = |error: BoxError| Error::backend(Backend::Keys, error);
        let Answer::Ready(current) = self.0.keys.find(peer).map_err(failed)? else {
            return Ok(None);
        };
        let predecessor = self.0.keys.predecessor(peer).map_err(failed)?;
        let Answer::Ready(predecessor) = predecessor else {
            return Ok(None);
        };
        let predecessor = predecessor.filter(|key| key.public_key() != current.public_key());
        Ok(Some(Keys {
            current,
            predecessor,
        }))
    }
}
