//! The documents that are inspected together: a nonce in one of them verifies a Tenant
//! in another, and a Tenant's key an Identity.

use liqo_auth::{
    crypto::{Nonce, PublicKey},
    model::{ClusterId, Object, ObjectRef, Resource, Secret, names},
    policy::Policy,
};

/// What the documents of one call say about each other.
#[derive(Default)]
pub(super) struct Companions {
    nonces: Vec<(ObjectRef, Nonce)>,
    keys: Vec<(ObjectRef, String, PublicKey)>,
}

impl Companions {
    pub(super) fn of<'o>(objects: impl Iterator<Item = &'o Object>) -> Self {
        let mut all = Self::default();
        for object in objects {
            match object {
                Object::Secret(secret) => all.nonces.extend(nonce(secret)),
                Object::Tenant(tenant) => {
                    let key = tenant.spec.public_key.as_slice();
                    if let Ok(key) = PublicKey::from_tenant_field(key, &Policy::compatible()) {
                        let consumer = tenant.spec.cluster_id.clone();
                        all.keys.push((tenant.id(), consumer, key));
                    }
                }
                _ => {}
            }
        }
        all
    }

    /// The nonces, each with its Secret.
    pub(super) fn nonces(&self) -> impl Iterator<Item = (&ObjectRef, &Nonce)> {
        self.nonces.iter().map(|(secret, nonce)| (secret, nonce))
    }

    /// The keys of a consumer's Tenants.
    pub(super) fn keys_of(
        &self,
        consumer: &ClusterId,
    ) -> impl Iterator<Item = (&ObjectRef, &PublicKey)> {
        let keys = self.keys.iter();
        let keys = keys.filter(move |(_, named, _)| named == consumer.as_str());
        keys.map(|(tenant, _, key)| (tenant, key))
    }
}

fn nonce(secret: &Secret) -> Option<(ObjectRef, Nonce)> {
    let name = secret.metadata.name.as_str();
    if ![names::NONCE_SECRET, names::SIGNED_NONCE_SECRET].contains(&name) {
        return None;
    }
    let nonce = Nonce::parse(secret.get(names::NONCE)?, &Policy::compatible()).ok()?;
    Some((secret.id(), nonce))
}
