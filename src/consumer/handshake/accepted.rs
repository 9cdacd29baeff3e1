//! What an Identity has to hold up to before it is used, and before it takes
//! the place of another.

use std::sync::Arc;

use super::keys::Keys;
use crate::{
    assurance::commitment::{Assurance, COMMITMENT_ANNOTATION, Committed, KnownProvider},
    consumer::{
        credentials::holding::Holding,
        look::Look,
        record::{Received, Record},
    },
    crypto::{CertificateError, Fingerprint, Nonce, PublicKey, SigningKey},
    error::{Error, Fault, PeerMisbehaved, Precondition},
    machine::{Holder, Notice},
    model::{Identity, Resource, Timestamp},
    verify::{self, Credentials, IdentityExpectation, VerifiedIdentity},
};

/// A verified Identity, whose key it is for, and what is known of the
/// provider's key.
#[derive(Clone)]
pub struct AcceptedIdentity {
    verified: VerifiedIdentity,
    /// The key that the certificate carries.
    pub(in crate::consumer) key: Arc<dyn SigningKey>,
    by_predecessor: bool,
    assurance: Assurance,
    provider_key: Option<Fingerprint>,
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

impl AcceptedIdentity {
    /// What was verified.
    pub fn identity(&self) -> &VerifiedIdentity {
        &self.verified
    }

    /// How sure it is that the provider is the one meant.
    pub fn assurance(&self) -> Assurance {
        self.assurance
    }

    /// The key that the provider proved, to be compared with its
    /// administrator's word.
    pub fn provider_key(&self) -> Option<Fingerprint> {
        self.provider_key
    }

    /// This cluster's key that the certificate carries.
    pub fn key(&self) -> &PublicKey {
        self.key.public_key()
    }

    /// Whether that key is on its way out, and the provider does not know the
    /// next one yet.
    pub fn awaits_new_key(&self) -> bool {
        self.by_predecessor
    }

    /// When the certificate expires; AWS keys do not.
    pub fn valid_until(&self) -> Option<Timestamp> {
        self.verified.valid_until()
    }

    pub(in crate::consumer) fn notices(&self) -> impl Iterator<Item = Notice> {
        let unproven = (self.assurance == Assurance::Unproven).then_some(Notice::ProviderUnproven);
        let first_seen = self
            .first_seen
            .map(|fingerprint| Notice::ProviderKeyFirstSeen { fingerprint });
        let other_ca = (!self.verified.issued_by_bundle()).then_some(Notice::IssuedByAnotherCa);
        [unproven, first_seen, other_ca].into_iter().flatten()
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

    /// When the certificate came; none of AWS keys, which do not end.
    pub(in crate::consumer) fn received(
        &self,
        holder: &Holder,
        record: Option<&Record>,
        now: Timestamp,
    ) -> Option<Received> {
        let certificate = self.fingerprint()?;
        let known = record
            .and_then(|record| record.received(holder))
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
                if new.der == old.der {
                    return Ok(if same_endpoint {
                        Comparison::Same
                    } else {
                        Comparison::Newer
                    });
                }
                let follows = held.by_predecessor && !self.by_predecessor;
                if follows || new.not_after > old.not_after {
                    return Ok(Comparison::Newer);
                }
                let fault = Precondition::NotNewer {
                    found: new.not_after,
                    held: old.not_after,
                };
                Err((fault.into(), "spec.authParams.signedCRT"))
            }
            (new, old) if new.continues(old) => Ok(Comparison::Newer),
            (Credentials::Aws(_), Credentials::Aws(_)) => Err(other("spec.authParams.awsConfig")),
            _ => Err(other("spec.authParams")),
        }
    }
}

impl Holding<'_> {
    /// Everything that an Identity has to hold up to: its content, the pins of
    /// the first time, and the provider's proof of its own key.
    pub(in crate::consumer) fn accept(
        &self,
        keys: &Keys,
        identity: &Identity,
    ) -> Result<AcceptedIdentity, Error> {
        let current = self.accept_with(&keys.current, identity);
        match (&current, &keys.predecessor) {
            (Err(error), Some(predecessor)) if is_for_another_key(error) => {
                match self.accept_with(predecessor, identity) {
                    Err(error) if is_for_another_key(&error) => current,
                    Err(error) => Err(error),
                    Ok(accepted) => Ok(AcceptedIdentity {
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
        key: &Arc<dyn SigningKey>,
        identity: &Identity,
    ) -> Result<AcceptedIdentity, Error> {
        let Look {
            configuration, now, ..
        } = self.look;
        let (settings, policy) = (self.look.settings(), self.look.policy());
        let (consumer, provider) = (&configuration.cluster_id, self.look.peer());
        let record = self.look.observed.record();
        let expectation = IdentityExpectation {
            consumer,
            provider,
            key: key.public_key(),
            now,
            proxy_url: settings.proxy_url.as_ref(),
            namespace: settings.remote_tenant_namespace.as_ref(),
            publicly_trusted: settings.publicly_trusted,
            pins: self.endpoint.as_ref(),
            slice: self.holder.slice(),
            aws: settings.accept_aws,
        };
        let accepted =
            |verified, assurance, provider_key, first_seen, proven_nonce| AcceptedIdentity {
                verified,
                key: Arc::clone(key),
                by_predecessor: false,
                assurance,
                provider_key,
                first_seen,
                proven_nonce,
            };
        let verified = verify::identity(identity, &expectation, policy)?;
        if expectation.slice.is_some() {
            let (assurance, provider_key) = self.look.assurance_of_endpoint();
            return Ok(accepted(verified, assurance, provider_key, None, None));
        }
        let pinned = record.and_then(|record| record.provider_key);
        let signed = self
            .look
            .observed
            .nonce_text()
            .and_then(|(_, text)| Nonce::parse(text, policy).ok());
        let annotation = identity.metadata.annotations.get(COMMITMENT_ANNOTATION);
        let grade = |nonce: Option<&Nonce>| {
            let committed = Committed {
                nonce: nonce.map(Nonce::as_bytes).unwrap_or_default(),
                provider,
                consumer,
                consumer_key: key.public_key(),
                namespace: identity.spec.namespace.as_deref().unwrap_or_default(),
                auth_params: &identity.spec.auth_params,
            };
            let known = KnownProvider {
                fingerprints: &settings.provider_keys,
                pinned,
                nonce,
            };
            let graded = known.grade(annotation.map(String::as_str), &committed, policy);
            graded.map(|(assurance, key)| (assurance, key, nonce.cloned()))
        };
        // Anyone can hand over another nonce, and have it signed: what was
        // proven under an earlier one stays so.
        let graded = grade(signed.as_ref()).or_else(|fault| {
            match record.and_then(|record| record.proven_nonce.as_ref()) {
                Some(earlier) => grade(Some(earlier)).map_err(|_| fault),
                None => Err(fault),
            }
        });
        let (assurance, provider_key, nonce) = graded.map_err(|fault| {
            Error::new(
                PeerMisbehaved::Commitment(fault),
                Some(identity.id()),
                "metadata.annotations[liqo-auth/commitment]",
            )
        })?;
        let first_seen =
            provider_key.filter(|_| assurance == Assurance::Continuity && pinned.is_none());
        let proven_nonce = provider_key.and(nonce);
        Ok(accepted(
            verified,
            assurance,
            provider_key,
            first_seen,
            proven_nonce,
        ))
    }
}

impl Look<'_> {
    /// An identity of a slice is for the endpoint of the control plane's: it is
    /// as sure as that.
    fn assurance_of_endpoint(&self) -> (Assurance, Option<Fingerprint>) {
        let provider_key = self
            .observed
            .record()
            .and_then(|record| record.provider_key);
        let configured = &self.settings().provider_keys;
        let assurance = match &provider_key {
            None => Assurance::Unproven,
            Some(key) if configured.contains(key) => Assurance::Authenticated,
            Some(_) => Assurance::Continuity,
        };
        (assurance, provider_key)
    }
}

impl core::fmt::Debug for AcceptedIdentity {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter
            .debug_struct("AcceptedIdentity")
            .field("identity", &self.verified)
            .field("assurance", &self.assurance)
            .field("provider_key", &self.provider_key)
            .finish_non_exhaustive()
    }
}

fn is_for_another_key(error: &Error) -> bool {
    matches!(
        error.fault(),
        Fault::PeerMisbehaved(PeerMisbehaved::Certificate(CertificateError::Key { .. }))
    )
}
