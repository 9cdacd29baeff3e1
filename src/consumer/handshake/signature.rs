//! Signing the nonce and making the Tenant.

use std::{collections::BTreeMap, sync::Arc};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::json;

use super::keys::Keys;
use crate::{
    assurance::succession::{KEY_SUCCESSION_ANNOTATION, KeySuccession, Succeeding},
    audit::{Decision, Event},
    consumer::{Consumer, observed::Observed, record::Record},
    crypto::{Csr, Nonce, Payload, PublicKey, SigningKey, Subject, sign_verified},
    error::{Backend, Error},
    machine::{Awaited, Effect, Message, Part, Step, Version, Wait},
    model::{Bytes, Metadata, Resource, Secret, Tenant, TenantSpec, names},
};

/// The nonce is there; its signature or the certificate request is missing.
#[derive(Clone)]
pub struct NeedsSignature<'o> {
    consumer: Consumer,
    pub(in crate::consumer) observed: Observed<'o>,
    key: Arc<dyn SigningKey>,
    predecessor: Option<Arc<dyn SigningKey>>,
    nonce: Nonce,
}

/// Signature and request are stored: the Tenant can be sent, again and again.
#[derive(Clone)]
pub struct AwaitsIdentity<'o> {
    needs: NeedsSignature<'o>,
    csr: Csr,
    signature: Vec<u8>,
    /// The annotation by which the key before this one signed it, where there
    /// is one.
    succession: Option<String>,
}

impl<'o> NeedsSignature<'o> {
    pub(in crate::consumer) fn new(
        consumer: &Consumer,
        observed: Observed<'o>,
        keys: &Keys,
        nonce: Nonce,
    ) -> Self {
        Self {
            consumer: consumer.clone(),
            observed,
            key: Arc::clone(&keys.current),
            predecessor: keys.predecessor.clone(),
            nonce,
        }
    }

    /// What is to be signed.
    pub fn nonce(&self) -> &Nonce {
        &self.nonce
    }

    /// Signs the nonce and makes the request, as far as they are not there
    /// already: what needed the key once is stored, and not made again. The
    /// request is stored before the Tenant is handed out, since not every key
    /// makes the same one twice.
    ///
    /// # Errors
    /// [`LocalFault::Backend`](crate::error::LocalFault::Backend) if the key
    /// fails.
    pub fn sign(&self) -> Result<Step, Error> {
        let mut record = self.observed.record();
        let step = self.plan(&mut record)?;
        Ok(self.observed.with_record(&self.consumer, step, &record))
    }

    /// The step without its record, which others may have something to add to.
    pub(in crate::consumer) fn plan(&self, record: &mut Record) -> Result<Step, Error> {
        let subject = Subject::control_plane(self.consumer.cluster_id());
        let peer = &self.observed.peer;
        let kept = record.csr.as_deref();
        let csr = self.consumer.csr(peer, &subject, &*self.key, kept)?;
        let signature = match self.stored_signature() {
            Some(signature) => signature.to_vec(),
            None => {
                let payload = Payload::nonce(&self.nonce, self.key.public_key());
                sign_verified(&*self.key, &payload)
                    .map_err(|error| Error::backend(Backend::Keys, error))?
                    .into_bytes()
            }
        };
        let succession = match self.stored_succession(record) {
            Some(succession) => succession,
            None => self.make_succession()?,
        };
        record.succession.clone_from(&succession);
        let mut step = Step::default();
        if self.observed.namespace.is_none() {
            step.effects.push(self.observed.create_namespace()?);
        }
        record.csr = Some(csr.pem().to_vec());
        record.ended = None;
        if let Some(effect) = self.store_signature(&signature) {
            step.effects.push(effect);
            let key = self.key.public_key().fingerprint();
            step.events
                .push(Event::new(peer, Decision::NonceSigned).by_key(key));
        }
        let sent = AwaitsIdentity {
            needs: self.clone(),
            csr,
            signature,
            succession,
        };
        step.outbox.push(Message::Tenant(Box::new(sent.tenant())));
        step.wait.awaiting.push(Awaited::Identity);
        Ok(step)
    }

    /// The next phase, if nothing is to be made.
    pub(in crate::consumer) fn already_sent(&self) -> Option<AwaitsIdentity<'o>> {
        Some(AwaitsIdentity {
            csr: self.stored_csr()?,
            signature: self.stored_signature()?.to_vec(),
            succession: self.stored_succession(&self.observed.record())?,
            needs: self.clone(),
        })
    }

    /// Whether the stored signature over this nonce is that key's.
    pub(in crate::consumer) fn was_signed_by(&self, key: Option<&dyn SigningKey>) -> bool {
        key.is_some_and(|key| self.signature_by(key.public_key()).is_some())
    }

    /// The request that was stored, if it is this key's.
    fn stored_csr(&self) -> Option<Csr> {
        let (_, record) = self.observed.record.as_ref()?;
        let subject = Subject::control_plane(self.consumer.cluster_id());
        let policy = self.consumer.policy(&self.observed.peer);
        Csr::verify(
            record.csr.as_deref()?,
            &subject,
            self.key.public_key(),
            policy,
        )
        .ok()
    }

    /// The succession that is on record, if it is the right one; none where no
    /// key goes before.
    fn stored_succession(&self, record: &Record) -> Option<Option<String>> {
        let Some(predecessor) = &self.predecessor else {
            return Some(None);
        };
        let policy = self.consumer.policy(&self.observed.peer);
        let text = record.succession.as_deref()?;
        let succession = KeySuccession::from_annotation(text, policy).ok()?;
        succession
            .verify(&self.succeeding(), predecessor.public_key(), policy)
            .ok()?;
        Some(Some(text.to_owned()))
    }

    fn make_succession(&self) -> Result<Option<String>, Error> {
        let Some(predecessor) = &self.predecessor else {
            return Ok(None);
        };
        KeySuccession::make(&self.succeeding(), &**predecessor)
            .map(|succession| Some(succession.to_annotation()))
            .map_err(|error| Error::backend(Backend::Keys, error))
    }

    fn succeeding(&self) -> Succeeding<'_> {
        Succeeding {
            provider: &self.observed.peer,
            consumer: self.consumer.cluster_id(),
            successor: self.key.public_key(),
            nonce: &self.nonce,
        }
    }

    /// The signature that was stored, if it is this key's over this nonce.
    fn stored_signature(&self) -> Option<&'o [u8]> {
        self.signature_by(self.key.public_key())
    }

    fn signature_by(&self, key: &PublicKey) -> Option<&'o [u8]> {
        let (secret, text) = self.observed.nonce_text()?;
        let signature = secret.data.get(names::SIGNED_NONCE)?.expose();
        let policy = self.consumer.policy(&self.observed.peer);
        let holds = text == self.nonce.as_bytes()
            && key
                .verify(key.nonce_scheme(), text, signature, policy)
                .is_ok();
        holds.then_some(signature)
    }

    fn store_signature(&self, signature: &[u8]) -> Option<Effect> {
        let fields = [
            (names::NONCE, self.nonce.as_bytes()),
            (names::SIGNED_NONCE, signature),
        ];
        let Some(secret) = self.observed.signed_nonce else {
            return Some(Effect::Create(
                Secret {
                    metadata: Metadata {
                        name: names::SIGNED_NONCE_SECRET.to_owned(),
                        namespace: self.observed.namespace_name(),
                        labels: BTreeMap::from([
                            (names::SIGNED_NONCE_LABEL.to_owned(), "true".to_owned()),
                            (
                                names::REMOTE_CLUSTER_ID_LABEL.to_owned(),
                                self.observed.peer.to_string(),
                            ),
                        ]),
                        ..Metadata::default()
                    },
                    data: fields
                        .map(|(name, value)| (name.to_owned(), value.to_vec().into()))
                        .into(),
                    ..Secret::default()
                }
                .into(),
            ));
        };
        let stored = |name: &str| secret.data.get(name).map(|value| value.expose());
        if fields
            .iter()
            .all(|(name, value)| stored(name) == Some(value))
        {
            return None;
        }
        let data: serde_json::Map<_, _> = fields
            .into_iter()
            .map(|(name, value)| (name.to_owned(), STANDARD.encode(value).into()))
            .collect();
        Some(Effect::Patch {
            id: secret.id(),
            version: Version::of(&secret.metadata),
            part: Part::Main,
            patch: json!({ "data": data }),
        })
    }
}

impl AwaitsIdentity<'_> {
    /// What the provider is to apply: the key, the request and the signature.
    /// An Ed25519 key is written raw, since every version of Liqo takes that;
    /// others in PEM.
    pub fn tenant(&self) -> Tenant {
        let NeedsSignature {
            consumer,
            observed,
            key,
            ..
        } = &self.needs;
        let settings = consumer.settings(&observed.peer);
        let consumer_id = consumer.cluster_id().to_string();
        Tenant {
            metadata: Metadata {
                name: consumer_id.clone(),
                namespace: settings
                    .remote_tenant_namespace
                    .as_ref()
                    .map(ToString::to_string)
                    .unwrap_or_default(),
                labels: BTreeMap::from([(
                    names::REMOTE_CLUSTER_ID_LABEL.to_owned(),
                    consumer_id.clone(),
                )]),
                annotations: self
                    .succession
                    .iter()
                    .map(|text| (KEY_SUCCESSION_ANNOTATION.to_owned(), text.clone()))
                    .collect(),
                ..Metadata::default()
            },
            spec: TenantSpec {
                cluster_id: consumer_id,
                public_key: Bytes::from(key.public_key().to_tenant_field()),
                csr: Bytes::from(self.csr.pem()),
                signature: Bytes::from(self.signature.as_slice()),
                proxy_url: settings
                    .proxy_url
                    .as_ref()
                    .map(|url| url.as_str().to_owned()),
                ..TenantSpec::default()
            },
            ..Tenant::default()
        }
    }

    pub(in crate::consumer) fn wait(&self) -> Step {
        Step {
            outbox: vec![Message::Tenant(Box::new(self.tenant()))],
            wait: Wait {
                wake_at: None,
                awaiting: vec![Awaited::Identity],
            },
            ..Step::default()
        }
    }
}
