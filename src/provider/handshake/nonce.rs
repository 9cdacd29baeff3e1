//! Making the nonce, and telling whether the one that is there may be used.

use std::collections::BTreeMap;

use crate::{
    audit::{Decision, Event},
    crypto::{Nonce, NonceError, StructuredNonce},
    error::{Error, Fault, PeerIncompatible, PeerMisbehaved},
    machine::{Awaited, Env, Notice},
    model::{Metadata, Namespace, Secret, Tenant, Timestamp, names},
    provider::{
        look::Look,
        phase::Phase,
        record::{NonceMark, Plan, Record},
    },
    verify::{self, VerifiedTenant},
};

/// Why a nonce is to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WhyNonce {
    /// The Secret is absent, or empty and waits for a nonce.
    Absent,
    /// The nonce that is there has expired.
    Expired,
    /// The peer was here before, and is invited anew.
    Ended,
    /// Someone asked for a new one, or the one on offer is not in the Secret.
    Asked,
}

/// The nonce is there, and the Tenant is awaited.
#[derive(Debug, Clone)]
pub struct AwaitsTenant {
    nonce: Nonce,
}

/// The nonce Secret of a peer.
pub(super) enum PresentNonce {
    Absent,
    Malformed(NonceError),
    Expired(Timestamp),
    Foreign,
    Used,
    Usable(Nonce),
}

impl AwaitsTenant {
    /// What the consumer is to sign.
    pub fn nonce(&self) -> &Nonce {
        &self.nonce
    }

    /// When the nonce expires, if this library made it.
    pub fn expires(&self) -> Option<Timestamp> {
        self.nonce.structured().map(|nonce| nonce.expires())
    }

    /// Hands the nonce out again.
    pub(in crate::provider) fn wait(&self, look: &Look<'_>, plan: &mut Plan<'_>) {
        look.send(self.nonce.clone(), plan);
        plan.wake_by(self.expires());
        plan.await_for(Awaited::Tenant);
    }
}

/// Makes a structured nonce that lives as long as the provider's configuration
/// says, with the tenant namespace if that is missing.
///
/// # Errors
/// [`PolicyRefusal`](crate::error::PolicyRefusal) if the tenant namespace is
/// missing, and the default name would be too long; why an object of the
/// handshake cannot be read.
pub(in crate::provider) fn make_nonce(
    look: &Look<'_>,
    why: WhyNonce,
    env: &Env,
    plan: &mut Plan<'_>,
) -> Result<(), Error> {
    let (configuration, observed) = (look.configuration, look.observed);
    observed.check_readable()?;
    let nonce = StructuredNonce::issue(
        &configuration.cluster_id,
        look.peer(),
        configuration.key.as_ref().map(|key| key.public_key()),
        look.now + configuration.nonce_lifetime,
        &configuration.record_key,
        &env.entropy,
    );
    if observed.namespace.is_none() {
        verify::default_namespace(look.peer())?;
        plan.create(Namespace::for_tenant(look.peer()));
    }
    // The invitation is on record before the nonce is handed out.
    plan.records.peer.change_or_make(
        || Record::new(None, look.now),
        |record| record.offered = Some(NonceMark::of(&nonce)),
    );
    let data = BTreeMap::from([(names::NONCE.to_owned(), nonce.as_bytes().to_vec().into())]);
    match observed.nonce {
        None => plan.create(Secret {
            metadata: Metadata {
                name: names::NONCE_SECRET.to_owned(),
                namespace: observed.namespace_name(),
                labels: BTreeMap::from([
                    (names::NONCE_LABEL.to_owned(), names::TRUE.to_owned()),
                    (
                        names::REMOTE_CLUSTER_ID_LABEL.to_owned(),
                        look.peer().to_string(),
                    ),
                ]),
                ..Metadata::default()
            },
            data,
            ..Secret::default()
        }),
        Some(secret) => plan.edit(secret, |secret| secret.data.extend(data)),
    }
    if why != WhyNonce::Absent {
        plan.notify(Notice::SignedNonceIsStale);
    }
    let id = observed.nonce_id();
    let made = Event::new(look.peer(), Decision::NonceMade).about(id.clone());
    plan.tell_upon(id, made);
    look.send(nonce, plan);
    plan.await_for(Awaited::Tenant);
    Ok(())
}

/// The phase of a peer of which there is no Tenant.
pub(in crate::provider) fn phase_without_tenant(look: &Look<'_>) -> Result<Phase, Error> {
    let observed = look.observed;
    let record = observed.record();
    let ended = || Phase::Ended {
        kept_until: record.and_then(Record::forgettable_from),
    };
    let present = present(look);
    if let PresentNonce::Usable(nonce) = present {
        return Ok(Phase::AwaitsTenant(AwaitsTenant { nonce }));
    }
    if record.is_some_and(|record| record.invites(look.now)) {
        // The nonce on offer is not where the peer could read it.
        return Ok(Phase::NeedsNonce(match present {
            PresentNonce::Absent => WhyNonce::Absent,
            _ => WhyNonce::Asked,
        }));
    }
    if observed.is_known() {
        // Whatever stands there, the peer may have put it there.
        return Ok(ended());
    }
    let is_going = |secret: &Secret| secret.metadata.deletion_timestamp.is_some();
    Ok(match present {
        // An empty Secret is how Liqo asks for a nonce.
        PresentNonce::Absent if observed.nonce.is_some_and(|secret| !is_going(secret)) => {
            Phase::NeedsNonce(WhyNonce::Absent)
        }
        PresentNonce::Expired(_) => Phase::NeedsNonce(WhyNonce::Expired),
        PresentNonce::Absent | PresentNonce::Used if record.is_some() => ended(),
        PresentNonce::Absent | PresentNonce::Used => Phase::Uninvited,
        unusable => {
            let nonce = unusable.into_usable(look)?;
            Phase::AwaitsTenant(AwaitsTenant { nonce })
        }
    })
}

/// What the nonce Secret in the peer's own tenant namespace holds.
pub(super) fn present(look: &Look<'_>) -> PresentNonce {
    let (configuration, observed) = (look.configuration, look.observed);
    let text = match observed.nonce.and_then(|secret| secret.get(names::NONCE)) {
        None | Some([]) => return PresentNonce::Absent,
        Some(text) => text,
    };
    let nonce = match Nonce::parse(text, look.policy()) {
        Err(error) => return PresentNonce::Malformed(error),
        Ok(nonce) => nonce,
    };
    let record = observed.record();
    if record.is_some_and(|record| record.has_used(&nonce)) {
        return PresentNonce::Used;
    }
    if look.view.vouches_for(&nonce) {
        return PresentNonce::Usable(nonce);
    }
    let ours = nonce.structured().filter(|structured| {
        let key = &configuration.record_key;
        structured.authenticate(key, &configuration.cluster_id, look.peer())
    });
    match ours {
        None => PresentNonce::Foreign,
        // It was replaced, or its peering has ended.
        Some(_) if !record.is_some_and(|record| record.offers(&nonce)) => PresentNonce::Used,
        Some(structured) if structured.expires() <= look.now => {
            PresentNonce::Expired(structured.expires())
        }
        Some(_) => PresentNonce::Usable(nonce),
    }
}

/// The nonce that is there, if it is another than the one on record, and the
/// Tenant signs it: the commitment to the peer is to be about the nonce that
/// the peer has.
pub(in crate::provider) fn signed_since(
    look: &Look<'_>,
    tenant: &Tenant,
    verified: &VerifiedTenant,
) -> Option<Nonce> {
    let PresentNonce::Usable(nonce) = present(look) else {
        return None;
    };
    let signed = verify::nonce_signature(tenant, verified, &nonce, look.policy());
    signed.is_ok().then_some(nonce)
}

impl PresentNonce {
    pub(super) fn into_usable(self, look: &Look<'_>) -> Result<Nonce, Error> {
        let fault: Fault = match self {
            Self::Usable(nonce) => return Ok(nonce),
            Self::Absent => PeerIncompatible::NonceMissing.into(),
            Self::Expired(at) => PeerIncompatible::NonceExpired { at }.into(),
            Self::Malformed(error) => PeerMisbehaved::NonceForm(error).into(),
            Self::Foreign => PeerMisbehaved::NonceNotOurs.into(),
            Self::Used => PeerMisbehaved::NonceUsed.into(),
        };
        let id = look.observed.nonce_id();
        Err(Error::new(fault, Some(id), "data.nonce"))
    }
}
