//! The keys that this cluster has towards a provider, and what they sign.

use std::sync::Arc;

use crate::{
    consumer::{configuration::Configuration, look::Look, record::Plan},
    crypto::{Answer, BoxError, Csr, NotAtOnce, SignatureId, SigningKey, Subject},
    error::{Backend, Error},
    machine::Awaited,
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

impl Configuration {
    /// The keys towards a provider; none while the key store has none.
    pub(in crate::consumer) fn find_keys(&self, peer: &ClusterId) -> Result<Option<Keys>, Error> {
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

impl Look<'_> {
    /// The first of the requests that are kept which is the right one for the
    /// key, or a new one; none while the key has not answered.
    pub(in crate::consumer) fn csr<'k>(
        &self,
        subject: &Subject,
        key: &dyn SigningKey,
        kept: impl IntoIterator<Item = &'k [u8]>,
        plan: &mut Plan<'_>,
    ) -> Result<Option<Csr>, Error> {
        let public = key.public_key();
        let mut kept = kept
            .into_iter()
            .filter_map(|pem| Csr::verify(pem, subject, public, self.policy()).ok());
        match kept.next() {
            Some(csr) => Ok(Some(csr)),
            None => made(Csr::make(subject, key), plan, || {
                Csr::signature_id(subject, public)
            }),
        }
    }
}

/// What a key signed. If the key answers later, there is nothing yet, and the
/// plan waits for the signature.
pub(in crate::consumer) fn made<T>(
    answer: Result<Answer<T>, BoxError>,
    plan: &mut Plan<'_>,
    id: impl FnOnce() -> SignatureId,
) -> Result<Option<T>, Error> {
    let made = ready(answer)?;
    if made.is_none() {
        plan.await_for(Awaited::Signature(id()));
    }
    Ok(made)
}

fn ready<T>(answer: Result<Answer<T>, BoxError>) -> Result<Option<T>, Error> {
    let failed = |error| Error::backend(Backend::Keys, error);
    match answer.map_err(failed)?.at_once() {
        Ok(value) => Ok(Some(value)),
        Err(NotAtOnce::Pending) => Ok(None),
        Err(denied) => Err(failed(denied.into())),
    }
}
