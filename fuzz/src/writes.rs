//! What a peer writes in its tenant namespace by the rights that Liqo's ClusterRoles give it.

use std::collections::BTreeMap;

use liqo_auth::{
    Step,
    machine::Objects,
    model::{
        ClusterId, Kind, Metadata, Namespace, Object, ObjectRef, Secret, SecretBytes, Tenant, names,
    },
};
use proptest::{arbitrary::any, strategy::BoxedStrategy};

use crate::draw;

/// One write: which object, which parts of it are honest, and the seed of the others.
pub type Write = [u8; 18];

/// The writes in the bytes, and at most six.
pub fn writes(bytes: &[u8]) -> impl Iterator<Item = &Write> {
    let (writes, _) = bytes.as_chunks();
    writes.iter().take(6)
}

/// Writes or deletes a Secret of one of these names. Each bit of the second byte decides on
/// one part.
pub fn write_secret(store: &mut Objects, peer: &ClusterId, names: &[String], write: &Write) {
    thread_local! {
        // Made once, because compiling the regular expressions takes long.
        static SECRETS: BoxedStrategy<Secret> = any::<Secret>();
    }
    let [number, how, seed @ ..] = write;
    let is = |bit: u8| how & (1 << bit) != 0;
    let namespace = names::tenant_namespace(peer);
    let Some(name) = names.get(usize::from(*number) % names.len()) else {
        return;
    };
    let id = ObjectRef::new(Kind::Secret, &namespace, name);
    let Some(mut secret) = SECRETS.with(|secrets| draw(secrets, seed)) else {
        return;
    };
    let present = store.get::<Secret>(&namespace, name).cloned();
    if let Some(present) = &present {
        if is(0) {
            secret.metadata = present.metadata.clone();
        }
        secret.data = match is(1) {
            true => present.data.clone(),
            false => with_keys_of(present, &secret),
        };
        secret.immutable &= is(2);
    }
    if is(3) {
        store.delete(&id);
        if is(4) {
            return;
        }
    }
    place(&mut secret.metadata, &namespace, name, is(5));
    secret.metadata.uid = match store.get::<Secret>(&namespace, name) {
        Some(present) => present.metadata.uid.clone(),
        None => String::new(),
    };
    store.insert(secret.into());
}

/// The place of an object that a peer writes. The peer may also keep it by a finalizer.
pub fn place(metadata: &mut Metadata, namespace: &str, name: &str, stays: bool) {
    namespace.clone_into(&mut metadata.namespace);
    name.clone_into(&mut metadata.name);
    metadata.deletion_timestamp = None;
    metadata.uid.clear();
    metadata.finalizers.clear();
    if stays {
        metadata.finalizers.push("peer.example.com/keep".to_owned());
    }
}

/// Makes steps and carries them out until nothing is left to do. Returns whether that is soon.
pub fn settles(store: &mut Objects, step: impl Fn(&Objects) -> Step) -> bool {
    (0..32).any(|_| look(store, &step))
}

/// Makes a step and carries it out. Returns whether nothing is left to do.
pub fn look(store: &mut Objects, step: impl Fn(&Objects) -> Step) -> bool {
    let step = step(store);
    for effect in &step.effects {
        store.apply(effect).expect("nobody else writes");
    }
    step.is_settled()
}

/// Writes an object of a manifest into a namespace. An API server takes it only if it has a
/// name and can be read.
pub fn write_manifest(store: &mut Objects, namespace: &str, mut object: Object) {
    let name = object.id().name;
    if object.as_unreadable().is_none() && !name.is_empty() {
        place(object.metadata_mut(), namespace, &name, false);
        store.insert(object);
    }
}

/// The objects of another peer, which nothing may change.
pub fn bystander() -> [Object; 3] {
    let peer: ClusterId = "cl-bystander".parse().expect("it is an ID");
    let metadata = |name: &str| Metadata {
        name: name.to_owned(),
        namespace: names::tenant_namespace(&peer),
        ..Metadata::default()
    };
    [
        Namespace::for_tenant(&peer).into(),
        Tenant {
            metadata: metadata(peer.as_str()),
            ..Tenant::default()
        }
        .into(),
        Secret {
            metadata: metadata(names::NONCE_SECRET),
            ..Secret::default()
        }
        .into(),
    ]
}

/// The content of another Secret under the keys of the present one.
fn with_keys_of(present: &Secret, other: &Secret) -> BTreeMap<String, SecretBytes> {
    let values = other.data.values();
    let keys = present.data.keys();
    keys.zip(values)
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// All objects that are neither in this namespace nor among the excepted ones.
pub fn others<'o>(
    store: &'o Objects,
    namespace: &'o str,
    excepted: impl Fn(&ObjectRef) -> bool + 'o,
) -> impl Iterator<Item = &'o Object> {
    store.iter().filter(move |object| {
        let id = object.id();
        id.namespace != namespace && !excepted(&id)
    })
}
