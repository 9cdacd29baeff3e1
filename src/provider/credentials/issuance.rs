//! What every request to sign has in common: how long, whether the answer fits
//! it, and where the certificate is kept.

use core::time::Duration;
use std::collections::BTreeMap;

use crate::{
    audit::{Decision, Event},
    crypto::{
        CertificateChain, ClientCertificateExpectation, Csr, Fingerprint, PublicKey, Subject,
    },
    error::{ApiMisuse, Error, PolicyRefusal, shortened},
    machine::{Effect, Refused, Step, Version},
    model::{ClusterId, Metadata, ObjectRef, Secret, Timestamp, names},
    policy::Policy,
    provider::{Provider, SigningRequest, record::peer::IssuedCertificate},
};

/// The Secret in the peer's tenant namespace that keeps a certificate, as Liqo
/// does. The peer can write there: once there is a record, nothing in it is
/// believed.
#[derive(Clone)]
pub(in crate::provider) struct CertificateSecret<'o> {
    pub(in crate::provider) namespace: String,
    pub(in crate::provider) name: String,
    pub(in crate::provider) peer: ClusterId,
    pub(in crate::provider) stored: Option<&'o Secret>,
}

/// Whom a certificate has to be for, and when it has to hold.
#[derive(Clone, Copy)]
pub(in crate::provider) struct Bearer<'a> {
    pub(in crate::provider) subject: &'a Subject,
    pub(in crate::provider) key: &'a PublicKey,
    pub(in crate::provider) now: Timestamp,
}

impl CertificateSecret<'_> {
    /// Keeps the certificate there, with the request as the peer wrote it,
    /// unless both are there.
    pub(in crate::provider) fn keep(&self, csr: &[u8], chain: &CertificateChain) -> Option<Effect> {
        let data = BTreeMap::from([
            (names::CSR.to_owned(), csr.to_vec().into()),
            (names::CERTIFICATE.to_owned(), chain.pem().to_vec().into()),
        ]);
        if self.stored.is_some_and(|stored| stored.data == data) {
            return None;
        }
        let secret = Secret {
            metadata: Metadata {
                name: self.name.clone(),
                namespace: self.namespace.clone(),
                labels: BTreeMap::from([(
                    names::REMOTE_CLUSTER_ID_LABEL.to_owned(),
                    self.peer.to_string(),
                )]),
                ..Metadata::default()
            },
            data,
            // An API server lets nobody change it.
            secret_type: self.stored.and_then(|stored| stored.secret_type.clone()),
        };
        Some(match self.stored {
            None => Effect::Create(secret.into()),
            Some(stored) => Effect::Replace {
                object: secret.into(),
                version: Version::of(&stored.metadata),
            },
        })
    }

    /// The certificate that Liqo left for this request as the peer wrote it.
    pub(in crate::provider) fn left_by_liqo(
        &self,
        csr: &[u8],
        bearer: Bearer<'_>,
        policy: &Policy,
    ) -> Option<CertificateChain> {
        let chain = self.stored?.get(names::CERTIFICATE)?;
        let chain = CertificateChain::from_pem(chain, policy).ok()?;
        let issued = self.stored?.get(names::CSR)? == csr;
        (issued && bearer.check(&chain, policy).is_ok()).then_some(chain)
    }

    /// Deletes it, if it is there.
    pub(in crate::provider) fn delete(&self) -> Option<Effect> {
        self.stored.map(Effect::delete)
    }
}

impl Bearer<'_> {
    /// The certificate that is on record for this request, if it can still be
    /// used.
    pub(in crate::provider) fn issued(
        &self,
        issued: &IssuedCertificate,
        csr: &Csr,
        policy: &Policy,
    ) -> Option<CertificateChain> {
        let chain = issued.chain_for(csr, policy)?;
        self.check(&chain, policy).is_ok().then_some(chain)
    }

    fn check(&self, chain: &CertificateChain, policy: &Policy) -> Result<(), Error> {
        let expectation = ClientCertificateExpectation {
            subject: self.subject,
            key: self.key,
            now: self.now,
        };
        chain
            .check_client(&expectation, policy)
            .map_err(|error| Error::new(ApiMisuse::SignerCertificate(error), None, ""))
    }
}

/// That the signer's answer is for its request.
pub(in crate::provider) fn check_answer(
    request: &SigningRequest,
    chain: &CertificateChain,
    policy: &Policy,
) -> Result<(), Error> {
    let bearer = Bearer {
        subject: &request.subject,
        key: &request.public_key,
        now: request.now,
    };
    bearer.check(chain, policy)
}

/// The lifetime that is asked for: what is configured, as far as the peer's
/// policy takes it.
pub(in crate::provider) fn lifetime(provider: &Provider, peer: &ClusterId) -> Duration {
    let limit = provider.policy(peer).limits().certificate_lifetime;
    provider
        .0
        .certificate_lifetime
        .min(limit.saturating_sub(BACKDATED))
}

/// That a certificate was issued, for the audit.
pub(in crate::provider) fn event(
    request: &SigningRequest,
    about: ObjectRef,
    chain: &CertificateChain,
    replaces: Option<Fingerprint>,
) -> Event {
    let leaf = chain.leaf();
    let issued = Decision::CertificateIssued {
        request: request.id,
        certificate: leaf.fingerprint(),
        until: leaf.not_after(),
        replaces,
    };
    Event::new(&request.peer, issued)
        .about(about)
        .by_key(request.public_key.fingerprint())
}

/// That the signer denied the request in this object.
pub(in crate::provider) fn denied(id: ObjectRef, reason: &str) -> Step {
    let reason = shortened(reason);
    Step {
        refused: vec![Refused {
            object: Some(id.clone()),
            error: Error::new(
                PolicyRefusal::SigningDenied { reason },
                Some(id),
                "spec.csr",
            ),
        }],
        ..Step::default()
    }
}

/// What a signer may set notBefore back, and then some.
const BACKDATED: Duration = Duration::from_secs(10 * 60);
