//! Storing the kubeconfig of an Identity.

use std::collections::BTreeMap;

use crate::{
    assurance::commitment::Assurance,
    audit::{Decision, Event},
    consumer::{
        Consumer,
        handshake::accepted::Accepted,
        observed::{Observed, Purpose},
        record::Record,
    },
    crypto::Fingerprint,
    error::{Error, LocalFault},
    machine::{Awaited, Effect, Part, Step, Version},
    model::{
        Identity, Kubeconfig, LocalObjectReference, Metadata, OwnerReference, Resource, Secret,
        SecretBytes, Timestamp, UserCredential, names,
    },
    verify::{Credentials, VerifiedIdentity},
};

/// The Identity is verified; its kubeconfig is to be stored.
#[derive(Clone)]
pub struct NeedsKubeconfig<'o> {
    pub(in crate::consumer) consumer: Consumer,
    pub(in crate::consumer) observed: Observed<'o>,
    pub(in crate::consumer) identity: &'o Identity,
    pub(in crate::consumer) accepted: Accepted,
    pub(in crate::consumer) now: Timestamp,
}

impl<'o> NeedsKubeconfig<'o> {
    pub(in crate::consumer) fn new(
        consumer: &Consumer,
        observed: Observed<'o>,
        identity: &'o Identity,
        accepted: Accepted,
        now: Timestamp,
    ) -> Self {
        Self {
            consumer: consumer.clone(),
            observed,
            identity,
            accepted,
            now,
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
        let mut record = self.observed.record();
        let step = self.plan(&mut record)?;
        Ok(self.observed.with_record(&self.consumer, step, &record))
    }

    /// The step without its record, which others may have something to add to.
    pub(in crate::consumer) fn plan(&self, record: &mut Record) -> Result<Step, Error> {
        if self.identity.metadata.uid.is_empty() {
            return Ok(Step::awaiting(Awaited::Uid(self.identity.id())));
        }
        let mut step = Step::default();
        step.effects.extend(self.missing_kubeconfig()?);
        step.effects.extend(self.missing_status());
        self.keep(record, &mut step);
        Ok(step)
    }

    /// Records the certificate and what it pins.
    pub(in crate::consumer) fn keep(&self, record: &mut Record, step: &mut Step) {
        let purpose = self.observed.purpose;
        let certificate = self.accepted.fingerprint();
        let known = record
            .received(purpose)
            .map(|received| received.certificate);
        // What was released is believed anew of another Identity only.
        let is_released = record.released && certificate.is_some() && known == certificate;
        if matches!(purpose, Purpose::ControlPlane) && !is_released {
            self.accepted.record_pins(record);
        }
        self.accepted.record_receipt(purpose, record, self.now);
        if certificate.is_some() && known != certificate {
            let decision = Decision::IdentityTaken { certificate };
            let key = self.accepted.key.public_key().fingerprint();
            step.events.push(
                Event::new(&self.observed.peer, decision)
                    .about(self.identity.id())
                    .by_key(key),
            );
        }
        if matches!(purpose, Purpose::ControlPlane) {
            step.notices.extend(self.accepted.notices());
        }
    }

    pub(in crate::consumer) fn is_stored(&self) -> Result<bool, Error> {
        Ok(self.missing_kubeconfig()?.is_none() && self.missing_status().is_none())
    }

    fn missing_kubeconfig(&self) -> Result<Option<Effect>, Error> {
        let wanted = self.secret()?;
        let Some(present) = self.observed.kubeconfig else {
            return Ok(Some(Effect::Create(wanted.into())));
        };
        if present.data == wanted.data {
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
        let labels = [
            (
                names::REMOTE_CLUSTER_ID_LABEL,
                self.observed.peer.to_string(),
            ),
            (
                names::IDENTITY_TYPE_LABEL,
                self.identity.spec.identity_type.to_string(),
            ),
        ];
        let annotation = self.identity().namespace().map(|namespace| {
            (
                names::REMOTE_TENANT_NAMESPACE_ANNOTATION.to_owned(),
                namespace.to_string(),
            )
        });
        let text = self.kubeconfig()?.to_yaml();
        let mut data = self.aws_keys();
        data.insert(names::KUBECONFIG.to_owned(), text);
        Ok(Secret {
            metadata: Metadata {
                name: names::kubeconfig_secret(&self.identity.metadata.name),
                namespace: self.identity.metadata.namespace.clone(),
                labels: labels
                    .map(|(label, value)| (label.to_owned(), value))
                    .into(),
                annotations: annotation.into_iter().collect(),
                owner_references: vec![OwnerReference::controller(self.identity)],
                ..Metadata::default()
            },
            data,
            ..Secret::default()
        })
    }

    fn kubeconfig(&self) -> Result<Kubeconfig, Error> {
        let auth_params = &self.identity.spec.auth_params;
        let verified = self.identity();
        let credential = match verified.credentials() {
            Credentials::Certificate(_) => self
                .accepted
                .key
                .client_key()
                .into_user(auth_params.signed_crt.clone())
                .ok_or_else(|| Error::new(LocalFault::KeyNotExportable, None, ""))?,
            // Liqo puts this cluster's private key there, which nothing reads.
            Credentials::Aws(_) => UserCredential::Elsewhere,
        };
        Ok(Kubeconfig {
            cluster: self.identity.spec.cluster_id.clone(),
            user: self.identity.metadata.name.clone(),
            server: auth_params.api_server.clone(),
            certificate_authority: auth_params.ca.clone(),
            credential,
            proxy_url: verified.proxy_url().map(|url| url.as_str().to_owned()),
            namespace: verified.namespace().map(ToString::to_string),
        })
    }

    /// What Liqo makes a token for EKS of, beside the kubeconfig.
    fn aws_keys(&self) -> BTreeMap<String, SecretBytes> {
        let Some(config) = &self.identity.spec.auth_params.aws_config else {
            return BTreeMap::new();
        };
        [
            (names::AWS_ACCESS_KEY_ID, config.aws_access_key_id.as_str()),
            (
                names::AWS_SECRET_ACCESS_KEY,
                config.aws_secret_access_key.expose(),
            ),
            (names::AWS_REGION, config.aws_region.as_str()),
            (names::AWS_EKS_CLUSTER_ID, config.aws_cluster_name.as_str()),
            (names::AWS_IAM_USER_ARN, config.aws_user_arn.as_str()),
        ]
        .map(|(key, value)| (key.to_owned(), SecretBytes::from(value.as_bytes())))
        .into()
    }
}
