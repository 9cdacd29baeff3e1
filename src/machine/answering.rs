//! The answers of backends, which arrive at once or later, and of which a look needs none.

use super::{
    Awaited,
    plan::{Plan, Records},
};
use crate::{
    crypto::{Answer, BoxError, NotAtOnce, RequestId},
    error::{Backend, Error},
};

impl<R: Records> Plan<R> {
    /// The same plan for a look: it does not ask a backend, so it awaits each answer for which a
    /// step asks.
    pub(crate) fn asking_nobody(mut self) -> Self {
        self.asks_nobody = true;
        self
    }

    /// The backend's answer to this question. A plan for a look does not ask.
    pub(crate) fn ask<T>(
        &self,
        question: impl FnOnce() -> Result<Answer<T>, BoxError>,
    ) -> Result<Answer<T>, BoxError> {
        match self.asks_nobody {
            true => Ok(Answer::Pending),
            false => question(),
        }
    }
}

/// The answer of a key or of a key store. The result is `None` while the answer is
/// awaited.
pub(crate) fn ready<T>(answer: Result<Answer<T>, BoxError>) -> Result<Option<T>, Error> {
    let failed = |error| Error::backend(Backend::Keys, error);
    match answer.map_err(failed)?.at_once() {
        Ok(value) => Ok(Some(value)),
        Err(NotAtOnce::Pending) => Ok(None),
        Err(denied) => Err(failed(denied.into())),
    }
}

/// The object that a key signs. If the key answers later, or the plan does not ask it, the
/// result is `None`, and the plan waits for the signature.
pub(crate) fn signed<T, R: Records>(
    sign: impl FnOnce() -> Result<Answer<T>, BoxError>,
    plan: &mut Plan<R>,
    id: impl FnOnce() -> RequestId,
) -> Result<Option<T>, Error> {
    let signed = ready(plan.ask(sign))?;
    if signed.is_none() {
        plan.await_for(Awaited::Signature(id()));
    }
    Ok(signed)
}
