//! One cluster's objects as a value that is cheap to copy and to compare.

use std::{collections::BTreeMap, sync::Arc};

use liqo_auth::{
    crypto::{CertificateChain, Entropy},
    machine::{Effect, Objects, Version},
    model::{Object, ObjectRef},
};
use sha2::{Digest, Sha256};

/// The objects of one cluster, and what belongs to them: the certificates that its
/// signer has given, and the number of entropies that were used.
///
/// An object's resource version is the digest of its content. So two ways to the
/// same content lead to the same state. An object that changes and changes back has
/// its earlier version; an API server would count on. A write that an API server
/// refuses for that reason alone takes place here: the model explores more.
#[derive(Clone, Default)]
pub struct Store {
    objects: BTreeMap<ObjectRef, Arc<Stored>>,
    /// How many objects of a name are gone. The next one has another UID.
    gone: BTreeMap<ObjectRef, u8>,
    /// The entropies that were used.
    pub drawn: u8,
    /// The certificates of the signer.
    pub ledger: Vec<Arc<Signed>>,
}

struct Stored {
    object: Object,
    digest: [u8; 32],
}

/// A certificate that was signed.
pub struct Signed {
    /// The name of the request: one request has one name.
    pub request: String,
    pub chain: CertificateChain,
}

impl Store {
    pub fn of(objects: impl IntoIterator<Item = Object>) -> Self {
        let mut store = Self::default();
        for object in objects {
            store.put(object);
        }
        store
    }

    pub fn objects(&self) -> impl Iterator<Item = &Object> {
        self.objects.values().map(|stored| &stored.object)
    }

    pub fn get(&self, id: &ObjectRef) -> Option<&Object> {
        self.objects.get(id).map(|stored| &stored.object)
    }

    /// Applies an effect as an API server does; false if the server refuses.
    pub fn apply(&mut self, effect: &Effect) -> bool {
        self.has_version(effect) && self.apply_unversioned(effect)
    }

    /// Applies an effect to whatever version there is.
    pub fn apply_unversioned(&mut self, effect: &Effect) -> bool {
        let id = effect.id();
        // What an effect does to its object is the library's own store's to say.
        let mut one = Objects::new(&Entropy::from_bytes([0; 32]));
        one.extend(self.get(&id).cloned());
        if one.apply(&without_version(effect)).is_err() {
            return false;
        }
        match one.remove(&id) {
            Some(object) => self.put(object),
            None => self.remove(&id),
        }
        true
    }

    /// Puts an object in, as somebody does who needs no version.
    pub fn put(&mut self, mut object: Object) {
        let id = object.id();
        let uid = self.uid(&id);
        let metadata = object.metadata_mut();
        metadata.uid = uid;
        metadata.resource_version.clear();
        // These would tell apart two ways to the same content.
        metadata.generation = 0;
        metadata.creation_timestamp = None;
        let digest = digest_of(&object);
        object.metadata_mut().resource_version = hex(&digest[..8]);
        self.objects.insert(id, Arc::new(Stored { object, digest }));
    }

    /// Deletes an object. It stays, marked, while it has finalizers.
    pub fn delete(&mut self, id: &ObjectRef) {
        self.apply_unversioned(&Effect::Delete {
            id: id.clone(),
            version: Version::default(),
        });
    }

    /// Takes an object away, with or without finalizers.
    pub fn remove(&mut self, id: &ObjectRef) {
        if self.objects.remove(id).is_some() {
            *self.gone.entry(id.clone()).or_default() += 1;
        }
    }

    /// What tells this store from every other one.
    pub fn digest(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        for stored in self.objects.values() {
            hash.update(stored.digest);
        }
        hash.update(b"gone");
        for (id, times) in &self.gone {
            hash.update(id.to_string());
            hash.update([0, *times]);
        }
        hash.update([self.drawn]);
        for signed in &self.ledger {
            hash.update(&signed.request);
            hash.update(Sha256::digest(signed.chain.pem()));
        }
        hash.finalize().into()
    }

    fn has_version(&self, effect: &Effect) -> bool {
        let seen = match effect {
            Effect::Create(_) => return true,
            Effect::Replace { version, .. }
            | Effect::Patch { version, .. }
            | Effect::Delete { version, .. } => version,
        };
        let Some(metadata) = self.get(&effect.id()).map(Object::metadata) else {
            return false;
        };
        metadata.uid == seen.uid && metadata.resource_version == seen.resource_version
    }

    fn uid(&self, id: &ObjectRef) -> String {
        let times = self.gone.get(id).copied().unwrap_or_default();
        let digest = Sha256::digest(id.to_string());
        format!("{}-{times}", hex(&digest[..8]))
    }
}

fn digest_of(object: &Object) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(object.to_value().to_string());
    if let Object::Unreadable(unreadable) = object {
        hash.update(unreadable.reason.to_string());
        hash.update(format!("{:?}", unreadable.metadata));
    }
    hash.finalize().into()
}

fn without_version(effect: &Effect) -> Effect {
    let mut effect = effect.clone();
    match &mut effect {
        Effect::Create(_) => {}
        Effect::Replace { version, .. }
        | Effect::Patch { version, .. }
        | Effect::Delete { version, .. } => *version = Version::default(),
    }
    effect
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
