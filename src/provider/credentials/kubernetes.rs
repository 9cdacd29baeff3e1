//! Kubernetes' own signer, through CertificateSigningRequests in the view.
//!
//! ```text
//!   record the attempt, create ─▶ approve at the version seen ─▶ take the certificate
//!        ▲                              │          │
//!        └── the name is taken ─────────┘          └─▶ denied or failed: recorded
//! ```
//!
//! The provider accepts a CertificateSigningRequest only if its spec is the one
//! that the provider itself writes. If another object has the name, the provider
//! leaves that object alone and makes the next attempt under another name. The name
//! is a MAC with the record key: two replicas of the provider make the same
//! request, and nobody else can predict its name.
//!
//! Kubernetes deletes denied requests after an hour. So the denial is recorded, and
//! the provider makes the request again only if an administrator asks for this.
//! Kubernetes also deletes issued requests after an hour. So a certificate counts as
//! issued from the creation of its request.

use super::{HolderContext, SigningRequest};
use crate::{
    crypto::{Answer, CertificateChain},
    error::{ApiMisuse, Error, LocalFault, shortened},
    model::{
        CertificateSigningRequest, CertificateSigningRequestCondition, ClusterId, Hex, Metadata,
        names,
    },
    provider::{
        look::Look,
        record::{HeldCredentials, SigningAttempt},
        records::Plan,
    },
};

/// Takes the next step for a request: create, approve, or read the certificate.
pub(super) fn ask(
    context: &HolderContext<'_>,
    request: &SigningRequest,
    plan: &mut Plan<'_>,
) -> Result<Answer<CertificateChain>, Error> {
    let recorded = context
        .held
        .and_then(|held| held.signing.as_ref())
        .filter(|attempt| attempt.is_for(request.id));
    let Some(attempt) = recorded else {
        if let Some(held) = context.held {
            delete_unanswered(&context.look, held, plan);
        }
        begin(context, request, 0, plan);
        return Ok(Answer::Pending);
    };
    if let Some(reason) = &attempt.denied {
        return Ok(Answer::Denied(reason.clone()));
    }
    let look = context.look;
    let there: Option<&CertificateSigningRequest> = look.view.find("", &attempt.name)?;
    let Some(object) = there else {
        // The request was not created, or Kubernetes deleted it before the provider
        // read its certificate.
        begin(context, request, attempt.attempt, plan);
        return Ok(Answer::Pending);
    };
    if object.spec != request.to_kubernetes() {
        if attempt.attempt >= MOST_ATTEMPTS {
            return Err(Error::found_in(object, "spec", LocalFault::Conflict));
        }
        begin(context, request, attempt.attempt + 1, plan);
        return Ok(Answer::Pending);
    }
    if let Some(reason) = refusal(object) {
        record_denial(context, reason.clone(), plan);
        return Ok(Answer::Denied(reason));
    }
    if object.condition(&[APPROVED]).is_none() {
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
        Error::found_in(object, "status.certificate", fault)
    })?;
    Ok(Answer::Ready(chain))
}

/// Records an attempt, then creates its request. From now on a certificate with the
/// requested lifetime may exist.
fn begin(context: &HolderContext<'_>, request: &SigningRequest, attempt: u8, plan: &mut Plan<'_>) {
    let look = context.look;
    let name = name_of(&look, request, attempt);
    let until = look.now + request.lifetime;
    let attempt = SigningAttempt::new(request.id, attempt, name.clone(), until);
    plan.records.remember_until(&context.holder, until);
    plan.records
        .held(&context.holder, |held| held.signing = Some(attempt));
    let there = look.view.find::<CertificateSigningRequest>("", &name);
    if matches!(there, Ok(None)) {
        plan.create(object_of(look.peer(), &name, request));
    }
}

/// The CertificateSigningRequest as the provider writes it.
fn object_of(peer: &ClusterId, name: &str, request: &SigningRequest) -> CertificateSigningRequest {
    let labels = [
        (names::REMOTE_CLUSTER_ID_LABEL, peer.as_str()),
        (names::MANAGED_BY_LABEL, names::MANAGED_BY_LIQO_AUTH),
    ];
    CertificateSigningRequest {
        metadata: Metadata::labelled(name, "", labels),
        spec: request.to_kubernetes(),
        ..CertificateSigningRequest::default()
    }
}

/// The name of an attempt. Nobody can predict it without the record key.
fn name_of(look: &Look<'_>, request: &SigningRequest, attempt: u8) -> String {
    let configuration = look.configuration;
    let parts: [&[u8]; 3] = [
        configuration.cluster_id().as_str().as_bytes(),
        request.id.as_bytes(),
        &[attempt],
    ];
    let mac = configuration.record_key.mac(DOMAIN, &parts);
    let end = Hex::first(&mac, NAME_BYTES);
    format!("{}{end}", names::SIGNING_REQUEST_PREFIX)
}

/// The reason why the request was denied or failed.
fn refusal(object: &CertificateSigningRequest) -> Option<String> {
    let condition = object.condition(&["Denied", "Failed"])?;
    let reason = [condition.message.as_str(), condition.reason.as_str()];
    let reason = reason.into_iter().find(|reason| !reason.is_empty());
    Some(shortened(reason.unwrap_or(&condition.condition_type)))
}

fn approve(object: &mut CertificateSigningRequest) {
    let conditions = &mut object.status.conditions;
    conditions.push(CertificateSigningRequestCondition {
        condition_type: APPROVED.to_owned(),
        status: "True".to_owned(),
        reason: names::APPROVAL_REASON.to_owned(),
        message: "The peer's request is verified, and its proof is recorded.".to_owned(),
    });
}

fn record_denial(context: &HolderContext<'_>, reason: String, plan: &mut Plan<'_>) {
    plan.records.held(&context.holder, |held| {
        if let Some(attempt) = &mut held.signing {
            attempt.denied = Some(reason);
        }
    });
}

/// Deletes the CertificateSigningRequest of a holder, unless it is answered. A
/// denial stays in the record.
pub(crate) fn delete_unanswered(look: &Look<'_>, held: &HeldCredentials, plan: &mut Plan<'_>) {
    if let Some(attempt) = &held.signing
        && attempt.denied.is_none()
    {
        delete(look, &attempt.name, false, plan);
    }
}

/// Deletes a request that was denied or that failed, so that another one can be
/// made under its name.
pub(crate) fn delete_denied(look: &Look<'_>, name: &str, plan: &mut Plan<'_>) {
    delete(look, name, true, plan);
}

fn delete(look: &Look<'_>, name: &str, is_denied: bool, plan: &mut Plan<'_>) {
    let found = look.view.find::<CertificateSigningRequest>("", name);
    let Ok(Some(object)) = found else {
        return;
    };
    let label = object.metadata.label(names::REMOTE_CLUSTER_ID_LABEL);
    let is_ours = label == Some(look.peer().as_str());
    let is_being_deleted = object.metadata.deletion_timestamp.is_some();
    let is_open = object.status.certificate.is_empty();
    if is_ours && !is_being_deleted && is_open && refusal(object).is_some() == is_denied {
        plan.delete(object);
    }
}

const DOMAIN: &str = "liqo-auth signing request name v1";
const NAME_BYTES: usize = 16;
/// The maximum number of further attempts. The names are unpredictable, so another
/// object has such a name only by accident.
const MOST_ATTEMPTS: u8 = 7;
const APPROVED: &str = "Approved";
