//! The consumer in front of Liqo's own authentication module, which acts on what is let
//! through here, and on nothing else.

use super::{
    AcceptedIdentity, Consumer, credentials::holder_context::HolderContext, keys::Keys, look::Look,
    record::Plan,
};
use crate::{
    error::{Error, PolicyRefusal, Precondition},
    machine::{Awaited, Env, Holder, Step, View, replication},
    model::{Identity, IdentityType, Kind, Object, Resource, ResourceSlice, Secret, names},
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
        let mut identities = view.readable::<Identity>();
        let before = identities.find(|identity| identity.id() == changed.id());
        let view = view.after(changed);
        let step = self.plan_with(&view, env.now, |look, plan| {
            look.check_place(changed)?;
            match (Identity::from_object(changed), Secret::from_object(changed)) {
                (Some(identity), _) => look.judge_identity(identity, before, plan),
                (None, Some(secret)) => look.judge_secret(secret, plan),
                (None, None) => Ok(()),
            }
        })?;
        Ok(step.of_record(&self.0.record_id(view.peer())))
    }
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
        if let (None, Some(before)) = (self.observed.record(), before) {
            let stored = context.accept(keys, before).ok();
            context.endpoint = stored.map(|it| it.identity.pins).or(context.endpoint);
        }
        let accepted = context.accept(keys, identity)?;
        context.record_identity(&accepted, plan);
        Ok(())
    }

    /// Verifies the nonce that Liqo would sign, or the kubeconfig by which it would log in.
    fn judge_secret(&self, secret: &Secret, plan: &mut Plan<'_>) -> Result<(), Error> {
        if secret
            .metadata
            .labels
            .contains_key(names::SIGNED_NONCE_LABEL)
        {
            // Liqo signs whatever is there, also an empty text.
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
        match context.has_kubeconfig(identity, &accepted)? {
            true => Ok(()),
            false => Err(other()),
        }
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

/// Whether Liqo's consumer acts on the object. What is being deleted gives nothing any more.
fn is_judged(changed: &Object) -> bool {
    let metadata = changed.metadata();
    metadata.deletion_timestamp.is_none()
        && match changed.key().0 {
            Kind::Identity => true,
            Kind::Secret => {
                let labels = [names::SIGNED_NONCE_LABEL, names::IDENTITY_TYPE_LABEL];
                let mut labels = labels.iter();
                labels.any(|label| metadata.labels.contains_key(*label))
            }
            _ => false,
        }
}
