//! One holder, with its verified request and what is on record for it.

use std::collections::BTreeMap;

use super::{Credential, CredentialRequest, Renewal, renewal};
use crate::{
    crypto::{CertificateChain, ClientCertificateExpectation, Csr, Nonce, PublicKey, Subject},
    error::{ApiMisuse, Error},
    machine::Holder,
    model::{ClusterId, Metadata, ObjectRef, Secret, names},
    provider::{
        look::Look,
        record::{HeldCredentials, Plan},
    },
};

/// A holder whose request is verified.
pub(in crate::provider) struct Holding<'a> {
    pub(in crate::provider) look: Look<'a>,
    pub(in crate::provider) holder: Holder,
    /// The Tenant or the slice in which the request stands.
    pub(in crate::provider) about: ObjectRef,
    /// The UID of that object.
    pub(in crate::provider) uid: &'a str,
    /// The request as the peer wrote it.
    pub(in crate::provider) text: &'a [u8],
    pub(in crate::provider) csr: &'a Csr,
    pub(in crate::provider) key: &'a PublicKey,
    pub(in crate::provider) subject: Subject,
    pub(in crate::provider) basis: RequestBasis<'a>,
    /// What is on record; nothing where Liqo made the exchange.
    pub(in crate::provider) held: Option<&'a HeldCredentials>,
    pub(in crate::provider) kept_in: CertificateSecret<'a>,
}

/// What the name of a request rests on, besides the request.
#[derive(Clone, Copy)]
pub(in crate::provider) enum RequestBasis<'a> {
    /// The proven nonce, and the UID of the Tenant.
    Handshake { nonce: &'a Nonce, tenant: &'a str },
    /// The UID of the Tenant by whose proof the slice is known.
    Tenant(&'a str),
}

/// Whether a holder has its credential.
pub(in crate::provider) enum Standing {
    InForce(Credential),
    Needs(CredentialRequest),
}

/// The Secret in the peer's tenant namespace that keeps a certificate, as Liqo
/// does. The peer can write there: once there is a record, nothing in it is
/// believed.
#[derive(Clone)]
pub(in crate::provider) struct CertificateSecret<'a> {
    pub(in crate::provider) namespace: String,
    pub(in crate::provider) name: String,
    pub(in crate::provider) peer: &'a ClusterId,
    pub(in crate::provider) stored: Option<&'a Secret>,
    /// Why the Secret cannot be read, if it cannot be. It is left as it is.
    pub(in crate::provider) unreadable: Option<Error>,
}

impl Holding<'_> {
    /// Whether the holder has its credential, or what is to be asked for.
    pub(in crate::provider) fn standing(&self) -> Standing {
        match Credential::in_force(self) {
            Some(credential) => Standing::InForce(credential),
            None => Standing::Needs(CredentialRequest::of(self)),
        }
    }

    /// Where the renewal of the credential stands.
    pub(in crate::provider) fn renewal(&self, credential: &Credential) -> Renewal {
        renewal::of(self, credential)
    }

    /// That a certificate is for this holder, and in date.
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

    /// Keeps a certificate where Liqo does.
    pub(in crate::provider) fn keep(&self, credential: &Credential, plan: &mut Plan<'_>) {
        if let Some(chain) = credential.chain() {
            self.kept_in.keep(self.text, chain, plan);
        }
    }

    /// Whether the certificate is kept there, or none is to be.
    pub(in crate::provider) fn is_kept(&self, credential: &Credential) -> bool {
        credential
            .chain()
            .is_none_or(|chain| self.kept_in.keeps(self.text, chain))
    }
}

impl CertificateSecret<'_> {
    /// Keeps the certificate with the request as the peer wrote it, unless both
    /// are there.
    pub(super) fn keep(&self, csr: &[u8], chain: &CertificateChain, plan: &mut Plan<'_>) {
        if self.unreadable.is_some() || self.keeps(csr, chain) {
            return;
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
            data: BTreeMap::from([
                (names::CSR.to_owned(), csr.to_vec().into()),
                (names::CERTIFICATE.to_owned(), chain.pem().to_vec().into()),
            ]),
            // An API server lets nobody change it.
            secret_type: self.stored.and_then(|stored| stored.secret_type.clone()),
        };
        plan.put(self.stored, secret);
    }

    fn keeps(&self, csr: &[u8], chain: &CertificateChain) -> bool {
        self.stored.is_some_and(|stored| {
            stored.data.len() == 2
                && stored.get(names::CSR) == Some(csr)
                && stored.get(names::CERTIFICATE) == Some(chain.pem())
        })
    }

    /// The certificate that Liqo left for this request as the peer wrote it.
    pub(super) fn left_by_liqo(&self, holding: &Holding<'_>) -> Option<CertificateChain> {
        let stored = self.stored?;
        let chain = stored.get(names::CERTIFICATE)?;
        let chain = CertificateChain::from_pem(chain, holding.look.policy()).ok()?;
        let is_for_request = stored.get(names::CSR)? == holding.text;
        (is_for_request && holding.check(&chain).is_ok()).then_some(chain)
    }
}
