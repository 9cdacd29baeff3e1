//! The provider in front of Liqo's own authentication module, which acts on what is let
//! through here, and on nothing else.

use super::{
    Provider,
    credentials::check_renew,
    handshake::{Proven, record_proof},
    look::Look,
    observed::Observed,
    record::{Offer, Record},
    records::Plan,
    rights::tolerates,
    slice::{SlicePhase, SliceTerms, Slices},
};
use crate::{
    crypto::{Nonce, PublicKey},
    error::{Error, Fault, PeerIncompatible, PolicyRefusal, Precondition},
    machine::{Awaited, Env, Step, View, replication},
    model::{
        AuthzPolicy, ClusterId, Kind, Object, ObjectRef, Renew, Resource, ResourceSlice, Secret,
        Tenant, names,
    },
    policy::Policy,
    verify::{self, Claimed, VerifiedTenant},
};

impl Provider {
    pub(super) fn judge(
        &self,
        view: &View<'_>,
        changed: &Object,
        env: &Env,
    ) -> Result<Step, Error> {
        if let Some(secret) = Secret::from_object(changed).filter(|secret| is_nonce(secret)) {
            return self.record_nonce(view, changed, secret, env);
        }
        if !is_judged(changed, view.peer()) {
            return Ok(Step::default());
        }
        if let Some(unreadable) = changed.as_unreadable() {
            return Err(unreadable.error());
        }
        self.0.check_peer(view.peer())?;
        let stored = view.readable::<Tenant>().cloned();
        let stored: Vec<Tenant> = stored.collect();
        let claimed = Tenant::from_object(changed);
        let is_stored = claimed.is_some_and(|claimed| stored.contains(claimed));
        let changed = as_liqo_acts_on_it(changed.clone());
        let tenants = stored.iter().cloned().map(Object::from);
        let tenants: Vec<Object> = tenants.map(as_liqo_acts_on_it).collect();
        let mut view = tenants.iter().fold(view.clone(), |view, it| view.after(it));
        view = view.after(&changed);
        let mut observed = self.observe(&view)?;
        let record = observed.record();
        if is_stored && record.is_none_or(|record| record.reserved_until.is_none()) {
            return Ok(Step::default());
        }
        let claimed = claimed.filter(|_| !is_stored);
        let mut absent = None;
        if let Some(claimed) = claimed {
            absent = self.give_back(&mut observed, claimed, &stored, env);
            self.end_earlier(&mut observed, env);
            observed.find_tenant(&view)?;
        }
        observed.check_readable()?;
        check_place(&observed, &changed)?;
        if claimed.is_some() {
            view = self.vouched(view, &observed);
        }
        let look = self.look_at(&view, &observed, env.now);
        let mut plan = look.plan();
        plan.follow_from_absence(absent);
        look.judge(&changed, &mut plan)?;
        look.confirm(&stored, &mut plan);
        Ok(plan.finish().of_record(&self.0.record_id(view.peer())))
    }

    /// Puts the nonce on record that Liqo has made: the caller gives only such a one. A nonce that
    /// was there before is not on record, and whoever wrote it may have chosen it.
    fn record_nonce(
        &self,
        view: &View<'_>,
        changed: &Object,
        secret: &Secret,
        env: &Env,
    ) -> Result<Step, Error> {
        self.0.check_peer(view.peer())?;
        let observed = self.observe(view)?;
        observed.check_record()?;
        check_place(&observed, changed)?;
        let look = self.look_at(view, &observed, env.now);
        let mut plan = look.plan();
        let record = observed.record();
        let is_new = |nonce: &Nonce| record.is_none_or(|record| !record.has_used(nonce));
        let nonce = self.nonce_of(secret, view.peer()).filter(is_new);
        if let Some(nonce) = nonce {
            plan.records.peer.change_or_make(
                || Record::new(None, env.now),
                |record| record.offered = Some(Offer::of(&nonce)),
            );
        }
        Ok(plan.finish().of_record(&self.0.record_id(view.peer())))
    }

    fn nonce_of(&self, secret: &Secret, peer: &ClusterId) -> Option<Nonce> {
        Nonce::parse(secret.get(names::NONCE)?, self.0.policy(peer)).ok()
    }

    /// Vouches for the nonce that Liqo has made, as the record says.
    fn vouched<'o>(&self, view: View<'o>, observed: &Observed<'_>) -> View<'o> {
        let found = observed.nonce.filter(|nonce| is_nonce(nonce));
        let nonce = found.and_then(|secret| self.nonce_of(secret, view.peer()));
        let record = observed.record();
        let is_on_record = |nonce: &Nonce| record.is_some_and(|record| record.offers(nonce));
        match nonce.filter(is_on_record) {
            Some(nonce) => view.vouch_for_nonce(&nonce),
            None => view,
        }
    }

    /// Gives a key back that was pinned for a Tenant, if this Tenant was not stored then.
    /// Returns the place of the Tenant, if the caller's objects show nothing there.
    fn give_back(
        &self,
        observed: &mut Observed<'_>,
        claimed: &Tenant,
        stored: &[Tenant],
        env: &Env,
    ) -> Option<ObjectRef> {
        let place = observed.place_on_record();
        let policy = self.0.policy(&observed.peer);
        let key = claimed.spec.public_key.as_slice();
        let claimed = PublicKey::claimed_spki_der(key, policy).ok();
        let (_, opened) = observed.record.as_mut()?;
        let is_proven = is_proven(&opened.record, stored, policy);
        if is_proven || !opened.record.is_lapsed(claimed.as_deref(), env.now) {
            return None;
        }
        opened.record.give_back();
        let is_seen = stored.iter().any(|tenant| tenant.id() == place);
        (!is_seen).then_some(place)
    }

    /// Ends the proof of an earlier Tenant, which is gone if another one takes its place.
    fn end_earlier(&self, observed: &mut Observed<'_>, env: &Env) {
        let uid = observed.tenant_metadata().map(|tenant| &tenant.uid);
        let Some((_, opened)) = &mut observed.record else {
            return;
        };
        let proof = opened.record.proof.as_ref();
        if proof.is_some_and(|proof| Some(&proof.tenant_uid) != uid) {
            let within = self.0.settings.peer_again;
            opened.record.end_proof(within, env.now);
        }
        if uid.is_none() {
            opened.record.other_name = None;
        }
    }
}

impl Look<'_> {
    fn judge(&self, changed: &Object, plan: &mut Plan<'_>) -> Result<(), Error> {
        let missing = || Error::new(Precondition::NoTenant, Some(changed.id()), "");
        let tenant = self.observed.tenant.ok_or_else(missing)?;
        // Nobody puts the label right.
        let claimed = Claimed {
            gets_label: false,
            ..self.claimed(tenant)
        };
        verify::tenant_names(tenant, claimed, self.policy())?;
        let is_tolerated = tenant.spec.authz_policy == Some(AuthzPolicy::TolerateNoHandshake);
        match changed.key().0 {
            Kind::ResourceSlice if is_tolerated => return self.judge_slice(changed, None, plan),
            Kind::Tenant if !self.configuration.handshake_required(self.peer(), tenant) => {
                return self.judge_tolerated(tenant, plan);
            }
            _ => {}
        }
        let Some(verified) = self.proven(tenant, changed, plan)? else {
            plan.await_for(Awaited::Names);
            return Ok(());
        };
        match Renew::from_object(changed) {
            Some(renew) => check_renew(renew, self, &verified),
            None if changed.key().0 == Kind::ResourceSlice => {
                self.judge_slice(changed, Some(&verified), plan)
            }
            None => Ok(()),
        }
    }

    /// The Tenant with its proof, which is recorded if it is new. `None` while the look-up of
    /// names has not answered.
    fn proven(
        &self,
        tenant: &Tenant,
        changed: &Object,
        plan: &mut Plan<'_>,
    ) -> Result<Option<VerifiedTenant>, Error> {
        let usable = self.check_provable(tenant);
        let usable = usable.map_err(|error| self.unless_adopted(error, changed))?;
        let verified = self.verify_claim(tenant)?;
        let proven = self.prove(tenant, &tenant.metadata.uid, &verified, usable);
        match proven.map_err(|error| self.unless_adopted(error, changed))? {
            Proven::Recorded(_) => Ok(Some(verified)),
            Proven::AwaitsNames => Ok(None),
            Proven::By(nonce) => {
                record_proof(self, tenant, &verified, &nonce, None, plan)?;
                let is_first = self.observed.pinned_key().is_none();
                if is_first && changed.key().0 == Kind::Tenant {
                    let record = self.observed.record();
                    let offered = record.is_some_and(|record| record.offers(&nonce));
                    let offered = offered.then_some(&nonce);
                    plan.records
                        .peer
                        .change(|record| record.reserve(offered, self.now));
                }
                Ok(Some(verified))
            }
        }
    }

    /// The key stays pinned from now on: the Tenant that was verified is stored.
    fn confirm(&self, stored: &[Tenant], plan: &mut Plan<'_>) {
        let record = self.observed.record();
        if record.is_some_and(|record| is_proven(record, stored, self.policy())) {
            plan.records.peer.change(Record::confirm);
        }
    }

    /// What a stored Tenant lacks is said of its peer's other objects in other words: nobody
    /// has done anything wrong. Nor need the peer have made a nonce that is not on record.
    fn unless_adopted(&self, error: Error, changed: &Object) -> Error {
        match (changed.key().0, error.fault()) {
            (Kind::Tenant, Fault::PeerIncompatible(PeerIncompatible::NonceNotOurs)) => {
                let id = self.observed.nonce_id();
                Error::new(PolicyRefusal::NonceNotOnRecord, Some(id), "data.nonce")
            }
            (Kind::Tenant, _) => error,
            _ => Error::new(PolicyRefusal::TenantNotOnRecord, Some(changed.id()), ""),
        }
    }

    fn judge_tolerated(&self, tenant: &Tenant, plan: &mut Plan<'_>) -> Result<(), Error> {
        if !tolerates(self, tenant)? {
            plan.await_for(Awaited::Names);
        }
        Ok(())
    }

    fn judge_slice(
        &self,
        changed: &Object,
        verified: Option<&VerifiedTenant>,
        plan: &mut Plan<'_>,
    ) -> Result<(), Error> {
        let tenant = self.observed.tenant;
        let terms = SliceTerms {
            key: verified.map(|verified| verified.public_key.clone()),
            tenant_uid: tenant.map_or_else(String::new, |it| it.metadata.uid.clone()),
            address: self.address(None),
        };
        if let Some(slice) = ResourceSlice::from_object(changed) {
            let found = slice.metadata.label(names::REPLICATED_LABEL);
            let field = "metadata.labels[liqo.io/replicated]";
            verify::check_name(found.unwrap_or_default(), names::TRUE, slice, field)?;
        }
        let slices = Slices::of(*self, Some(&terms)).into_status();
        let slice = slices.into_iter().find(|it| it.slice == changed.id());
        match slice.map(|slice| slice.phase) {
            Some(SlicePhase::Refused(error)) => Err(error),
            Some(SlicePhase::AwaitsNames) => {
                plan.await_for(Awaited::Names);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// Whether Liqo finds the nonce of a peer here. Others may write a Secret that Liqo does not find.
fn is_nonce(secret: &Secret) -> bool {
    let metadata = &secret.metadata;
    metadata.name == names::NONCE_SECRET && metadata.label(names::NONCE_LABEL) == Some(names::TRUE)
}

/// Whether Liqo's provider acts on the object.
fn is_judged(changed: &Object, peer: &ClusterId) -> bool {
    let is_replica = replication::is_replica(changed.metadata());
    match changed.key().0 {
        Kind::Tenant => true,
        Kind::ResourceSlice => is_replica || is_for(changed, peer),
        Kind::Renew => is_replica,
        _ => false,
    }
}

/// Whether a slice asks this cluster for a certificate of the peer. After a change of the Tenant,
/// Liqo gives it one, whatever its labels say of its origin.
fn is_for(changed: &Object, peer: &ClusterId) -> bool {
    let slice = ResourceSlice::from_object(changed);
    let consumer = slice.and_then(|slice| slice.spec.consumer_cluster_id.as_deref());
    consumer == Some(peer.as_str())
}

/// Whether one of these Tenants is that of the proof on record, with its key.
fn is_proven(record: &Record, stored: &[Tenant], policy: &Policy) -> bool {
    let Some((proof, key)) = record.proof.as_ref().zip(record.public_key.as_ref()) else {
        return false;
    };
    let mut same = stored
        .iter()
        .filter(|tenant| tenant.metadata.uid == proof.tenant_uid);
    same.any(|tenant| {
        let claimed = PublicKey::claimed_spki_der(tenant.spec.public_key.as_slice(), policy);
        claimed.is_ok_and(|claimed| claimed == key.spki_der())
    })
}

/// The object as if nobody had drained or deleted it. Liqo obeys the condition of a Tenant, but
/// signs after a lift. And it signs a slice that is being deleted, for a Tenant that is, as long as
/// a finalizer keeps them.
fn as_liqo_acts_on_it(object: Object) -> Object {
    let mut object = object.undeleted();
    if let Object::Tenant(tenant) = &mut object {
        tenant.spec.tenant_condition = None;
    }
    object
}

/// Liqo looks for its objects in every namespace. A peer has one.
fn check_place(observed: &Observed<'_>, changed: &Object) -> Result<(), Error> {
    let found = &changed.metadata().namespace;
    let is_there = observed
        .namespace
        .is_some_and(|it| it.metadata.name == *found);
    let is_known = changed.key().0 != Kind::Tenant
        || observed.tenant.is_some_and(|it| it.id() == changed.id());
    if is_there && is_known {
        return Ok(());
    }
    let expected = observed.namespace_name();
    Err(Error::unexpected_namespace(changed.id(), expected, found))
}
