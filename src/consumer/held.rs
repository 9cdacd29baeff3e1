//! Storing the kubeconfig, and holding it.

use core::time::Duration;
use std::{collections::BTreeMap, sync::Arc};

use super::{Consumer, PeerSettings, seen::Seen};
use crate::{
    commitment::{Assurance, COMMITMENT_ANNOTATION, Committed, KnownProvider},
    crypto::{ClientKey, Fingerprint, Nonce, SigningKey},
    error::{Error, LocalFault, PeerMisbehaved},
    model::{
        Bytes, ExecCredential, Identity, Kind, Kubeconfig, LocalObjectReference, Metadata,
        ObjectRef, OwnerReference, Resource, Secret, SecretBytes, Timestamp, UserCredential, names,
    },
    step::{Awaited, Effect, Notice, Part, Step, Version, Wait},
    verify::{self, IdentityExpectation, VerifiedIdentity},
};

/// The Identity is verified; its kubeconfig is to be stored.
#[derive(Clone)]
pub struct NeedsKubeconfig<'o> {
    consumer: Consumer,
    seen: Seen<'o>,
    key: Arc<dyn SigningKey>,
    identity: &'o Identity,
    accepted: Accepted,
}

/// The kubeconfig is stored and names what the Identity says.
#[derive(Clone)]
pub struct Held<'o>(NeedsKubeconfig<'o>);

/// A verified Identity, and what is known of the provider's key.
#[derive(Clone)]
pub(super) struct Accepted {
    verified: VerifiedIdentity,
    assurance: Assurance,
    provider_key: Option<Fingerprint>,
    /// The same, if it is not pinned yet and nobody has vouched for it.
    first_seen: Option<Fingerprint>,
    proven_nonce: Option<Nonce>,
}

impl<'o> NeedsKubeconfig<'o> {
    pub(super) fn new(
        consumer: &Consumer,
        seen: Seen<'o>,
        key: Arc<dyn SigningKey>,
        identity: &'o Identity,
        accepted: Accepted,
    ) -> Self {
        Self {
            consumer: consumer.clone(),
            seen,
            key,
            identity,
            accepted,
        }
    }

    /// What was verified.
    pub fn identity(&self) -> &VerifiedIdentity {
        &self.accepted.verified
    }

    /// How sure it is that the provider is the one meant.
    pub fn assurance(&self) -> Assurance {
        self.accepted.assurance
    }

    /// The key that the provider proved, to be compared with its
    /// administrator's word.
    pub fn provider_key(&self) -> Option<Fingerprint> {
        self.accepted.provider_key
    }

    /// Pins what the Identity says, stores the kubeconfig, and names it in the
    /// Identity's status.
    ///
    /// # Errors
    /// [`LocalFault::KeyNotExportable`] if no kubeconfig can reach the key.
    pub fn store(&self) -> Result<Step, Error> {
        if self.identity.metadata.uid.is_empty() {
            return Ok(Step::awaiting(Awaited::Uid(self.identity.id())));
        }
        let mut step = Step::default();
        step.effects.extend(self.missing_pins());
        step.effects.extend(self.missing_kubeconfig()?);
        step.effects.extend(self.missing_status());
        step.notices.extend(self.accepted.notices());
        Ok(step)
    }

    pub(super) fn is_stored(&self) -> Result<bool, Error> {
        Ok(self.missing_kubeconfig()?.is_none() && self.missing_status().is_none())
    }

    fn missing_pins(&self) -> Option<Effect> {
        record_pins(&self.consumer, &self.seen, &self.accepted)
    }

    fn missing_kubeconfig(&self) -> Result<Option<Effect>, Error> {
        let wanted = self.secret()?;
        let Some(present) = self.seen.kubeconfig else {
            return Ok(Some(Effect::Create(wanted.into())));
        };
        if present.data.get(names::KUBECONFIG) == wanted.data.get(names::KUBECONFIG) {
            return Ok(None);
        }
        // Finalizers of others stay; the rest is wholly ours.
        let mut replaced = wanted;
        replaced
            .metadata
            .finalizers
            .clone_from(&present.metadata.finalizers);
        Ok(Some(Effect::Replace {
            object: replaced.into(),
            version: Version::of(&present.metadata),
        }))
    }

    fn missing_status(&self) -> Option<Effect> {
        let mut wanted = self.identity.clone();
        wanted.status.kubeconfig_secret_ref = Some(LocalObjectReference {
            name: names::kubeconfig_secret(&self.identity.metadata.name),
        });
        Effect::patch(self.identity, wanted, Part::Status)
    }

    fn secret(&self) -> Result<Secret, Error> {
        let namespace = self.accepted.verified.namespace().to_string();
        let labels = [
            (names::REMOTE_CLUSTER_ID_LABEL, self.seen.peer.to_string()),
            (
                names::IDENTITY_TYPE_LABEL,
                self.identity.spec.identity_type.to_string(),
            ),
        ];
        let text = self.kubeconfig()?.to_yaml();
        Ok(Secret {
            metadata: Metadata {
                name: names::kubeconfig_secret(&self.identity.metadata.name),
                namespace: self.identity.metadata.namespace.clone(),
                labels: labels
                    .map(|(label, value)| (label.to_owned(), value))
                    .into(),
                annotations: BTreeMap::from([(
                    names::REMOTE_TENANT_NAMESPACE_ANNOTATION.to_owned(),
                    namespace,
                )]),
                owner_references: vec![OwnerReference::controller(self.identity)],
                ..Metadata::default()
            },
            data: BTreeMap::from([(names::KUBECONFIG.to_owned(), text)]),
            ..Secret::default()
        })
    }

    fn kubeconfig(&self) -> Result<Kubeconfig, Error> {
        let auth_params = &self.identity.spec.auth_params;
        let certificate = auth_params.signed_crt.clone();
        let credential = credential(certificate, self.key.client_key())?;
        Ok(Kubeconfig {
            cluster: self.identity.spec.cluster_id.clone(),
            user: self.identity.metadata.name.clone(),
            server: auth_params.api_server.clone(),
            certificate_authority: auth_params.ca.clone(),
            credential,
            proxy_url: self
                .accepted
                .verified
                .proxy_url()
                .map(|url| url.as_str().to_owned()),
            namespace: Some(self.accepted.verified.namespace().to_string()),
        })
    }
}

/// How the user of a kubeconfig reaches its key.
pub(crate) fn credential(certificate: Bytes, key: ClientKey) -> Result<UserCredential, Error> {
    Ok(match key {
        ClientKey::Pem(key) => UserCredential::KeyData {
            certificate,
            key: SecretBytes::from(key.as_str().as_bytes()),
        },
        ClientKey::File(key) => UserCredential::KeyFile { certificate, key },
        ClientKey::Exec(plugin) => UserCredential::Exec(ExecCredential {
            api_version: plugin.api_version,
            command: plugin.command,
            args: plugin.args,
            env: plugin.env,
        }),
        ClientKey::NotExportable => {
            return Err(Error::new(LocalFault::KeyNotExportable, None, ""));
        }
    })
}

impl Held<'_> {
    /// Where the kubeconfig is: a Secret with the key `kubeconfig`.
    pub fn kubeconfig_secret(&self) -> ObjectRef {
        let identity = &self.0.identity.metadata;
        ObjectRef::new(
            Kind::Secret,
            identity.namespace.as_str(),
            names::kubeconfig_secret(&identity.name),
        )
    }

    /// What was verified.
    pub fn identity(&self) -> &VerifiedIdentity {
        &self.0.accepted.verified
    }

    /// How sure it is that the provider is the one meant.
    pub fn assurance(&self) -> Assurance {
        self.0.accepted.assurance
    }

    /// The key that the provider proved, to be compared with its
    /// administrator's word.
    pub fn provider_key(&self) -> Option<Fingerprint> {
        self.0.accepted.provider_key
    }

    /// When the certificate expires.
    pub fn valid_until(&self) -> Timestamp {
        self.identity().certificate().leaf().not_after()
    }

    /// Pins what was not pinned yet: the first time, or after Liqo made the
    /// exchange.
    ///
    /// # Errors
    /// None at present.
    pub fn maintain(&self) -> Result<Step, Error> {
        Ok(Step {
            effects: self.0.missing_pins().into_iter().collect(),
            notices: self.0.accepted.notices(),
            wait: Wait {
                wake_at: Some(self.valid_until() + ONE_SECOND),
                awaiting: Vec::new(),
            },
            ..Step::default()
        })
    }
}

impl<'o> Held<'o> {
    pub(super) fn new(stored: NeedsKubeconfig<'o>) -> Self {
        Self(stored)
    }
}

impl Accepted {
    pub(super) fn notices(&self) -> Vec<Notice> {
        let unproven = (self.assurance == Assurance::Unproven).then_some(Notice::ProviderUnproven);
        let first_seen = self
            .first_seen
            .map(|fingerprint| Notice::ProviderKeyFirstSeen { fingerprint });
        let other_ca = (!self.verified.issued_by_bundle()).then_some(Notice::IssuedByAnotherCa);
        unproven
            .into_iter()
            .chain(first_seen)
            .chain(other_ca)
            .collect()
    }
}

impl Consumer {
    /// Everything that an Identity has to hold up to: its content, the pins of
    /// the first time, and the provider's proof of its own key.
    pub(super) fn verify_identity(
        &self,
        seen: &Seen<'_>,
        key: &Arc<dyn SigningKey>,
        identity: &Identity,
        now: Timestamp,
    ) -> Result<Accepted, Error> {
        let settings: &PeerSettings = self.settings(&seen.peer);
        let policy = self.policy(&seen.peer);
        let record = seen.record();
        let expectation = IdentityExpectation {
            consumer: self.cluster_id(),
            provider: &seen.peer,
            key: key.public_key(),
            now,
            proxy_url: settings.proxy_url.as_ref(),
            namespace: settings.remote_tenant_namespace.as_ref(),
            publicly_trusted: settings.publicly_trusted,
            pins: record.endpoint.as_ref(),
        };
        let verified = verify::identity(identity, &expectation, policy)?;
        let signed = seen
            .nonce_text()
            .and_then(|(_, text)| Nonce::parse(text, policy).ok());
        let annotation = identity.metadata.annotations.get(COMMITMENT_ANNOTATION);
        let grade = |nonce: Option<&Nonce>| {
            let committed = Committed {
                nonce: nonce.map(Nonce::as_bytes).unwrap_or_default(),
                provider: &seen.peer,
                consumer: self.cluster_id(),
                consumer_key: key.public_key(),
                namespace: identity.spec.namespace.as_deref().unwrap_or_default(),
                auth_params: &identity.spec.auth_params,
            };
            let known = KnownProvider {
                fingerprints: &settings.provider_keys,
                pinned: record.provider_key,
                nonce,
            };
            let graded = known.grade(annotation.map(String::as_str), &committed, policy);
            graded.map(|(assurance, key)| (assurance, key, nonce.cloned()))
        };
        // Anyone can hand over another nonce, and have it signed: what was
        // proven under an earlier one stays so.
        let graded = grade(signed.as_ref()).or_else(|fault| match &record.proven_nonce {
            Some(earlier) => grade(Some(earlier)).map_err(|_| fault),
            None => Err(fault),
        });
        let (assurance, provider_key, nonce) = graded.map_err(|fault| {
            Error::new(
                PeerMisbehaved::Commitment(fault),
                Some(identity.id()),
                "metadata.annotations[liqo-auth/commitment]",
            )
        })?;
        Ok(Accepted {
            verified,
            assurance,
            first_seen: provider_key
                .filter(|_| assurance == Assurance::Continuity && record.provider_key.is_none()),
            proven_nonce: provider_key.and(nonce),
            provider_key,
        })
    }
}

/// The effect that keeps what later Identities have to have in common with
/// this one, if it is not kept yet.
pub(super) fn record_pins(
    consumer: &Consumer,
    seen: &Seen<'_>,
    accepted: &Accepted,
) -> Option<Effect> {
    let mut record = seen.record();
    record.endpoint = Some(accepted.verified.pins().clone());
    record.provider_key = accepted.provider_key.or(record.provider_key);
    record.proven_nonce = accepted.proven_nonce.clone().or(record.proven_nonce);
    record.store(consumer, seen.record.as_ref(), &seen.peer)
}

/// A certificate is good through the second that it ends with.
const ONE_SECOND: Duration = Duration::from_secs(1);
