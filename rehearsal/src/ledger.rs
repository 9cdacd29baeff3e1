//! The provider's signer.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use liqo_auth::{
    crypto::{Answer, BoxError, CertificateChain},
    provider::{AuthoritySigner, CsrSigner, RequestId, SigningRequest},
};

/// A signer that gives the same certificate for a repeated request, as the
/// Kubernetes API does.
#[derive(derive_more::Debug)]
#[debug("Ledger {{ issued: {}, .. }}", lock(issued).len())]
pub(crate) struct Ledger {
    signer: AuthoritySigner,
    answers: Mutex<bool>,
    issued: Mutex<BTreeMap<RequestId, CertificateChain>>,
}

impl Ledger {
    /// A signer that answers, and has signed nothing.
    pub(crate) fn new(signer: AuthoritySigner) -> Self {
        Self {
            signer,
            answers: Mutex::new(true),
            issued: Mutex::default(),
        }
    }

    /// Forgets the certificates, and answers.
    pub(crate) fn begin_again(&self) {
        self.set_answering(true);
        lock(&self.issued).clear();
    }

    /// From now on, the signer answers with certificates, or answers `Pending`.
    pub(crate) fn set_answering(&self, answers: bool) {
        *lock(&self.answers) = answers;
    }

    /// The number of requests that the signer has signed.
    pub(crate) fn certificates_signed(&self) -> usize {
        lock(&self.issued).len()
    }
}

impl CsrSigner for Ledger {
    fn sign(&self, request: &SigningRequest) -> Result<Answer<CertificateChain>, BoxError> {
        if !*lock(&self.answers) {
            return Ok(Answer::Pending);
        }
        let mut issued = lock(&self.issued);
        if let Some(chain) = issued.get(&request.id) {
            return Ok(Answer::Ready(chain.clone()));
        }
        let signing = self.signer.sign(request)?;
        if let Answer::Ready(chain) = &signing {
            issued.insert(request.id, chain.clone());
        }
        Ok(signing)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
