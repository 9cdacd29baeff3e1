//! The answers of keys and key stores, which arrive at once or later.

use super::{
    Awaited,
    plan::{Plan, Records},
};
use crate::{
    crypto::{Answer, BoxError, NotAtOnce, RequestId},
    error::{Backend, Error},
};

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

/// The object that a key signed. If the key answers later, the result is `None`,
/// and the plan waits for the signature.
pub(crate) fn signed<T, R: Records>(
    answer: Result<Answer<T>, BoxError>,
    plan: &mut Plan<R>,
    id: impl FnOnce() -> RequestId,
) -> Result<Option<T>, Error> {
    let signed = ready(answer)?;
    if signed.is_none() {
        plan.await_for(Awaited::Signature(id()));
    }
    Ok(signed)
}
