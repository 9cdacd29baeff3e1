//! Kubernetes' own signer, by CertificateSigningRequests in the view.
//!
//! ```text
//!   record the attempt, create ─▶ approve at the version seen ─▶ take the certificate
//!        ▲                              │          │
//!        └── the name is taken ─────────┘          └─▶ denied or failed: recorded
//! ```
//!
//! The object of an attempt is believed only if it is what this side would
//! write: a name that somebody else took is left to them, and the attempt rises.
//! The name is a MAC by the record key, so that two replicas make one request
//! and nobody else can foresee its name. A request that was denied is not made
//! again until an administrator asks: Kubernetes deletes denied requests after
//! an hour, and what a person denied is not approved anew. Kubernetes deletes
//! issued requests after an hour, too: from the create on, a certificate counts
//! as issued.

use std::collections::BTreeMap;

use super::{Holding, SigningRequest};
use crate::{
    crypto::{Answer, CertificateChain},
    error::{ApiMisuse, Error, LocalFault, shortened},
    model::{
        Bytes, CertificateSigningRequest, CertificateSigningRequestCondition,
        CertificateSigningRequestSpec, ClusterId, Metadata, Resource, names,
    },
    provider::{
        look::Look,
        record::{HeldCredentials, Plan, SigningAttempt},
    },
};

/// Leads a request one look further.
pub(super) fn ask(
    holding: &Holding<'_>,
    request: &SigningRequest,
    plan: &mut Plan<'_>,
) -> Result<Answer<CertificateChain>, Error> {
    let recorded = holding
        .held
        .and_then(|held| held.signing.as_ref())
        .filter(|attempt| attempt.is_for(request.id));
    let Some(attempt) = recorded else {
        begin(holding, request, 0, plan);
        return Ok(Answer::Pending);
    };
    if let Some(reason) = &attempt.denied {
        return Ok(Answer::Denied(reason.clone()));
    }
    let look = holding.look;
    let Some(object) = look
        .view
        .find::<CertificateSigningRequest>("", &attempt.name)?
    else {
        // The create did not come through, or Kubernetes has deleted what
        // nobody took.
        begin(holding, request, attempt.attempt, plan);
        return Ok(Answer::Pending);
    };
    let wanted = object_of(look.peer(), &attempt.name, request);
    if object.spec != wanted.spec {
        if attempt.attempt >= MOST_ATTEMPTS {
            let id = Some(object.id());
            return Err(Error::new(LocalFault::Conflict, id, "spec"));
        }
        begin(holding, request, attempt.attempt + 1, plan);
        return Ok(Answer::Pending);
    }
    if let Some(reason) = refusal(object) {
        record_denial(holding, reason.clone(), plan);
        return Ok(Answer::Denied(reason));
    }
    if !is_approved(object) {
        if object.metadata.deletion_timestamp.is_none() {
            plan.edit(object, approve);
        }
        return Ok(Answer::Pending);
    }
    let chain = object.status.certificate.as_slice();
    if chain.is_empty() {
        return Ok(Answer::Pending);
    }
    let chain = CertificateChain::from_pem(chain, look.policy()).map_err(|error| {
        let fault = ApiMisuse::SignerCertificate(error);
        Error::new(fault, Some(object.id()), "status.certificate")
    })?;
    Ok(Answer::Ready(chain))
}

/// Records an attempt, then makes its request. From now on a certificate may
/// hold for the lifetime that is asked for.
fn begin(holding: &Holding<'_>, request: &SigningRequest, attempt: u8, plan: &mut Plan<'_>) {
    let look = holding.look;
    let earlier = holding
        .held
        .and_then(|held| Some((held, held.signing.as_ref()?)));
    if let Some((held, _)) = earlier.filter(|(_, earlier)| !earlier.is_for(request.id)) {
        delete_unanswered(&look, held, plan);
    }
    let name = name_of(&look, request, attempt);
    let until = look.now + request.lifetime;
    let attempt = SigningAttempt::new(request.id, attempt, name.clone(), until);
    plan.records.remember_until(&holding.holder, until);
    plan.records
        .held(&holding.holder, |held| held.signing = Some(attempt));
    if look
        .view
        .find::<CertificateSigningRequest>("", &name)
        .is_ok_and(|there| there.is_none())
    {
        plan.create(object_of(look.peer(), &name, request));
    }
}

/// The request as this side writes it.
fn object_of(peer: &ClusterId, name: &str, request: &SigningRequest) -> CertificateSigningRequest {
    CertificateSigningRequest {
        metadata: Metadata {
            name: name.to_owned(),
            labels: BTreeMap::from([
                (names::REMOTE_CLUSTER_ID_LABEL.to_owned(), peer.to_string()),
                (names::MANAGED_BY_LABEL.to_owned(), "liqo-auth".to_owned()),
            ]),
            ..Metadata::default()
        },
        spec: CertificateSigningRequestSpec {
            request: Bytes::from(request.csr.pem()),
            signer_name: names::CLIENT_SIGNER.to_owned(),
            usages: names::CLIENT_USAGES.map(str::to_owned).to_vec(),
            expiration_seconds: Some(request.expiration_seconds()),
        },
        ..CertificateSigningRequest::default()
    }
}

/// The name of an attempt: nobody without the record key can foresee it.
fn name_of(look: &Look<'_>, request: &SigningRequest, attempt: u8) -> String {
    let configuration = look.configuration;
    let parts: [&[u8]; 3] = [
        configuration.cluster_id.as_str().as_bytes(),
        request.id.as_bytes(),
        &[attempt],
    ];
    let mac = configuration.record_key.mac(DOMAIN, &parts);
    let mut name = names::SIGNING_REQUEST_PREFIX.to_owned();
    for byte in mac.iter().take(NAME_BYTES) {
        name.push_str(&format!("{byte:02x}"));
    }
    name
}

fn is_approved(object: &CertificateSigningRequest) -> bool {
    object
        .status
        .conditions
        .iter()
        .any(|it| it.condition_type == APPROVED)
}

/// Why the request was denied, or failed.
fn refusal(object: &CertificateSigningRequest) -> Option<String> {
    let refused = |condition: &&CertificateSigningRequestCondition| {
        matches!(condition.condition_type.as_str(), "Denied" | "Failed")
    };
    let condition = object.status.conditions.iter().find(refused)?;
    let reason = [condition.message.as_str(), condition.reason.as_str()];
    let reason = reason.into_iter().find(|reason| !reason.is_empty());
    Some(shortened(reason.unwrap_or(&condition.condition_type)))
}

fn approve(object: &mut CertificateSigningRequest) {
    object
        .status
        .conditions
        .push(CertificateSigningRequestCondition {
            condition_type: APPROVED.to_owned(),
            status: "True".to_owned(),
            reason: names::APPROVAL_REASON.to_owned(),
            message: "The peer's request is verified, and its proof is on record.".to_owned(),
        });
}

fn record_denial(holding: &Holding<'_>, reason: String, plan: &mut Plan<'_>) {
    plan.records.held(&holding.holder, |held| {
        if let Some(attempt) = &mut held.signing {
            attempt.denied = Some(reason);
        }
    });
}

/// Deletes the request that is under way for a holder, unless it is answered.
/// What was denied stays on record.
pub(in crate::provider) fn delete_unanswered(
    look: &Look<'_>,
    held: &HeldCredentials,
    plan: &mut Plan<'_>,
) {
    let Some(attempt) = held
        .signing
        .as_ref()
        .filter(|attempt| attempt.denied.is_none())
    else {
        return;
    };
    delete(look, &attempt.name, false, plan);
}

/// Deletes a request that was denied or that failed, so that another one can be
/// made under its name.
pub(in crate::provider) fn delete_denied(look: &Look<'_>, name: &str, plan: &mut Plan<'_>) {
    delete(look, name, true, plan);
}

fn delete(look: &Look<'_>, name: &str, is_denied: bool, plan: &mut Plan<'_>) {
    let found = look.view.find::<CertificateSigningRequest>("", name);
    let Ok(Some(object)) = found else {
        return;
    };
    let label = object.metadata.labels.get(names::REMOTE_CLUSTER_ID_LABEL);
    let is_ours = label.map(String::as_str) == Some(look.peer().as_str());
    let goes = object.metadata.deletion_timestamp.is_some();
    let is_open = object.status.certificate.is_empty();
    if is_ours && !goes && is_open && refusal(object).is_some() == is_denied {
        plan.delete(object);
    }
}

const DOMAIN: &str = "liqo-auth signing request name v1";
const NAME_BYTES: usize = 16;
/// Nobody can foresee the names: one that is taken is an accident.
const MOST_ATTEMPTS: u8 = 7;
const APPROVED: &str = "Approved";
