//! Makes the nonce, and checks whether the present nonce is usable.

use crate::{
    audit::{Decision, Event},
    crypto::{Nonce, NonceError, StructuredNonce},
    error::{Error, Fault, PeerIncompatible, PeerMisbehaved},
    machine::{Awaited, Env, Notice},
    model::{Namespace, Secret, Timestamp, names},
    provider::{
        look::Look,
        phase::Phase,
        record::{Offer, Record},
        records::Plan,
    },
    verify,
};

/// The reason for a new nonce.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WhyNonce {
    /// The Secret is absent, or empty and waits for a nonce.
    Absent,
    /// The present nonce has expired.
    Expired,
    /// An earlier peering is over, and the peer is invited again.
    Ended,
    /// The administrator asked for a new nonce, or the Secret does not hold the
    /// offered nonce.
    Asked,
}

/// The state of the nonce in a peer's nonce Secret.
pub(super) enum PresentNonce {
    Absent,
    Malformed(NonceError),
    Expired(Timestamp),
    Foreign,
    Used,
    Usable(Nonce),
}

impl Look<'_> {
    /// Sends the nonce again, and waits for the Tenant until the nonce expires.
    pub(crate) fn await_tenant(&self, nonce: &Nonce, plan: &mut Plan<'_>) {
        self.send(nonce.clone(), plan);
        if let Some(secret) = self.observed.nonce {
            plan.keep_labels(secret, &self.nonce_labels());
        }
        plan.wake_by(nonce.expires());
        plan.await_for(Awaited::Tenant);
    }

    /// The labels by which Liqo finds the nonce.
    fn nonce_labels(&self) -> [(&'static str, &str); 2] {
        [
            (names::NONCE_LABEL, names::TRUE),
            (names::REMOTE_CLUSTER_ID_LABEL, self.peer().as_str()),
        ]
    }
}

/// Makes a structured nonce with the configured lifetime. Creates the tenant
/// namespace if it is missing.
///
/// # Errors
/// [`PolicyRefusal`](crate::error::PolicyRefusal) if the tenant namespace is
/// missing and its default name is too long; another error if an object of the
/// handshake cannot be read.
pub(crate) fn make_nonce(
    look: &Look<'_>,
    why: WhyNonce,
    env: &Env,
    plan: &mut Plan<'_>,
) -> Result<(), Error> {
    let (configuration, observed) = (look.configuration, look.observed);
    let nonce = StructuredNonce::issue(
        configuration.cluster_id(),
        look.peer(),
        configuration.key.as_ref().map(|key| key.public_key()),
        look.now + configuration.settings.nonce_lifetime,
        &configuration.record_key,
        &env.entropy,
    );
    put(look, &nonce, why, plan)?;
    // The invitation must be on record before the nonce is sent.
    plan.records.peer.change_or_make(
        || Record::new(None, look.now),
        |record| {
            record.offered = Some(Offer::of(&nonce));
            record.again = None;
        },
    );
    let id = observed.nonce_id();
    let made = Event::new(look.peer(), Decision::NonceMade).about(id.clone());
    plan.tell_upon(id, made);
    look.send(nonce, plan);
    plan.await_for(Awaited::Tenant);
    Ok(())
}

/// Writes the offered nonce to the nonce Secret, which does not contain it, and
/// sends the nonce. Without a valid offer, makes a nonce.
///
/// # Errors
/// As [`make_nonce`].
pub(crate) fn hand_out(
    look: &Look<'_>,
    why: WhyNonce,
    env: &Env,
    plan: &mut Plan<'_>,
) -> Result<(), Error> {
    let record = look.observed.record();
    let Some(nonce) = record.and_then(|record| record.offered_nonce(look.now)) else {
        return make_nonce(look, why, env, plan);
    };
    put(look, nonce, why, plan)?;
    look.await_tenant(nonce, plan);
    Ok(())
}

/// Keeps the nonce that serves again in the nonce Secret, and puts it into an empty one, by
/// which Liqo asks for a nonce. Returns whether the Secret stays.
pub(crate) fn hand_out_again(look: &Look<'_>, plan: &mut Plan<'_>) -> bool {
    let record = look.observed.record();
    let (Some(again), Some(secret)) = (
        record.and_then(|record| record.serves_again(look.now)),
        look.observed.nonce,
    ) else {
        return false;
    };
    plan.wake_by(again.until());
    let nonce = again.nonce.as_bytes();
    match secret.get(names::NONCE) {
        None | Some([]) => plan.edit(secret, |secret| {
            secret.data.insert(names::NONCE.to_owned(), nonce.into());
        }),
        Some(text) => return text == nonce,
    }
    true
}

/// Hands the offered nonce out again while a Tenant exists that has not used it. The
/// peer may have lost the nonce, or a crash may have prevented its storage. If the
/// nonce of a first invitation has expired, the provider makes a new one, as without
/// a Tenant, unless such an invitation lapses.
///
/// # Errors
/// As [`make_nonce`].
pub(crate) fn keep_on_offer(look: &Look<'_>, env: &Env, plan: &mut Plan<'_>) -> Result<(), Error> {
    let observed = look.observed;
    let offers = |record: &&Record| record.offered.is_some();
    let Some(record) = observed.record().filter(offers) else {
        return Ok(());
    };
    if observed.check_readable().is_err() || look.configuration.check_peer(look.peer()).is_err() {
        return Ok(());
    }
    match present(look) {
        PresentNonce::Usable(nonce) => look.await_tenant(&nonce, plan),
        other if still_invites(look, record) => hand_out(look, other.why(), env, plan)?,
        _ => {}
    }
    Ok(())
}

/// Puts a nonce into the nonce Secret, in the tenant namespace.
fn put(look: &Look<'_>, nonce: &Nonce, why: WhyNonce, plan: &mut Plan<'_>) -> Result<(), Error> {
    let observed = look.observed;
    observed.check_readable()?;
    if observed.namespace.is_none() {
        verify::default_namespace(look.peer())?;
        plan.create(Namespace::for_tenant(look.peer()));
    }
    let value = nonce.as_bytes().into();
    match observed.nonce {
        None => {
            let (name, namespace) = (names::NONCE_SECRET, observed.namespace_name());
            let (labels, data) = (look.nonce_labels(), [(names::NONCE, value)]);
            plan.create(Secret::labelled(name, namespace, labels, data));
        }
        Some(secret) => plan.edit(secret, |secret| {
            secret.data.insert(names::NONCE.to_owned(), value);
        }),
    }
    if why != WhyNonce::Absent {
        plan.notify(Notice::SignedNonceIsStale);
    }
    Ok(())
}

/// The phase of a peer without a Tenant.
pub(crate) fn phase_without_tenant(look: &Look<'_>) -> Result<Phase, Error> {
    let observed = look.observed;
    let record = observed.record();
    let ended = || Phase::Ended {
        kept_until: record.and_then(Record::forgettable_from),
    };
    let present = present(look);
    if let PresentNonce::Usable(nonce) = present {
        // Nobody has invited the peer again.
        let again = record.and_then(|record| record.serves_again(look.now));
        if again.is_some_and(|again| again.is(&nonce)) {
            return Ok(ended());
        }
        return Ok(Phase::AwaitsTenant(nonce));
    }
    if record.is_some_and(|record| still_invites(look, record)) {
        // The Secret that the peer reads does not contain a usable nonce.
        return Ok(Phase::NeedsNonce(present.why()));
    }
    let lapses = look.configuration.settings.invitations_lapse;
    let has_lapsed = lapses && record.is_some_and(Record::is_invitation);
    if observed.is_known() || has_lapsed {
        // The peer itself may have written the present nonce.
        return Ok(ended());
    }
    Ok(match present {
        // Liqo creates an empty Secret to ask for a nonce.
        PresentNonce::Absent if has_secret(look) => Phase::NeedsNonce(WhyNonce::Absent),
        PresentNonce::Expired(_) => Phase::NeedsNonce(WhyNonce::Expired),
        PresentNonce::Absent | PresentNonce::Used if record.is_some() => ended(),
        PresentNonce::Absent | PresentNonce::Used => Phase::Uninvited,
        unusable => Phase::AwaitsTenant(unusable.into_usable(look)?),
    })
}

/// Whether the record's offer is still an invitation. An offer is an invitation until its
/// nonce expires. A first invitation also stays valid as long as the nonce Secret
/// exists, unless it lapses.
fn still_invites(look: &Look<'_>, record: &Record) -> bool {
    let lapses = look.configuration.settings.invitations_lapse;
    record.invites(look.now) || (!lapses && record.is_invitation() && has_secret(look))
}

/// Whether the nonce Secret exists and is not being deleted.
fn has_secret(look: &Look<'_>) -> bool {
    let secret = look.observed.nonce;
    secret.is_some_and(|secret| secret.metadata.deletion_timestamp.is_none())
}

/// The state of the nonce in the Secret in the peer's tenant namespace.
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
        let again = record.and_then(|record| record.serves_again(look.now));
        return match again.is_some_and(|again| again.is(&nonce)) {
            true => PresentNonce::Usable(nonce),
            false => PresentNonce::Used,
        };
    }
    if look.view.vouches_for(&nonce) {
        return PresentNonce::Usable(nonce);
    }
    let ours = nonce.structured().filter(|structured| {
        let key = &configuration.record_key;
        structured.authenticate(key, configuration.cluster_id(), look.peer())
    });
    match ours {
        None => PresentNonce::Foreign,
        // The nonce was replaced, or its peering has ended.
        Some(_) if !record.is_some_and(|record| record.offers(&nonce)) => PresentNonce::Used,
        Some(structured) if structured.expires() <= look.now => {
            PresentNonce::Expired(structured.expires())
        }
        Some(_) => PresentNonce::Usable(nonce),
    }
}

impl PresentNonce {
    /// The reason why the peer needs another nonce.
    fn why(&self) -> WhyNonce {
        match self {
            Self::Absent => WhyNonce::Absent,
            Self::Expired(_) => WhyNonce::Expired,
            _ => WhyNonce::Asked,
        }
    }

    pub(super) fn into_usable(self, look: &Look<'_>) -> Result<Nonce, Error> {
        let fault: Fault = match self {
            Self::Usable(nonce) => return Ok(nonce),
            Self::Absent => PeerIncompatible::NonceMissing.into(),
            Self::Expired(at) => PeerIncompatible::NonceExpired { at }.into(),
            Self::Malformed(error) => PeerMisbehaved::NonceForm(error).into(),
            Self::Foreign => PeerIncompatible::NonceNotOurs.into(),
            Self::Used => PeerIncompatible::NonceUsed.into(),
        };
        let id = look.observed.nonce_id();
        Err(Error::new(fault, Some(id), "data.nonce"))
    }
}
