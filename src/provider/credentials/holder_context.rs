//! One holder, with its verified request and its credentials on record.

use super::{Credential, CredentialRequest};
use crate::{
    audit::{Decision, Event},
    crypto::{
        CertificateChain, ClientCas, ClientCertificateExpectation, Csr, Nonce, PublicKey, Subject,
    },
    error::{ApiMisuse, Error, PolicyRefusal},
    machine::Holder,
    model::{ClusterId, ObjectRef, Secret, names},
    provider::{
        look::Look,
        record::{HeldCredentials, HeldKey},
        records::Plan,
    },
};

/// A holder whose request is verified.
pub(crate) struct HolderContext<'a> {
    pub(crate) look: Look<'a>,
    pub(crate) holder: Holder,
    /// The Tenant or the slice that contains the request.
    pub(crate) about: ObjectRef,
    /// The UID of that object.
    pub(crate) uid: &'a str,
    /// The request as the peer wrote it.
    pub(crate) text: &'a [u8],
    pub(crate) csr: &'a Csr,
    pub(crate) key: &'a PublicKey,
    pub(crate) subject: Subject,
    pub(crate) basis: RequestBasis<'a>,
    /// The recorded credentials; `None` if Liqo completed the exchange.
    pub(crate) held: Option<&'a HeldCredentials>,
    /// The recorded access key.
    pub(crate) key_held: Option<&'a HeldKey>,
    pub(crate) kept_in: CertificateSecret<'a>,
    /// The CAs by which the API server lets the holder in. `None` if they are unknown, or if
    /// the holder gets nothing for them.
    pub(crate) client_cas: Option<&'a ClientCas>,
}

/// The inputs of a request's ID, besides the request itself.
#[derive(Clone, Copy)]
pub(crate) enum RequestBasis<'a> {
    /// The proven nonce, and the UID of the Tenant.
    Handshake { nonce: &'a Nonce, tenant: &'a str },
    /// The UID of the Tenant whose proof covers the slice.
    Tenant(&'a str),
}

/// Whether a holder has its credential.
pub(crate) enum CredentialState {
    InForce(Credential),
    Needs(CredentialRequest),
}

/// The Secret in the peer's tenant namespace in which Liqo keeps a certificate. The
/// peer can write this Secret, so the provider does not trust it once a record
/// exists.
#[derive(Clone)]
pub(crate) struct CertificateSecret<'a> {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) peer: &'a ClusterId,
    pub(crate) stored: Option<&'a Secret>,
    /// The error, if the Secret cannot be read. Then the provider does not change
    /// it.
    pub(crate) unreadable: Option<Error>,
}

impl HolderContext<'_> {
    /// The credential in force, or the credential to request.
    pub(crate) fn credential_state(&self) -> CredentialState {
        match Credential::in_force(self) {
            Some(credential) => CredentialState::InForce(credential),
            None => CredentialState::Needs(CredentialRequest::of(self)),
        }
    }

    /// Checks that a certificate is for this holder, and is valid now.
    pub(super) fn check(&self, chain: &CertificateChain) -> Result<(), Error> {
        let expectation = ClientCertificateExpectation {
            subject: &self.subject,
            key: self.key,
            now: self.look.now,
        };
        chain
            .check_client(&expectation, self.look.policy())
            .map_err(|error| Error::new(ApiMisuse::SignerCertificate(error), None, ""))
    }

    /// Refuses the request.
    pub(super) fn refuse(&self, refusal: PolicyRefusal, plan: &mut Plan<'_>) {
        plan.refuse(Error::new(refusal, Some(self.about.clone()), "spec.csr"));
    }

    /// Adds the event of a decision on the request.
    pub(super) fn tell(&self, decision: Decision, plan: &mut Plan<'_>) {
        let event = Event::new(self.look.peer(), decision).about(self.about.clone());
        plan.tell(event.by_key(self.key.fingerprint()));
    }

    /// Writes the certificate to the Secret in which Liqo keeps it.
    pub(crate) fn store_certificate(&self, credential: &Credential, plan: &mut Plan<'_>) {
        if let Some(chain) = credential.shown.certificate() {
            self.kept_in.store(self.text, chain, plan);
        }
    }

    /// Whether the Secret in which Liqo keeps the certificate contains this
    /// credential's certificate. Also true for a credential that is no certificate.
    pub(crate) fn is_certificate_stored(&self, credential: &Credential) -> bool {
        credential
            .shown
            .certificate()
            .is_none_or(|chain| self.kept_in.holds(self.text, chain))
    }
}

impl CertificateSecret<'_> {
    /// Writes the certificate and the request as the peer wrote it, unless the
    /// Secret already holds both.
    pub(super) fn store(&self, csr: &[u8], chain: &CertificateChain, plan: &mut Plan<'_>) {
        if self.unreadable.is_some() || self.holds(csr, chain) {
            return;
        }
        let labels = [(names::REMOTE_CLUSTER_ID_LABEL, self.peer.as_str())];
        let data = [
            (names::CSR, csr.into()),
            (names::CERTIFICATE, chain.pem().into()),
        ];
        let secret = Secret {
            // The API server does not allow a change of the type.
            secret_type: self.stored.and_then(|stored| stored.secret_type.clone()),
            ..Secret::labelled(self.name.as_str(), self.namespace.as_str(), labels, data)
        };
        plan.put(self.stored, secret);
    }

    fn holds(&self, csr: &[u8], chain: &CertificateChain) -> bool {
        self.stored.is_some_and(|stored| {
            stored.data.len() == 2
                && stored.get(names::CSR) == Some(csr)
                && stored.get(names::CERTIFICATE) == Some(chain.pem())
        })
    }

    /// The certificate that Liqo issued for exactly this request.
    pub(super) fn left_by_liqo(&self, context: &HolderContext<'_>) -> Option<CertificateChain> {
        let stored = self.stored?;
        let chain = stored.get(names::CERTIFICATE)?;
        let chain = CertificateChain::from_pem(chain, context.look.policy()).ok()?;
        let is_for_request = stored.get(names::CSR)? == context.text;
        (is_for_request && context.check(&chain).is_ok()).then_some(chain)
    }
}
