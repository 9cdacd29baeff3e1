//! Judging changes in front of Liqo's own authentication module.

use std::{sync::Arc, time::Duration};

use liqo_auth::{
    crypto::Nonce,
    machine::{Env, Machine, Step, View},
    model::{ClusterId, Kind, Object, Resource, Secret, names},
    policy::Policy,
};
use tokio::time::sleep;

use super::{
    Handle,
    peer::ONE_SECOND,
    shared::{Call, Shared},
};
use crate::Error;

impl Handle {
    /// Judges a change of a peer's object, by each side
    /// ([`Machine::guard`](liqo_auth::Machine::guard)). `changed` is the object as the API
    /// server will store it. Returns whether it was judged: false if something is awaited that
    /// the judgement needs. In a dry run, nothing is recorded. `adopts` says that an administrator
    /// lets the nonce count that is stored, although Liqo has not made it behind the guard.
    ///
    /// What a watch has not shown yet may be the reason of a refusal. So an object that is
    /// refused is judged once more, shortly after.
    ///
    /// # Errors
    /// [`Error::Library`] with the reason why the object is refused; otherwise as
    /// [`order`](Self::order).
    pub async fn guard(
        &self,
        peer: &ClusterId,
        changed: &Object,
        is_dry_run: bool,
        adopts: bool,
    ) -> Result<bool, Error> {
        match self.judge(peer, changed, is_dry_run, adopts).await {
            Err(Error::Library(_)) => {
                sleep(SHORTLY).await;
                self.judge(peer, changed, is_dry_run, adopts).await
            }
            verdict => verdict,
        }
    }

    /// Accepts a slice of this cluster for a provider that may itself write in its tenant
    /// namespace here: the consumer's side then signs the slice, as it is here
    /// ([`Machine::guard`](liqo_auth::Machine::guard)). Call this before the slice is stored, if
    /// no user of the provider writes it. `before` is the stored slice that is changed, and
    /// `slice` has the UID that it is stored with. Without a consumer, nothing happens.
    ///
    /// # Errors
    /// As [`order`](Self::order).
    pub async fn vouch(
        &self,
        provider: &ClusterId,
        before: Option<&Object>,
        slice: &Object,
    ) -> Result<(), Error> {
        let Some(consumer) = self.0.sides().consumer else {
            return Ok(());
        };
        let (before, slice) = (before.cloned(), slice.clone());
        // A watch may be behind, and the provider may have changed the slice meanwhile.
        self.order(provider, move |view, env| {
            let others = view.objects().filter(|object| object.id() != slice.id());
            let view = View::of(view.peer(), others.chain(&before));
            consumer.guard(&view, &slice, env)
        })
        .await?;
        Ok(())
    }

    async fn judge(
        &self,
        peer: &ClusterId,
        changed: &Object,
        is_dry_run: bool,
        adopts: bool,
    ) -> Result<bool, Error> {
        let sides = self.0.sides();
        let provider = sides
            .provider
            .map(|side| call(side, changed, is_dry_run, adopts));
        // Liqo signs the slices of this cluster, whoever writes them.
        let consumer = sides
            .consumer
            .filter(|_| changed.id().kind != Kind::ResourceSlice);
        let consumer = consumer.map(|side| call(side, changed, is_dry_run, false));
        let mut is_judged = true;
        for judge in provider.into_iter().chain(consumer) {
            let step = self.0.order(peer, judge).await?;
            is_judged &= step.wait.awaiting.is_empty();
        }
        Ok(is_judged)
    }
}

impl Shared {
    /// Pins for good what a review has pinned for a Tenant or an Identity, once it is stored.
    /// Returns the delay before the next attempt.
    pub(super) async fn confirm(&self, peer: &ClusterId) -> Option<Duration> {
        let sides = self.sides();
        let mut judges: Vec<(Object, Call)> = Vec::new();
        if let Some(provider) = sides.provider {
            let tenants = self.stored(peer, |object| object.id().kind == Kind::Tenant);
            judges.extend(tenants.into_iter().map(|tenant| {
                let judge = call(provider.clone(), &tenant, false, false);
                (tenant, judge)
            }));
        }
        if let Some(consumer) = sides.consumer {
            let name = names::identity_name(peer);
            let identities = self.stored(peer, |object| {
                let id = object.id();
                id.kind == Kind::Identity && id.name == name
            });
            judges.extend(identities.into_iter().map(|identity| {
                let judge = call(consumer.clone(), &identity, false, false);
                (identity, judge)
            }));
        }
        for (object, judge) in judges {
            let call: Call = Arc::new(move |view: &View<'_>, env: Env| {
                // It may be gone by now, or another one.
                match view.objects().any(|stored| *stored == object) {
                    true => judge(view, env),
                    false => Ok(Step::default()),
                }
            });
            match self.execute(peer, &call).await {
                // What is changed past its review confirms nothing.
                Ok(_) | Err(Error::Library(_)) => {}
                Err(_) => {
                    self.counters.failures.add_one();
                    return Some(ONE_SECOND);
                }
            }
        }
        None
    }

    /// Some stored objects of a peer. A peer that has made more delays its own pin.
    fn stored(&self, peer: &ClusterId, is_wanted: impl Fn(&Object) -> bool) -> Vec<Object> {
        let mirror = self.mirror();
        let view = mirror.view(peer);
        let objects = view.iter().flat_map(View::objects);
        let wanted = objects.filter(|object| is_wanted(object));
        wanted.take(MOST_STORED).cloned().collect()
    }
}

fn call(side: impl Machine + 'static, changed: &Object, is_dry_run: bool, adopts: bool) -> Call {
    let changed = changed.clone();
    Arc::new(move |view: &View<'_>, env: Env| -> Result<Step, _> {
        let mut step = match adopts {
            true => side.guard(&vouched(view), &changed, env)?,
            false => side.guard(view, &changed, env)?,
        };
        if is_dry_run {
            step.effects.clear();
            step.events.clear();
        }
        Ok(step)
    })
}

/// The view, with the nonce that Liqo finds there.
fn vouched<'o>(view: &View<'o>) -> View<'o> {
    let secrets = view.objects().filter_map(Secret::from_object);
    let mut found = secrets.filter(|secret| {
        let metadata = &secret.metadata;
        let label = metadata.labels.get(names::NONCE_LABEL).map(String::as_str);
        metadata.name == names::NONCE_SECRET && label == Some(names::TRUE)
    });
    let text = found.next().and_then(|secret| secret.get(names::NONCE));
    let nonce = text.and_then(|text| Nonce::parse(text, &Policy::compatible()).ok());
    match nonce {
        Some(nonce) => view.clone().vouch_for_nonce(&nonce),
        None => view.clone(),
    }
}

const SHORTLY: Duration = Duration::from_millis(300);
const MOST_STORED: usize = 8;
