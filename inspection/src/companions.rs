//! The files that are inspected together: a nonce in one of them verifies a Tenant in another,
//! and a Tenant's key an Identity.

use liqo_auth::{
    crypto::{Nonce, PublicKey},
    model::{ClusterId, Object, ObjectRef, Resource, Secret, names},
    policy::Policy,
};

use crate::{input::Input, recognition::Recognised};

/// What the files of one call say about each other.
#[derive(Debug, Default)]
pub struct Companions {
    /// Each with its Secret or its file.
    nonces: Vec<(String, Nonce)>,
    keys: Vec<(ObjectRef, String, PublicKey)>,
}

impl Companions {
    /// What these files say about each other.
    pub fn of(inputs: &[Input]) -> Self {
        let mut all = Self::default();
        let bare = inputs
            .iter()
            .filter(|it| it.bare == Some(Recognised::Nonce));
        all.nonces.extend(bare.filter_map(|input| {
            let nonce = Nonce::parse(input.text.trim_ascii(), &Policy::compatible());
            Some((input.name.clone(), nonce.ok()?))
        }));
        for object in inputs.iter().flat_map(|input| &input.objects) {
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

    /// The nonces, each with the name of its Secret or its file.
    pub(crate) fn nonces(&self) -> impl Iterator<Item = (&str, &Nonce)> {
        let nonces = self.nonces.iter();
        nonces.map(|(name, nonce)| (name.as_str(), nonce))
    }

    /// The keys of a consumer's Tenants.
    pub(crate) fn keys_of(
        &self,
        consumer: &ClusterId,
    ) -> impl Iterator<Item = (&ObjectRef, &PublicKey)> {
        let keys = self.keys.iter();
        let keys = keys.filter(move |(_, named, _)| named == consumer.as_str());
        keys.map(|(tenant, _, key)| (tenant, key))
    }
}

fn nonce(secret: &Secret) -> Option<(String, Nonce)> {
    let name = secret.metadata.name.as_str();
    if ![names::NONCE_SECRET, names::SIGNED_NONCE_SECRET].contains(&name) {
        return None;
    }
    let nonce = Nonce::parse(secret.get(names::NONCE)?, &Policy::compatible()).ok()?;
    Some((secret.id().to_string(), nonce))
}
