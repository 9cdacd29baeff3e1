//! The keys that this cluster has towards a provider.

use std::sync::Arc;

use super::configuration::Configuration;
use crate::{crypto::SigningKey, error::Error, machine::answering::ready, model::ClusterId};

/// The present key, and the predecessor that the provider may still know.
#[derive(Clone)]
pub(crate) struct Keys {
    pub(super) current: Arc<dyn SigningKey>,
    pub(super) predecessor: Option<Arc<dyn SigningKey>>,
}

impl Keys {
    /// The present key without its predecessor.
    pub(super) fn current_only(&self) -> Self {
        Self {
            current: Arc::clone(&self.current),
            predecessor: None,
        }
    }
}

impl Configuration {
    /// The keys towards a provider. `None` if the key store has no key or has not
    /// answered yet.
    pub(super) fn find_keys(&self, peer: &ClusterId) -> Result<Option<Keys>, Error> {
        let Some(current) = ready(self.keys.find(peer))? else {
            return Ok(None);
        };
        let Some(predecessor) = ready(self.keys.predecessor(peer))? else {
            return Ok(None);
        };
        let predecessor = predecessor.filter(|key| key.public_key() != current.public_key());
        Ok(Some(Keys {
            current,
            predecessor,
        }))
    }
}
