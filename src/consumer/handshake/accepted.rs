//! The checks on an Identity before it is used, and before it replaces another one.

use std::sync::Arc;

use crate::{
    assurance::commitment::{Assurance, COMMITMENT_ANNOTATION, Committed, KnownProvider},
    consumer::{
        credentials::holder_context::HolderContext,
        keys::Keys,
        look::Look,
        record::{Received, Record},
    },
    crypto::{Certificate, Fingerprint, Nonce, PublicKey, SigningKey},
    error::{CommitmentFault, Error, Fault, PeerIncompatible, Precondition},
    machine::{Holder, Notice},
    model::{Identity, Timestamp},
    policy::Forms,
    verify::{self, Credentials, IdentityExpectation, VerifiedIdentity},
};

/// A verified Identity, this cluster's key for it, and what is known about the
/// provider's key.
#[derive(Clone, derive_more::Debug)]
#[non_exhaustive]
pub struct AcceptedIdentity {
    /// The verified content.
    pub identity: VerifiedIdentity,
    /// How well the provider is authenticated.
    pub assurance: Assurance,
    /// The key that the provider proved. Compare its fingerprint with the one that
    /// the provider's administrator names.
    pub provider_key: Option<Fingerprint>,
    /// Whether the certificate contains the predecessor of this cluster's present key.
    /// If so, the provider does not know the present key yet.
    #[debug(skip)]
    pub awaits_new_key: bool,
    /// This cluster's key that the certificate carries.
    #[debug(skip)]
    pub(crate) key: Arc<dyn SigningKey>,
    /// The provider's key, if it is neither pinned nor configured.
    #[debug(skip)]
    first_seen: Option<Fingerprint>,
    #[debug(skip)]
    proven_nonce: Option<Nonce>,
    /// That of the certificate, which a look compares several times. `None` for AWS keys.
    #[debug(skip)]
    fingerprint: Option<Fingerprint>,
}

/// How an Identity compares with the stored one.
pub(crate) enum Comparison {
    /// Both Identities have the same certificate, API server and CA.
    Same,
    /// The Identity may replace the stored one.
    Newer,
}

impl AcceptedIdentity {
    /// This cluster's key that the certificate carries.
    pub fn key(&self) -> &PublicKey {
        self.key.public_key()
    }

    /// The certificate, if there are no AWS keys instead.
    pub(crate) fn certificate(&self) -> Option<Certificate> {
        Some(self.identity.credentials.certificate()?.leaf().clone())
    }

    pub(crate) fn notices(&self) -> impl Iterator<Item = Notice> {
        let other_ca = (!self.identity.issued_by_bundle()).then_some(Notice::IssuedByAnotherCa);
        self.notices_of_key().chain(other_ca)
    }

    /// The notices about the provider's key. Unlike [`notices`](Self::notices), this
    /// function does not verify a signature.
    pub(crate) fn notices_of_key(&self) -> impl Iterator<Item = Notice> {
        let unproven = (self.assurance == Assurance::Unproven).then_some(Notice::ProviderUnproven);
        let first_seen = self
            .first_seen
            .map(|fingerprint| Notice::ProviderKeyFirstSeen { fingerprint });
        unproven.into_iter().chain(first_seen)
    }

    /// Records the values that later Identities of the control plane must share with
    /// this one.
    pub(crate) fn record_pins(&self, record: &mut Record) {
        record.released = false;
        record.endpoint = Some(self.identity.pins.clone());
        record.provider_key = self.provider_key.or(record.provider_key);
        if let Some(nonce) = &self.proven_nonce {
            let earlier = record.proven_nonce.replace(nonce.clone());
            // The Identity that the earlier nonce proves stays in use until the next
            // Identity is stored.
            if let Some(earlier) = earlier.filter(|earlier| earlier != nonce) {
                record.remember_signed(earlier);
            }
        }
    }

    /// When the certificate came. `None` for AWS keys, which do not expire.
    pub(crate) fn received(
        &self,
        holder: &Holder,
        record: Option<&Record>,
        now: Timestamp,
    ) -> Option<Received> {
        let certificate = self.fingerprint?;
        let before = record.and_then(|record| record.received(holder));
        let known = before.filter(|received| received.certificate == certificate);
        Some(known.unwrap_or(Received {
            certificate,
            at: now,
            asked: None,
            none_before: before.and_then(|received| received.none_before),
        }))
    }

    /// When this certificate begins, if it takes the place of one that ends later.
    pub(crate) fn begins_anew(&self, held: &Self) -> Option<Timestamp> {
        let new = self.identity.credentials.certificate()?.leaf();
        let old = held.identity.credentials.certificate()?.leaf();
        begins_anew(new, old).then_some(new.not_before)
    }

    /// Checks whether this verified Identity may replace the stored one. An older
    /// certificate and another user's credentials may not replace it.
    pub(crate) fn compare(&self, held: &Self) -> Result<Comparison, (Fault, &'static str)> {
        let other = |field| (PeerIncompatible::OtherCredentials.into(), field);
        match (&self.identity.credentials, &held.identity.credentials) {
            (Credentials::Certificate(new), Credentials::Certificate(old)) => {
                let (new, old) = (new.leaf(), old.leaf());
                let is_same = new.der == old.der;
                if is_same && self.identity.pins == held.identity.pins {
                    return Ok(Comparison::Same);
                }
                let follows = held.awaits_new_key && !self.awaits_new_key;
                let is_newer = new.not_after > old.not_after || begins_anew(new, old);
                if is_same || follows || is_newer {
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

/// Whether a certificate ends earlier than another one, and was issued later all the same: its
/// signer has another CA or another lifetime now.
fn begins_anew(new: &Certificate, old: &Certificate) -> bool {
    new.not_after < old.not_after && new.not_before > old.not_before
}

impl HolderContext<'_> {
    /// Checks that a certificate is not older than one that took the place of a longer one. The
    /// longer one would come back otherwise, since it ends later.
    pub(crate) fn check_begin(&self, accepted: &AcceptedIdentity) -> Result<(), Error> {
        let none_before = self.recorded().and_then(|it| it.none_before);
        let begins = accepted.identity.credentials.certificate();
        let begins = begins.map(|chain| chain.leaf().not_before);
        let (Some(found), Some(none_before)) = (begins, none_before) else {
            return Ok(());
        };
        if found >= none_before {
            return Ok(());
        }
        let fault = Precondition::Older { found, none_before };
        Err(Error::new(fault, None, "spec.authParams.signedCRT"))
    }

    /// Makes all checks on an Identity: its content, the recorded pins, and the
    /// provider's proof of its own key.
    pub(crate) fn accept(
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
                        awaits_new_key: true,
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
        let (consumer, provider) = (configuration.cluster_id(), self.look.peer());
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
            |identity: VerifiedIdentity, assurance, provider_key, first_seen, proven_nonce| {
                AcceptedIdentity {
                    fingerprint: { identity.credentials.certificate() }
                        .map(|chain| chain.leaf().fingerprint()),
                    identity,
                    key: Arc::clone(key),
                    awaits_new_key: false,
                    assurance,
                    provider_key,
                    first_seen,
                    proven_nonce,
                }
            };
        let verified = verify::identity(identity, &expectation, policy)?;
        if expectation.slice.is_some() {
            let (assurance, provider_key) = self.look.assurance_of_endpoint();
            return Ok(accepted(verified, assurance, provider_key, None, None));
        }
        let pinned = self.look.observed.pinned_key();
        let signed = self.look.stored_nonce();
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
                may_be_unproven: settings.accept_unproven_provider
                    || policy.forms == Forms::Compatible,
            };
            let graded = known.grade(annotation.map(String::as_str), &committed, policy);
            graded.map(|(assurance, key)| (assurance, key, nonce.cloned()))
        };
        // Anyone can deliver another nonce, which this cluster then signs. So a
        // proof for the recorded proven nonce stays valid. The provider's latest
        // nonce may also arrive before the answer to an earlier one. Such an answer
        // counts if both nonces commit the provider to the same key.
        let graded = grade(signed.as_ref()).or_else(|fault| {
            let before = record.map_or(&[][..], |record| &record.signed_before);
            let by_same_key = before.iter().rev().filter(|earlier| {
                signed
                    .as_ref()
                    .is_some_and(|signed| signed.commits_as(earlier))
            });
            let proven = record.and_then(|record| record.proven_nonce.as_ref());
            let mut earlier = proven.into_iter().chain(by_same_key);
            earlier
                .find_map(|earlier| grade(Some(earlier)).ok())
                .ok_or(fault)
        });
        let (assurance, provider_key, nonce) = graded.map_err(|fault| {
            let fault = match fault {
                // `liqoctl` does not carry annotations.
                CommitmentFault::Missing => Fault::from(PeerIncompatible::CommitmentMissing),
                fault => PeerIncompatible::Commitment(fault).into(),
            };
            let field = "metadata.annotations[liqo-auth/commitment]";
            Error::found_in(identity, field, fault)
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
    /// The assurance of a slice's identity. This identity is for the control plane's
    /// endpoint, and so has the control plane's assurance.
    fn assurance_of_endpoint(&self) -> (Assurance, Option<Fingerprint>) {
        let provider_key = self.observed.pinned_key();
        let configured = &self.settings().provider_keys;
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
        Fault::PeerIncompatible(PeerIncompatible::CertificateKey { .. })
    )
}
