//! Signing the nonce and making the Tenant.

use crate::{
    assurance::{
        key_and_signature::{KeyAndSignature, Statement},
        succession::{KEY_SUCCESSION_ANNOTATION, Succeeding},
    },
    audit::{Decision, Event},
    consumer::{keys::Keys, look::Look, record::Plan},
    crypto::{Csr, Nonce, Payload, PublicKey, SigningKey, Subject, sign_verified},
    error::Error,
    machine::answering::signed,
    model::{Bytes, Metadata, Secret, Tenant, TenantSpec, names},
};

/// A nonce, and the keys that sign for it. The present key signs the nonce and the
/// certificate request. Its predecessor signs the succession.
///
/// Each signature is stored when it comes, and is not made again, since some
/// algorithms give another signature each time. The Tenant waits for all signatures.
pub(crate) struct Signing<'a> {
    pub(crate) look: &'a Look<'a>,
    pub(crate) keys: &'a Keys,
    pub(crate) nonce: &'a Nonce,
}

impl Look<'_> {
    pub(crate) fn signing<'s>(&'s self, keys: &'s Keys, nonce: &'s Nonce) -> Signing<'s> {
        Signing {
            look: self,
            keys,
            nonce,
        }
    }
}

impl Signing<'_> {
    /// Stores the nonce, asks the keys for the missing signatures, and sends the
    /// Tenant once no signature is missing.
    ///
    /// # Errors
    /// [`LocalFault::Backend`](crate::error::LocalFault::Backend) if a key fails.
    pub(crate) fn sign(&self, plan: &mut Plan<'_>) -> Result<(), Error> {
        let key = &*self.keys.current;
        let subject = Subject::control_plane(self.look.configuration.cluster_id());
        let kept = self.look.observed.kept_request();
        let csr = self.look.csr(&subject, key, kept, plan)?;
        let succession = match self.stored_succession() {
            Some(succession) => Some(succession),
            None => self.make_succession(plan)?,
        };
        // If an Identity is stored, only the missing signature shows that the nonce
        // still has to be signed. So the signature is stored last.
        let comes_last = self.look.observed.identity.is_some();
        let signature = match self.stored_signature() {
            Some(signature) => Some(signature.to_vec()),
            None if comes_last && (csr.is_none() || succession.is_none()) => None,
            None => self.make_signature(plan)?,
        };
        plan.records.change(|record| {
            record.begin(self.nonce);
            if let Some(csr) = &csr {
                record.csr = Some(csr.pem().to_vec());
            }
            if let Some(succession) = &succession {
                record.succession.clone_from(succession);
            }
        });
        self.look
            .store_nonce(self.nonce, signature.as_deref(), plan)?;
        if let (Some(csr), Some(signature), Some(succession)) = (csr, signature, succession) {
            let tenant = self.tenant(&csr, &signature, succession.as_deref());
            self.look.send_tenant(&tenant, plan);
        }
        Ok(())
    }

    /// The Tenant, if all of its parts are stored.
    pub(crate) fn stored_tenant(&self) -> Option<Tenant> {
        let (csr, signature) = (self.stored_csr()?, self.stored_signature()?);
        let succession = self.stored_succession()?;
        Some(self.tenant(&csr, signature, succession.as_deref()))
    }

    /// Whether the stored signature over this nonce is by this key.
    pub(crate) fn was_signed_by(&self, key: Option<&dyn SigningKey>) -> bool {
        key.is_some_and(|key| self.signature_by(key.public_key()).is_some())
    }

    /// The stored certificate request, if it is by the present key.
    fn stored_csr(&self) -> Option<Csr> {
        let subject = Subject::control_plane(self.look.configuration.cluster_id());
        let pem = self.look.observed.kept_request()?;
        let key = self.keys.current.public_key();
        Csr::verify(pem, &subject, key, self.look.policy()).ok()
    }

    /// The recorded succession, if it verifies. The inner value is `None` if the
    /// present key has no predecessor.
    fn stored_succession(&self) -> Option<Option<String>> {
        let Some(predecessor) = &self.keys.predecessor else {
            return Some(None);
        };
        let policy = self.look.policy();
        let text = self.look.observed.record()?.succession.as_deref()?;
        let succession = KeyAndSignature::from_annotation(text, policy)?;
        self.succeeding()
            .verify(&succession, predecessor.public_key(), policy)
            .ok()?;
        Some(Some(text.to_owned()))
    }

    fn make_succession(&self, plan: &mut Plan<'_>) -> Result<Option<Option<String>>, Error> {
        let Some(predecessor) = &self.keys.predecessor else {
            return Ok(Some(None));
        };
        let succeeding = self.succeeding();
        let succession = signed(
            || succeeding.sign(&**predecessor),
            plan,
            || succeeding.signature_id(predecessor.public_key()),
        )?;
        Ok(succession.map(|succession| Some(succession.to_annotation())))
    }

    fn succeeding(&self) -> Succeeding<'_> {
        Succeeding {
            provider: self.look.peer(),
            consumer: self.look.configuration.cluster_id(),
            successor: self.keys.current.public_key().spki_der(),
            nonce: self.nonce,
        }
    }

    fn make_signature(&self, plan: &mut Plan<'_>) -> Result<Option<Vec<u8>>, Error> {
        let (key, peer) = (&*self.keys.current, self.look.peer());
        let payload = Payload::nonce(self.nonce, key.public_key()).for_peer(Some(peer));
        let signature = signed(|| sign_verified(key, &payload), plan, || payload.id())?;
        if signature.is_some() {
            let signed = Event::new(peer, Decision::NonceSigned);
            plan.tell(signed.by_key(key.public_key().fingerprint()));
        }
        Ok(signature.map(|signature| signature.0))
    }

    /// The stored signature, if the present key made it over this nonce.
    fn stored_signature(&self) -> Option<&[u8]> {
        self.signature_by(self.keys.current.public_key())
    }

    fn signature_by(&self, key: &PublicKey) -> Option<&[u8]> {
        let (secret, text) = self.look.observed.nonce_text()?;
        let signature = secret.get(names::SIGNED_NONCE)?;
        let holds = text == self.nonce.as_bytes()
            && key
                .verify(key.nonce_scheme(), text, signature, self.look.policy())
                .is_ok();
        holds.then_some(signature)
    }

    /// The Tenant that the provider applies, with the key, the certificate request and
    /// the signature. An Ed25519 key is written raw, since every version of Liqo
    /// accepts this form. Other keys are written in PEM.
    fn tenant(&self, csr: &Csr, signature: &[u8], succession: Option<&str>) -> Tenant {
        let settings = self.look.settings();
        let consumer = self.look.configuration.cluster_id().as_str();
        let namespace = settings.remote_tenant_namespace.as_ref();
        Tenant {
            metadata: Metadata {
                annotations: succession
                    .map(|text| (KEY_SUCCESSION_ANNOTATION.to_owned(), text.to_owned()))
                    .into_iter()
                    .collect(),
                ..Metadata::labelled(
                    consumer,
                    namespace.map(ToString::to_string).unwrap_or_default(),
                    [(names::REMOTE_CLUSTER_ID_LABEL, consumer)],
                )
            },
            spec: TenantSpec {
                cluster_id: consumer.to_owned(),
                public_key: Bytes::from(self.keys.current.public_key().to_tenant_field()),
                csr: Bytes::from(csr.pem()),
                signature: Bytes::from(signature),
                proxy_url: settings
                    .proxy_url
                    .as_ref()
                    .map(|url| url.as_str().to_owned()),
                ..TenantSpec::default()
            },
            ..Tenant::default()
        }
    }
}

impl Look<'_> {
    /// Stores a nonce with its signature. Without a signature, the nonce is stored
    /// alone until the key signs it.
    pub(crate) fn store_nonce(
        &self,
        nonce: &Nonce,
        signature: Option<&[u8]>,
        plan: &mut Plan<'_>,
    ) -> Result<(), Error> {
        self.ensure_namespace(plan)?;
        let replaced = self.observed.nonce_text().filter(|(secret, text)| {
            *text != nonce.as_bytes() && secret.get(names::SIGNED_NONCE).is_some()
        });
        if let Some((_, text)) = replaced
            && let Ok(earlier) = Nonce::parse(text, self.policy())
        {
            plan.records
                .change(|record| record.remember_signed(earlier));
        }
        let fill = |secret: &mut Secret| {
            let data = &mut secret.data;
            data.insert(names::NONCE.to_owned(), nonce.as_bytes().to_vec().into());
            // A stored signature is over another nonce.
            data.remove(names::SIGNED_NONCE);
            let signed = |signature: &[u8]| (names::SIGNED_NONCE.to_owned(), signature.into());
            data.extend(signature.map(signed));
        };
        if let Some(stored) = self.observed.signed_nonce {
            plan.edit(stored, fill);
            return Ok(());
        }
        let labels = self.nonce_labels();
        let (name, namespace) = (names::SIGNED_NONCE_SECRET, self.observed.namespace_name());
        let mut secret = Secret::labelled(name, namespace, labels, []);
        fill(&mut secret);
        plan.create(secret);
        Ok(())
    }

    /// The labels by which Liqo finds the signed nonce.
    pub(crate) fn nonce_labels(&self) -> [(&'static str, &str); 2] {
        [
            (names::SIGNED_NONCE_LABEL, names::TRUE),
            (names::REMOTE_CLUSTER_ID_LABEL, self.peer().as_str()),
        ]
    }
}
