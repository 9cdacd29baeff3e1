//! The nonce that a consumer signs (rule 8).

use crate::{
    crypto::{Nonce, StructuredNonce},
    error::{CommitmentFault, Error, Fault, PeerIncompatible, PeerMisbehaved},
    model::{ClusterId, ObjectRef, Timestamp},
    policy::Policy,
};

/// The expected content of a nonce.
#[derive(Debug, Clone, Copy)]
pub struct NonceExpectation<'a> {
    /// The provider that made the nonce.
    pub provider: &'a ClusterId,
    /// The consumer that is to sign the nonce: this cluster.
    pub consumer: &'a ClusterId,
    /// The present time.
    pub now: Timestamp,
    /// Whether a key of the provider is known. If so, the nonce has to commit to a
    /// key.
    pub provider_key_known: bool,
}

/// Verifies that a text may be signed: the text must have the form of a nonce. A
/// nonce of this library must also name these two clusters, and must not have
/// expired.
///
/// # Errors
/// [`PeerMisbehaved::NonceForm`], [`PeerIncompatible::NonceForOthers`],
/// [`PeerIncompatible::Commitment`] or [`PeerIncompatible::NonceExpired`].
///
/// # Examples
/// ```
/// use liqo_auth::{policy::Policy, verify::{self, NonceExpectation}};
///
/// let expectation = NonceExpectation {
///     provider: &"cl-provider".parse()?,
///     consumer: &"cl-consumer".parse()?,
///     now: "2026-11-20T13:00:00Z".parse()?,
///     provider_key_known: false,
/// };
/// let jwt = b"eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJhZG1pbiJ9";
/// assert!(verify::nonce_to_sign(jwt, &expectation, &Policy::compatible()).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn nonce_to_sign(
    text: &[u8],
    expectation: &NonceExpectation<'_>,
    policy: &Policy,
) -> Result<Nonce, Error> {
    nonce_at(text, expectation, policy, None)
}

/// As [`nonce_to_sign`]. An error names the object that contains the text.
pub(crate) fn nonce_at(
    text: &[u8],
    expectation: &NonceExpectation<'_>,
    policy: &Policy,
    object: Option<ObjectRef>,
) -> Result<Nonce, Error> {
    let at = |fault: Fault| Error::new(fault, object.clone(), "data.nonce");
    let nonce =
        Nonce::parse(text, policy).map_err(|error| at(PeerMisbehaved::NonceForm(error).into()))?;
    let structured = nonce.structured();
    if let Some(structured) = structured {
        if !structured.is_for(expectation.provider, expectation.consumer) {
            return Err(at(PeerIncompatible::NonceForOthers.into()));
        }
        let expires = structured.expires();
        if expires <= expectation.now {
            return Err(at(PeerIncompatible::NonceExpired { at: expires }.into()));
        }
    }
    if expectation.provider_key_known && !structured.is_some_and(StructuredNonce::commits) {
        let fault = PeerIncompatible::Commitment(CommitmentFault::Missing);
        return Err(at(fault.into()));
    }
    Ok(nonce)
}
