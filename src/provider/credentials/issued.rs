//! The authenticated phase: handing out the Identity.

use core::time::Duration;
use std::collections::BTreeMap;

use crate::{
    assurance::commitment::COMMITMENT_ANNOTATION,
    crypto::{CertificateChain, Nonce, PublicKey},
    error::Error,
    machine::{Effect, Message, Step},
    model::{
        ClusterId, Identity, IdentitySpec, IdentityType, Metadata, NamespaceName, Timestamp, names,
    },
    provider::{
        NeedsProof, NeedsRights,
        record::peer::{IssuedCertificate, Record},
        slice::SliceTerms,
    },
    verify::Credentials,
};

/// The peer has a certificate or an AWS user, rights, and an Identity that can be handed out.
#[derive(Clone)]
pub struct Issued<'o> {
    pub(in crate::provider) granted: NeedsRights<'o>,
    pub(in crate::provider) nonce: Nonce,
    pub(in crate::provider) now: Timestamp,
    adoption: Option<Box<NeedsProof<'o>>>,
}

impl<'o> Issued<'o> {
    pub(in crate::provider) fn new(granted: NeedsRights<'o>, nonce: Nonce, now: Timestamp) -> Self {
        Self {
            granted,
            nonce,
            now,
            adoption: None,
        }
    }

    /// The same, left by Liqo: this library's record is still to be made.
    pub(in crate::provider) fn adopted_by(self, proof: NeedsProof<'o>) -> Self {
        Self {
            adoption: Some(Box::new(proof)),
            ..self
        }
    }

    /// What the consumer is to apply. Like `liqoctl generate identity`, it has
    /// no namespace unless one is given: the consumer's tenant namespace.
    pub fn identity(&self, namespace: Option<&NamespaceName>) -> Identity {
        let provider = self.granted.provider.cluster_id();
        let commitment = self.stored_commitment().map(str::to_owned);
        Identity {
            metadata: Metadata {
                name: names::identity_name(provider),
                namespace: namespace.map(ToString::to_string).unwrap_or_default(),
                labels: BTreeMap::from([(
                    names::REMOTE_CLUSTER_ID_LABEL.to_owned(),
                    provider.to_string(),
                )]),
                annotations: commitment
                    .map(|commitment| (COMMITMENT_ANNOTATION.to_owned(), commitment))
                    .into_iter()
                    .collect(),
                ..Metadata::default()
            },
            spec: IdentitySpec {
                cluster_id: provider.to_string(),
                identity_type: IdentityType::ControlPlane,
                auth_params: self.granted.auth_params(),
                namespace: Some(self.granted.observed.namespace_name()),
            },
            ..Identity::default()
        }
    }

    /// What the peer authenticates by.
    pub fn credentials(&self) -> &Credentials {
        self.granted.credential.credentials()
    }

    /// When the certificate expires; AWS keys do not.
    pub fn valid_until(&self) -> Option<Timestamp> {
        self.granted.credential.valid_until()
    }

    /// The certificate that was issued; none where there is an AWS user instead.
    pub fn certificate(&self) -> Option<&CertificateChain> {
        self.granted.credential.chain()
    }

    /// The peer's key.
    pub fn public_key(&self) -> &PublicKey {
        self.granted.verified.public_key()
    }

    pub(in crate::provider) fn peer(&self) -> &ClusterId {
        &self.granted.observed.peer
    }

    /// When a signer that failed is to be asked again, at the latest.
    pub(in crate::provider) fn try_again_at(&self) -> Timestamp {
        let issued = self.granted.observed.issued();
        self.now + issued.map_or(ONE_SECOND, IssuedCertificate::pause)
    }

    /// Hands out the Identity, and mends what someone took away: the marks on
    /// the Tenant, the record of an exchange that Liqo made, the commitment to
    /// an endpoint that has changed.
    ///
    /// # Errors
    /// [`LocalFault::Backend`](crate::error::LocalFault::Backend) if the
    /// provider's own key fails.
    pub fn maintain(&self) -> Result<Step, Error> {
        if let Some(adoption) = &self.adoption {
            return adoption.record_with(self.certificate());
        }
        let mut step = Step::default();
        let NeedsRights {
            provider,
            observed,
            tenant,
            ..
        } = &self.granted;
        provider.tighten_condition(observed, tenant, &mut step);
        if step.is_settled() {
            step.effects.extend(self.renewed_record()?);
        }
        if step.is_settled() {
            step.effects.extend(self.granted.missing_marks());
            step.outbox
                .push(Message::Identity(Box::new(self.identity(None))));
        }
        step.wake_by(self.valid_until().map(|until| until + ONE_SECOND));
        Ok(step)
    }

    /// What this gives to the peer's slices.
    pub(in crate::provider) fn slice_terms(&self) -> SliceTerms {
        let NeedsRights {
            provider,
            tenant,
            verified,
            ..
        } = &self.granted;
        SliceTerms {
            key: Some(verified.public_key().clone()),
            tenant_uid: tenant.metadata.uid.clone(),
            auth_params: provider.auth_params(verified.proxy_url()),
        }
    }

    /// The record with a commitment to what the Identity says now, under the
    /// present record key.
    fn renewed_record(&self) -> Result<Option<Effect>, Error> {
        let NeedsRights {
            provider,
            observed,
            verified,
            ..
        } = &self.granted;
        let Some((secret, record)) = &observed.record else {
            return Ok(None);
        };
        let Some(proof) = &record.proof else {
            return Ok(None);
        };
        let commitment =
            provider.commit(observed, verified, &self.nonce, proof.commitment.as_ref())?;
        let key = &provider.0.record_key;
        let resealed =
            Record::is_sealed_by_predecessor(secret, key, provider.cluster_id(), &observed.peer);
        if commitment == proof.commitment && !resealed {
            return Ok(None);
        }
        let mut renewed = record.clone();
        if let Some(proof) = &mut renewed.proof {
            proof.commitment = commitment;
        }
        Ok(Some(provider.write_record(observed, &renewed)))
    }

    fn stored_commitment(&self) -> Option<&str> {
        let (_, record) = self.granted.observed.record.as_ref()?;
        Some(record.proof.as_ref()?.commitment.as_ref()?.annotation())
    }
}

/// A certificate is good through the second that it ends with.
const ONE_SECOND: Duration = Duration::from_secs(1);
