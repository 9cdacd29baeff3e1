//! What an Identity has to hold up to before it is used, and before it takes
//! the place of another.

use std::sync::Arc;

use super::keys::Keys;
use crate::{
    assurance::commitment::{Assurance, COMMITMENT_ANNOTATION, Committed, KnownProvider},
    consumer::{
        Consumer, PeerSettings,
        observed::{Observed, Purpose},
        record::{Received, Record},
    },
    crypto::{CertificateError, Fingerprint, Nonce, SigningKey},
    error::{Error, Fault, PeerMisbehaved, Precondition},
    machine::Notice,
    model::{Identity, Resource, Timestamp},
    verify::{self, Credentials, IdentityExpectation, VerifiedIdentity},
};

/// A verified Identity, whose key it is for, and what is known of the
/// provider's key.
#[derive(Clone)]
pub(in crate::consumer) struct Accepted {
    pub(in crate::consumer) verified: VerifiedIdentity,
    /// The key that the certificate carries.
    pub(in crate::consumer) key: Arc<dyn SigningKey>,
    /// Whether that is the key on its way out.
    pub(in crate::consumer) by_predecessor: bool,
    pub(in crate::consumer) assurance: Assurance,
    pub(in crate::consumer) provider_key: Option<Fingerprint>,
    /// The same, if it is not pinned yet and nobody has vouched for it.
    first_seen: Option<Fingerprint>,
    proven_nonce: Option<Nonce>,
}

/// How an Identity compares with the one that is held.
pub(in crate::consumer) enum Comparison {
    /// It says the same.
    Same,
    /// It may take its place.
    Newer,
}

impl Accepted {
    pub(in crate::consumer) fn notices(&self) -> Vec<Notice> {
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

    /// Keeps what later Identities of the control plane have to have in common
    /// with this one.
    pub(in crate::consumer) fn record_pins(&self, record: &mut Record) {
        record.released = false;
        record.endpoint = Some(self.verified.pins().clone());
        record.provider_key = self.provider_key.or(record.provider_key);
        record.proven_nonce = self
            .proven_nonce
            .clone()
            .or_else(|| record.proven_nonce.take());
    }

    /// Keeps when the certificate came.
    pub(in crate::consumer) fn record_receipt(
        &self,
        purpose: Purpose<'_>,
        record: &mut Record,
        now: Timestamp,
    ) {
        if let Some(received) = self.received(purpose, record, now) {
            record.set_received(purpose, received);
        }
    }

    /// When the certificate came; none of AWS keys, which do not end.
    pub(in crate::consumer) fn received(
        &self,
        purpose: Purpose<'_>,
        record: &Record,
        now: Timestamp,
    ) -> Option<Received> {
        let certificate = self.fingerprint()?;
        let known = record
            .received(purpose)
            .filter(|received| received.certificate == certificate);
        Some(known.unwrap_or(Received {
            certificate,
            at: now,
            asked: None,
        }))
    }

    pub(in crate::consumer) fn fingerprint(&self) -> Option<Fingerprint> {
        let chain = self.verified.certificate()?;
        Some(chain.leaf().fingerprint())
    }

    /// Whether this one, which was verified, may take the place of the one that
    /// is held: never an older one, or one of another user.
    pub(in crate::consumer) fn compare(
        &self,
        held: &Self,
    ) -> Result<Comparison, (Fault, &'static str)> {
        let other = |field| (PeerMisbehaved::OtherCredentials.into(), field);
        let same_endpoint = self.verified.pins() == held.verified.pins();
        match (self.verified.credentials(), held.verified.credentials()) {
            (Credentials::Certificate(new), Credentials::Certificate(old)) => {
                let (new, old) = (new.leaf(), old.leaf());
                if new.der() == old.der() {
                    return Ok(if same_endpoint {
                        Comparison::Same
                    } else {
                        Comparison::Newer
                    });
                }
                let follows = held.by_predecessor && !self.by_predecessor;
                if follows || new.not_after() > old.not_after() {
                    return Ok(Comparison::Newer);
                }
                let fault = Precondition::NotNewer {
                    found: new.not_after(),
                    held: old.not_after(),
                };
                Err((fault.into(), "spec.authParams.signedCRT"))
            }
            (Credentials::Aws(new), Credentials::Aws(old)) => {
                if (new.arn(), new.cluster(), new.region())
                    != (old.arn(), old.cluster(), old.region())
                {
                    return Err(other("spec.authParams.awsConfig"));
                }
                Ok(Comparison::Newer)
            }
            _ => Err(other("spec.authParams")),
        }
    }
}

impl Consumer {
    /// Everything that an Identity has to hold up to: its content, the pins of
    /// the first time, and the provider's proof of its own key.
    pub(in crate::consumer) fn accept(
        &self,
        observed: &Observed<'_>,
        keys: &Keys,
        identity: &Identity,
        now: Timestamp,
    ) -> Result<Accepted, Error> {
        let current = self.accept_with(observed, &keys.current, identity, now);
        match (&current, &keys.predecessor) {
            (Err(error), Some(predecessor)) if is_for_another_key(error) => {
                match self.accept_with(observed, predecessor, identity, now) {
                    Err(error) if is_for_another_key(&error) => current,
                    Err(error) => Err(error),
                    Ok(accepted) => Ok(Accepted {
                        by_predecessor: true,
                        ..accepted
                    }),
                }
            }
            _ => current,
        }
    }

    fn accept_with(
        &self,
        observed: &Observed<'_>,
        key: &Arc<dyn SigningKey>,
        identity: &Identity,
        now: Timestamp,
    ) -> Result<Accepted, Error> {
        let settings: &PeerSettings = self.settings(&observed.peer);
        let policy = self.policy(&observed.peer);
        let expectation = IdentityExpectation {
            consumer: self.cluster_id(),
            provider: &observed.peer,
            key: key.public_key(),
            now,
            proxy_url: settings.proxy_url.as_ref(),
            namespace: settings.remote_tenant_namespace.as_ref(),
            publicly_trusted: settings.publicly_trusted,
            pins: observed.endpoint.as_ref(),
            aws: settings.accept_aws,
        };
        let accepted = |verified, assurance, provider_key, first_seen, proven_nonce| Accepted {
            verified,
            key: Arc::clone(key),
            by_predecessor: false,
            assurance,
            provider_key,
            first_seen,
            proven_nonce,
        };
        if let Purpose::Slice(slice) = observed.purpose {
            let name = &slice.metadata.name;
            let verified = verify::slice_identity(identity, name, &expectation, policy)?;
            let (assurance, provider_key) = self.assurance_of_endpoint(observed);
            return Ok(accepted(verified, assurance, provider_key, None, None));
        }
        let verified = verify::identity(identity, &expectation, policy)?;
        let record = observed.record();
        let signed = observed
            .nonce_text()
            .and_then(|(_, text)| Nonce::parse(text, policy).ok());
        let annotation = identity.metadata.annotations.get(COMMITMENT_ANNOTATION);
        let grade = |nonce: Option<&Nonce>| {
            let committed = Committed {
                nonce: nonce.map(Nonce::as_bytes).unwrap_or_default(),
                provider: &observed.peer,
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
        let first_seen = provider_key
            .filter(|_| assurance == Assurance::Continuity && record.provider_key.is_none());
        let proven_nonce = provider_key.and(nonce);
        Ok(accepted(
            verified,
            assurance,
            provider_key,
            first_seen,
            proven_nonce,
        ))
    }

    /// An identity of a slice is for the endpoint of the control plane's: it is
    /// as sure as that.
    fn assurance_of_endpoint(&self, observed: &Observed<'_>) -> (Assurance, Option<Fingerprint>) {
        let provider_key = observed.record().provider_key;
        let configured = &self.settings(&observed.peer).provider_keys;
        let assurance = match &provider_key {
            None => Assurance::Unproven,
            Some(key) if configured.contains(key) => Assurance::Authenticated,
            Some(_) => Assurance::Continuity,
        };
        (assurance, provider_key)
    }
}

fn is_for_another_key(error: &Error) -> bool {
    matches!(
        error.fault(),
        Fault::PeerMisbehaved(PeerMisbehaved::Certificate(CertificateError::Key { .. }))
    )
}
