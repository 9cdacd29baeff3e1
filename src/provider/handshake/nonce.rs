//! Making the nonce, and telling whether the one that is there may be used.

use std::collections::BTreeMap;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::json;

use crate::{
    audit::{Decision, Event},
    crypto::{Nonce, NonceError, StructuredNonce},
    error::{Error, Fault, PeerIncompatible, PeerMisbehaved},
    machine::{Awaited, Effect, Env, Message, Notice, Part, Step, Version, View, Wait},
    model::{Metadata, Namespace, Resource, Secret, Tenant, Timestamp, names},
    provider::{Ended, Provider, observed::Observed},
    verify::{self, VerifiedTenant},
};

/// There is no nonce that the peer could sign.
///
/// Only [`make_nonce`](Self::make_nonce) is legal here.
#[derive(Clone)]
pub struct NeedsNonce<'o> {
    provider: Provider,
    observed: Observed<'o>,
    why: WhyNonce,
    now: Timestamp,
}

/// Why a nonce is to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WhyNonce {
    /// There is none, or an empty Secret that waits for one.
    Absent,
    /// The one that is there has expired.
    Expired,
    /// The peer was here before, and is invited anew.
    Ended,
    /// Someone asked for a new one.
    Asked,
}

/// The nonce is there, and the Tenant is awaited.
#[derive(Clone)]
pub struct AwaitsTenant {
    nonce: Nonce,
}

/// The nonce Secret of a peer.
pub(in crate::provider) enum PresentNonce {
    Absent,
    Malformed(NonceError),
    Expired(Timestamp),
    Foreign,
    Used,
    Usable(Nonce),
}

impl<'o> NeedsNonce<'o> {
    pub(in crate::provider) fn new(
        provider: &Provider,
        observed: Observed<'o>,
        why: WhyNonce,
        now: Timestamp,
    ) -> Self {
        Self {
            provider: provider.clone(),
            observed,
            why,
            now,
        }
    }

    /// Why one is needed.
    pub fn why(&self) -> WhyNonce {
        self.why
    }

    /// Makes a structured nonce that lives as long as the provider's
    /// configuration says, with the tenant namespace if that is missing.
    ///
    /// # Errors
    /// [`PolicyRefusal`](crate::error::PolicyRefusal) if there is no tenant namespace, and
    /// the default one's name would be too long.
    pub fn make_nonce(&self, env: Env) -> Result<Step, Error> {
        let configuration = &self.provider.0;
        let record = self.observed.record.as_ref().map(|(_, record)| record);
        let expires = self.now + configuration.nonce_lifetime;
        let nonce = StructuredNonce::issue(
            &configuration.cluster_id,
            &self.observed.peer,
            configuration.key.as_ref().map(|key| key.public_key()),
            record.map_or(expires, |record| record.unused_from(expires)),
            &configuration.record_key,
            &env.entropy,
        );
        let mut step = Step::default();
        if self.observed.namespace.is_none() {
            verify::default_namespace(&self.observed.peer)?;
            let namespace = Namespace::for_tenant(&self.observed.peer);
            step.effects.push(Effect::Create(namespace.into()));
        }
        step.effects.push(self.store(&nonce));
        if self.why != WhyNonce::Absent {
            step.notices.push(Notice::SignedNonceIsStale);
        }
        step.events.push(
            Event::new(&self.observed.peer, Decision::NonceMade).about(self.observed.nonce_id()),
        );
        step.outbox.push(Message::Nonce(nonce));
        step.wait.awaiting.push(Awaited::Tenant);
        Ok(step)
    }

    fn store(&self, nonce: &Nonce) -> Effect {
        match self.observed.nonce {
            None => Effect::Create(
                Secret {
                    metadata: Metadata {
                        name: names::NONCE_SECRET.to_owned(),
                        namespace: self.observed.namespace_name(),
                        labels: BTreeMap::from([
                            (names::NONCE_LABEL.to_owned(), "true".to_owned()),
                            (
                                names::REMOTE_CLUSTER_ID_LABEL.to_owned(),
                                self.observed.peer.to_string(),
                            ),
                        ]),
                        ..Metadata::default()
                    },
                    data: BTreeMap::from([(
                        names::NONCE.to_owned(),
                        nonce.as_bytes().to_vec().into(),
                    )]),
                    ..Secret::default()
                }
                .into(),
            ),
            Some(secret) => Effect::Patch {
                id: secret.id(),
                version: Version::of(&secret.metadata),
                part: Part::Main,
                patch: json!({ "data": { names::NONCE: STANDARD.encode(nonce.as_bytes()) } }),
            },
        }
    }
}

impl AwaitsTenant {
    /// What the consumer is to sign.
    pub fn nonce(&self) -> &Nonce {
        &self.nonce
    }

    /// When it expires, if it was made by this library.
    pub fn expires(&self) -> Option<Timestamp> {
        self.nonce.structured().map(|nonce| nonce.expires())
    }

    pub(in crate::provider) fn wait(&self) -> Step {
        Step {
            outbox: vec![Message::Nonce(self.nonce.clone())],
            wait: Wait {
                wake_at: self.expires(),
                awaiting: vec![Awaited::Tenant],
            },
            ..Step::default()
        }
    }
}

impl Provider {
    pub(in crate::provider) fn phase_without_tenant<'o>(
        &self,
        observed: Observed<'o>,
        view: &View<'o>,
        now: Timestamp,
    ) -> Result<crate::provider::Phase<'o>, Error> {
        let needs = |why| {
            crate::provider::Phase::NeedsNonce(NeedsNonce::new(self, observed.clone(), why, now))
        };
        Ok(match present(self, &observed, view, now)? {
            PresentNonce::Usable(nonce) => {
                crate::provider::Phase::AwaitsTenant(AwaitsTenant { nonce })
            }
            // Whatever stands there, the peer may have put it there.
            _ if observed.is_known() => {
                crate::provider::Phase::Ended(Ended::new(observed, view, now))
            }
            // An empty Secret is how Liqo asks for a nonce.
            PresentNonce::Absent if observed.nonce.is_some() => needs(WhyNonce::Absent),
            PresentNonce::Absent | PresentNonce::Used => crate::provider::Phase::Uninvited,
            PresentNonce::Expired(_) => needs(WhyNonce::Expired),
            unusable => {
                let nonce = unusable.into_usable(&observed)?;
                crate::provider::Phase::AwaitsTenant(AwaitsTenant { nonce })
            }
        })
    }
}

/// What the nonce Secret in the peer's own tenant namespace holds.
pub(in crate::provider) fn present(
    provider: &Provider,
    observed: &Observed<'_>,
    view: &View<'_>,
    now: Timestamp,
) -> Result<PresentNonce, Error> {
    let text = observed
        .nonce
        .and_then(|secret| secret.data.get(names::NONCE));
    let text = match text.map(|text| text.expose()) {
        None | Some([]) => return Ok(PresentNonce::Absent),
        Some(text) => text,
    };
    let nonce = match Nonce::parse(text, provider.policy(&observed.peer)) {
        Err(error) => return Ok(PresentNonce::Malformed(error)),
        Ok(nonce) => nonce,
    };
    if observed
        .record
        .as_ref()
        .is_some_and(|(_, record)| record.has_used(&nonce))
    {
        return Ok(PresentNonce::Used);
    }
    if view.vouches_for(&nonce) {
        return Ok(PresentNonce::Usable(nonce));
    }
    let configuration = &provider.0;
    let ours = nonce.structured().filter(|structured| {
        structured.authenticate(
            &configuration.record_key,
            &configuration.cluster_id,
            &observed.peer,
        )
    });
    Ok(match ours {
        None => PresentNonce::Foreign,
        Some(structured) if structured.expires() <= now => {
            PresentNonce::Expired(structured.expires())
        }
        Some(_) => PresentNonce::Usable(nonce),
    })
}

/// The nonce that is there, if it is another than the one on record, and the
/// Tenant signs it: what is promised to the peer is to be about the nonce that
/// it has.
pub(in crate::provider) fn signed_since(
    provider: &Provider,
    observed: &Observed<'_>,
    view: &View<'_>,
    tenant: &Tenant,
    verified: &VerifiedTenant,
    now: Timestamp,
) -> Result<Option<Nonce>, Error> {
    let PresentNonce::Usable(nonce) = present(provider, observed, view, now)? else {
        return Ok(None);
    };
    let policy = provider.policy(&observed.peer);
    let signed = verify::nonce_signature(tenant, verified, &nonce, policy);
    Ok(signed.is_ok().then_some(nonce))
}

impl PresentNonce {
    pub(in crate::provider) fn into_usable(self, observed: &Observed<'_>) -> Result<Nonce, Error> {
        let fault: Fault = match self {
            Self::Usable(nonce) => return Ok(nonce),
            Self::Absent => PeerIncompatible::NonceMissing.into(),
            Self::Expired(at) => PeerIncompatible::NonceExpired { at }.into(),
            Self::Malformed(error) => PeerMisbehaved::NonceForm(error).into(),
            Self::Foreign => PeerMisbehaved::NonceNotOurs.into(),
            Self::Used => PeerMisbehaved::NonceUsed.into(),
        };
        Err(Error::new(fault, Some(observed.nonce_id()), "data.nonce"))
    }
}
