//! What a hostile cluster does: the messages that it sends, and what it writes where
//! Liqo's ClusterRoles let it write.

mod consumer;
mod provider;

use liqo_auth::{
    crypto::Nonce,
    machine::{Message, Side},
    model::{ClusterId, Metadata, Object, ObjectRef, Secret, names},
    policy::Policy,
};

use crate::{
    cast::Name,
    deeds::{Deed, Forgery, Hostile},
    state::State,
    store::Store,
    world::World,
};

/// The deeds that a state allows.
pub fn possible(world: &World, state: &State) -> Vec<Deed> {
    match world.configuration.hostile {
        Hostile::Nobody => Vec::new(),
        Hostile::Consumer => consumer::possible(world, state),
        Hostile::Provider => provider::possible(world, state),
        Hostile::Both => {
            let mut deeds = consumer::possible(world, state);
            deeds.extend(provider::possible(world, state));
            deeds
        }
    }
}

/// The state in which the hostile consumer is let in, and everything is carried out.
pub fn let_in(world: &World, state: &State) -> State {
    consumer::let_in(world, state)
}

/// The state after a deed; none if it changes nothing.
pub fn done(world: &World, state: &State, deed: Deed) -> Option<State> {
    match deed {
        Deed::Answer { nonce, how } => consumer::answer(world, state, nonce, how),
        Deed::WriteAtProvider(write) => {
            let mut store = (*world.store(state.provider)).clone();
            consumer::write(world, &mut store, write)?;
            Some(at_provider(world, state, store))
        }
        Deed::Send(forgery) => {
            let message = provider::forge(world, forgery);
            Some(send(world, state, &message))
        }
        Deed::Relay { nonce } => {
            let message = world.message(nonce);
            let relayed = Message {
                from: world.cast.id(Name::Hostile).clone(),
                ..(*message).clone()
            };
            Some(send(world, state, &relayed))
        }
        Deed::WriteAtConsumer(write) => {
            let stored = world.stored_at(state, provider::AT);
            let mut store = (*world.store(stored)).clone();
            provider::write(world, &mut store, write)?;
            let store = world.keep(store);
            let mut next = *state;
            match world.cluster(provider::AT) {
                Side::Provider => next.provider = store,
                Side::Consumer => next.consumer = store,
            }
            Some(next)
        }
    }
}

/// Whether a nonce names these two clusters.
pub fn is_for(nonce: &[u8], provider: &ClusterId, consumer: &ClusterId) -> bool {
    let Ok(nonce) = Nonce::parse(nonce, &Policy::compatible()) else {
        return false;
    };
    // A nonce of unmodified Liqo names nobody.
    let structured = nonce.structured();
    structured.is_none_or(|nonce| nonce.is_for(provider, consumer))
}

/// The message of a hostile provider, for planted faults.
pub fn forged(world: &World, forgery: Forgery) -> Message {
    provider::forge(world, forgery)
}

/// A Tenant of the honest consumer's name that cannot be read, in a namespace of no peer.
pub fn misplaced(world: &World, store: &mut Store) {
    let consumer = world.cast.id(Name::Consumer);
    store.put(Object::from_value(serde_json::json!({
        "apiVersion": names::API_VERSION,
        "kind": "Tenant",
        "metadata": {
            "name": consumer.as_str(),
            "namespace": "default",
        },
        "spec": 7,
    })));
}

fn send(world: &World, state: &State, message: &Message) -> State {
    State {
        air: world.with_messages(state.air, core::slice::from_ref(message)),
        ..*state
    }
}

fn at_provider(world: &World, state: &State, store: Store) -> State {
    State {
        provider: world.keep(store),
        ..*state
    }
}

fn delete(store: &mut Store, id: &ObjectRef) -> Option<()> {
    store.get(id)?;
    store.delete(id);
    Some(())
}

/// Creates an object, or writes over the one of its name.
fn put(store: &mut Store, object: Object) -> Option<()> {
    store.put(object);
    Some(())
}

/// A Secret in a peer's tenant namespace, labelled as its owner's.
fn secret(peer: &ClusterId, namespace: &str, name: &str, data: &[(&str, &[u8])]) -> Secret {
    let data = data
        .iter()
        .map(|(key, value)| ((*key).to_owned(), value.to_vec().into()));
    Secret {
        metadata: metadata(
            namespace,
            name,
            &[(names::REMOTE_CLUSTER_ID_LABEL, peer.as_str())],
        ),
        data: data.collect(),
        ..Secret::default()
    }
}

fn metadata(namespace: &str, name: &str, labels: &[(&str, &str)]) -> Metadata {
    Metadata {
        name: name.to_owned(),
        namespace: namespace.to_owned(),
        labels: labels.iter().copied().collect(),
        ..Metadata::default()
    }
}

const FINALIZER: &str = "peer.example.com/keep";
