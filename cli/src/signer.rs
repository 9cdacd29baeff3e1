//! The signer of a home: an authority that keeps its answers as the Kubernetes
//! API does.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use liqo_auth::{
    crypto::{Answer, Authority, BoxError, CertificateChain, Entropy},
    model::{
        Bytes, CertificateSigningRequest, CertificateSigningRequestCondition,
        CertificateSigningRequestSpec, CertificateSigningRequestStatus, Metadata, names,
    },
    provider::{CsrSigner, SigningRequest},
};

use crate::failure::{Failure, Result};

/// Where requests are left and answers fetched: the library asks here, and the
/// home's owner answers what was asked, once that is safe.
#[derive(Clone, Default)]
pub(crate) struct Desk(Arc<Mutex<Papers>>);

#[derive(Default)]
struct Papers {
    asked: Vec<SigningRequest>,
    answers: BTreeMap<String, CertificateChain>,
}

impl Desk {
    /// What was asked since the last time, and has no answer yet.
    pub(crate) fn take_asked(&self) -> Vec<SigningRequest> {
        std::mem::take(&mut self.papers().asked)
    }

    /// Answers a request from now on.
    pub(crate) fn answer(&self, name: String, chain: CertificateChain) {
        self.papers().answers.insert(name, chain);
    }

    fn papers(&self) -> std::sync::MutexGuard<'_, Papers> {
        // A list and a map are whole, whoever panicked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CsrSigner for Desk {
    fn sign(&self, request: &SigningRequest) -> Result<Answer<CertificateChain>, BoxError> {
        let mut papers = self.papers();
        if let Some(chain) = papers.answers.get(&request_name(request)) {
            return Ok(Answer::Ready(chain.clone()));
        }
        papers.asked.push(request.clone());
        Ok(Answer::Pending)
    }
}

/// The same for the same request: it is found again, and never signed twice.
pub(crate) fn request_name(request: &SigningRequest) -> String {
    let id: String = request.id.to_string().chars().take(32).collect();
    format!("{}{id}", names::CSR_GENERATE_NAME)
}

/// Signs a request: as the Kubernetes API keeps it, approved for that reason
/// and issued.
pub(crate) fn signed_request(
    authority: &Authority,
    name: String,
    request: &SigningRequest,
    reason: &str,
) -> Result<CertificateSigningRequest> {
    // The request's ID is a hash over what makes the request this one: no two
    // have the same, and nobody can foresee it.
    let serial_number = Entropy::from_bytes(*request.id.as_bytes());
    let chain = authority.issue(
        &request.csr,
        &request.subject,
        &request.public_key,
        request.now,
        request.lifetime,
        &serial_number,
    );
    let chain = chain.map_err(|error| {
        Failure::at_odds(format!("the authority of this home cannot sign: {error}"))
    })?;
    Ok(CertificateSigningRequest {
        metadata: Metadata {
            name,
            labels: BTreeMap::from([
                (
                    names::REMOTE_TENANT_CSR_LABEL.to_owned(),
                    names::TRUE.to_owned(),
                ),
                (
                    names::REMOTE_CLUSTER_ID_LABEL.to_owned(),
                    request.peer.to_string(),
                ),
            ]),
            ..Metadata::default()
        },
        spec: CertificateSigningRequestSpec {
            request: Bytes::from(request.csr.pem()),
            signer_name: names::CLIENT_SIGNER.to_owned(),
            usages: names::CLIENT_USAGES.map(str::to_owned).to_vec(),
            expiration_seconds: seconds(request.lifetime),
        },
        status: CertificateSigningRequestStatus {
            certificate: Bytes::from(chain.pem()),
            conditions: vec![CertificateSigningRequestCondition {
                condition_type: "Approved".to_owned(),
                status: "True".to_owned(),
                reason: names::APPROVAL_REASON.to_owned(),
                message: format!("Approved by liqo-auth: {reason}"),
            }],
        },
    })
}

fn seconds(lifetime: Duration) -> Option<i32> {
    i32::try_from(lifetime.as_secs()).ok()
}
