//! The consumer in front of Liqo's own authentication module, which acts on what is let
//! through here, and on nothing else.

use super::{
    AcceptedIdentity, Consumer, credentials::holder_context::HolderContext, keys::Keys, look::Look,
    observed::Observed, record::Plan,
};
use crate::{
    error::{Error, PolicyRefusal, Precondition},
    machine::{Awaited, Env, Holder, Step, View, replication},
    model::{
        Identity, IdentityType, Kind, Object, ObjectRef, Resource, ResourceSlice, Secret, names,
    },
    verify,
};

impl Consumer {
    pub(super) fn judge(
        &self,
        view: &View<'_>,
        changed: &Object,
        env: &Env,
    ) -> Result<Step, Error> {
        if let Some(slice) = ResourceSlice::from_object(changed) {
            let step = self.plan_with(view, env.now, |look, plan| look.judge_slice(slice, plan))?;
            return Ok(step.of_record(&self.0.record_id(view.peer())));
        }
        if !is_judged(changed) {
            return Ok(Step::default());
        }
        if let Some(unreadable) = changed.as_unreadable() {
            return Err(unreadable.error());
        }
        // As long as a finalizer keeps an object, Liqo's consumer signs its nonce, makes a kubeconfig
        // of it, and logs in by it.
        let changed = &changed.clone().undeleted();
        let mut stored = view.objects().filter(|stored| stored.id() == changed.id());
        let before = stored.next().map(|before| before.clone().undeleted());
        let before = before.as_ref().and_then(Identity::from_object);
        self.0.check_peer(view.peer())?;
        let pinning = Observed::of(&self.0, view)?.identity;
        let after = view.after(changed);
        let mut observed = Observed::of(&self.0, &after)?;
        let absent = give_back(&mut observed, pinning, changed, env);
        let step = self.with_observed(&after, &observed, env.now, |look| {
            let mut plan = look.plan();
            plan.follow_from_absence(absent);
            look.check_place(changed)?;
            match (Identity::from_object(changed), Secret::from_object(changed)) {
                (Some(identity), _) => look.judge_identity(identity, before, &mut plan)?,
                (None, Some(secret)) => look.judge_secret(secret, &mut plan)?,
                (None, None) => {}
            }
            Ok(plan.finish())
        })?;
        Ok(step.of_record(&self.0.record_id(view.peer())))
    }
}

/// Gives back what was pinned for an Identity, if this Identity was not stored then: the same one
/// comes again, or the time is over. Returns the place of the Identity, if the caller's objects
/// show nothing there.
fn give_back(
    observed: &mut Observed<'_>,
    stored: Option<&Identity>,
    changed: &Object,
    env: &Env,
) -> Option<ObjectRef> {
    let (namespace, name) = (
        observed.namespace_name(),
        names::identity_name(&observed.peer),
    );
    let (_, record) = observed.record.as_mut()?;
    let reserved = record.reserved.as_ref()?;
    let comes_again = Identity::from_object(changed).is_some_and(|it| reserved.is_for(it));
    let is_stored = stored.is_some_and(|it| reserved.is_for(it));
    if is_stored || !(comes_again || reserved.is_over(env.now)) {
        return None;
    }
    record.give_back();
    let place = || ObjectRef::new(Kind::Identity, namespace, name);
    stored.is_none().then(place)
}

impl Look<'_> {
    /// Liqo looks for its objects in every namespace. A provider has one.
    fn check_place(&self, changed: &Object) -> Result<(), Error> {
        let found = &changed.metadata().namespace;
        let namespace = self.observed.namespace;
        if namespace.is_some_and(|it| it.metadata.name == *found) {
            return Ok(());
        }
        let expected = self.observed.namespace_name();
        Err(Error::unexpected_namespace(changed.id(), expected, found))
    }

    /// Verifies an Identity. That of the control plane pins the provider; without a record, the
    /// stored one says where the provider is.
    fn judge_identity(
        &self,
        identity: &Identity,
        before: Option<&Identity>,
        plan: &mut Plan<'_>,
    ) -> Result<(), Error> {
        let Some(keys) = self.keys else {
            plan.await_for(Awaited::OwnKey);
            return Ok(());
        };
        let mut context = self.holder_of(keys, identity)?;
        let record = self.observed.record();
        let is_unpinned = record.is_none_or(|it| it.endpoint.is_none() && !it.released);
        if let Some(before) = before.filter(|_| is_unpinned) {
            let stored = context.accept(keys, before).ok();
            context.endpoint = stored.map(|it| it.identity.pins).or(context.endpoint);
        }
        let accepted = context.accept(keys, identity)?;
        let is_stored = before == Some(identity);
        if is_stored && record.is_none_or(|record| record.reserved.is_none()) {
            // It was stored before there was a guard, or is pinned.
            return Ok(());
        }
        context.record_identity(&accepted, plan);
        if context.is_of_control_plane() {
            plan.records.change(|planned| match is_stored {
                true => planned.reserved = None,
                false => planned.reserve(identity, record, self.now),
            });
        }
        Ok(())
    }

    /// Verifies the nonce that Liqo would sign, or the kubeconfig by which it would log in.
    fn judge_secret(&self, secret: &Secret, plan: &mut Plan<'_>) -> Result<(), Error> {
        if secret
            .metadata
            .labels
            .contains_key(names::SIGNED_NONCE_LABEL)
        {
            // What is there is to be signed: so it has the form of a nonce. An empty text does not.
            return match secret.get(names::NONCE) {
                Some(text) => self.check_nonce(text, Some(secret.id())).map(drop),
                None => Ok(()),
            };
        }
        let by_hand = self.kubeconfig_by_hand()?;
        if by_hand.is_some_and(|by_hand| by_hand.secret == secret.id()) {
            return Ok(());
        }
        let Some(keys) = self.keys else {
            plan.await_for(Awaited::OwnKey);
            return Ok(());
        };
        let other = || Error::found_in(secret, "data.kubeconfig", PolicyRefusal::OtherKubeconfig);
        let identity = self.identities().find(|identity| {
            let name = names::kubeconfig_secret(&identity.metadata.name);
            name == secret.metadata.name
        });
        let identity = identity.ok_or_else(other)?;
        let context = self.holder_of(keys, identity)?;
        let accepted = context.accept(keys, identity)?;
        if !context.has_kubeconfig(identity, &accepted)? {
            return Err(other());
        }
        if context.is_of_control_plane() {
            // Its Identity is stored.
            plan.records.change(|record| record.reserved = None);
        }
        Ok(())
    }

    fn identities(&self) -> impl Iterator<Item = &Identity> {
        let here = self.observed.namespace_name();
        let all = self.view.readable::<Identity>();
        all.filter(move |identity| identity.metadata.namespace == here)
    }

    /// The holder that an Identity names.
    fn holder_of(&self, keys: &Keys, identity: &Identity) -> Result<HolderContext<'_>, Error> {
        let control_plane = HolderContext::of_control_plane(*self);
        if identity.spec.identity_type == IdentityType::ControlPlane {
            let (found, expected) = (&identity.metadata.name, names::identity_name(self.peer()));
            verify::check_name(found, &expected, identity, "metadata.name")?;
            return Ok(control_plane);
        }
        let slice = self.slice_of(identity);
        let refusal = || Error::found_in(identity, "", PolicyRefusal::SliceNotRequested);
        let mut context = HolderContext::of_slice(*self, slice.ok_or_else(refusal)?)?;
        if context.endpoint.is_none() {
            context.endpoint = Some(match self.kubeconfig_by_hand()? {
                Some(by_hand) => by_hand.pins,
                None => {
                    self.accepted_control_plane(&control_plane, keys)?
                        .identity
                        .pins
                }
            });
        }
        Ok(context)
    }

    fn accepted_control_plane(
        &self,
        context: &HolderContext<'_>,
        keys: &Keys,
    ) -> Result<AcceptedIdentity, Error> {
        let missing = || Error::new(Precondition::NotAuthenticated, None, "");
        context.accept(keys, context.identity.ok_or_else(missing)?)
    }

    /// The slice of this cluster whose Identity has this name.
    fn slice_of(&self, identity: &Identity) -> Option<&ResourceSlice> {
        let slices = self.view.readable::<ResourceSlice>();
        let mut own = slices
            .filter(|slice| replication::is_requested_from(&slice.metadata, self.peer()))
            .filter(|slice| slice.metadata.namespace == identity.metadata.namespace);
        own.find(|slice| {
            let holder = Holder::Slice(slice.metadata.name.clone());
            holder.identity_name(self.peer()) == identity.metadata.name
        })
    }
}

/// Whether Liqo's consumer acts on the object.
fn is_judged(changed: &Object) -> bool {
    match changed.key().0 {
        Kind::Identity => true,
        Kind::Secret => {
            let labels = [names::SIGNED_NONCE_LABEL, names::IDENTITY_TYPE_LABEL];
            let present = &changed.metadata().labels;
            labels.iter().any(|label| present.contains_key(*label))
        }
        _ => false,
    }
}
