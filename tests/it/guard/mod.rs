//! What a guard lets Liqo's own module act on.

mod consumer;
mod provider;

use liqo_auth::{
    Machine, View,
    consumer::SliceOptions,
    crypto::Entropy,
    error::Error,
    machine::{Env, Objects, Step},
    model::{Kind, Namespace, Object, ObjectRef, Resource, Timestamp, names},
};

use crate::clusters::{
    exchange::{Exchange, Setup, id},
    store,
};

const AT_PROVIDER: &str = "liqo-tenant-cl-consumer";
const AT_CONSUMER: &str = "liqo-tenant-cl-provider";

/// A peering with a slice. The objects are those of an honest exchange.
fn made() -> Exchange {
    made_by(&Setup::new())
}

fn made_by(setup: &Setup) -> Exchange {
    let mut exchange = setup.exchange();
    exchange.settle();
    let step = exchange.consumer.request_slice(
        &exchange.consumer_view(),
        &SliceOptions::named("mypool"),
        exchange.env(),
    );
    exchange.carry_out(false, step.unwrap());
    for _ in 0..6 {
        exchange.settle().replicate();
    }
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
    exchange
}

/// One side's guard, and the objects of its cluster, where Liqo carries out the exchange.
struct Guarded<M> {
    machine: M,
    peer: &'static str,
    objects: Objects,
    now: Timestamp,
}

impl<M: Machine> Guarded<M> {
    fn new(machine: M, peer: &'static str, now: Timestamp) -> Self {
        let mut objects = store::empty();
        objects.insert(Namespace::for_tenant(&id(peer)).into());
        Self {
            machine,
            peer,
            objects,
            now,
        }
    }

    /// The verdict on an object that is to be stored.
    fn judge(&self, changed: &Object) -> Result<Step, Error> {
        self.judge_in(&self.objects.view(&id(self.peer)), changed)
    }

    fn judge_in(&self, view: &View<'_>, changed: &Object) -> Result<Step, Error> {
        let env = Env {
            now: self.now,
            entropy: Entropy::from_bytes([7; 32]),
        };
        self.machine.guard(view, changed, env)
    }

    /// Stores an object that is let through, and gives it to the guard as it is stored. Returns
    /// what was recorded before.
    fn write(&mut self, changed: impl Into<Object>) -> Step {
        let changed = changed.into();
        let step = self.reserve(&changed);
        let id = changed.id();
        self.objects.insert(changed);
        if matches!(id.kind, Kind::Tenant | Kind::Identity) {
            self.confirm(&id);
        }
        step
    }

    /// Gives an object to the guard as it is stored. Returns what was recorded.
    fn confirm(&mut self, id: &ObjectRef) -> Step {
        let stored = self.objects.object(id).unwrap().clone();
        self.reserve(&stored)
    }

    /// Lets an object through that nobody stores yet. Returns what was recorded.
    fn reserve(&mut self, changed: &Object) -> Step {
        let step = self.judge(changed).unwrap();
        assert_eq!(step.wait.awaiting, []);
        assert!(step.outbox.is_empty());
        for effect in &step.effects {
            assert_eq!(effect.id().namespace, names::LIQO_NAMESPACE, "{effect:?}");
            self.objects.apply(effect).unwrap();
        }
        step
    }

    /// The code of the refusal, and the field.
    fn refused(&self, changed: impl Into<Object>) -> (&'static str, String) {
        let changed = changed.into();
        let error = self.judge(&changed).unwrap_err();
        (error.code(), error.at().field.to_string())
    }
}

fn stored<K: Resource + Clone>(objects: &Objects, namespace: &str, name: &str) -> K {
    objects.get::<K>(namespace, name).unwrap().clone()
}

fn secret(namespace: &str, name: &str) -> ObjectRef {
    ObjectRef::new(Kind::Secret, namespace, name)
}
