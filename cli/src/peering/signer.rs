//! The signer of a home: its authority signs approved requests, as
//! kube-controller-manager does.

use liqo_auth::{
    crypto::{Authority, AuthorityError, CertificateChain, Entropy},
    machine::{Effect, Part, Version},
    model::{
        Bytes, CertificateSigningRequest, CertificateSigningRequestCondition,
        CertificateSigningRequestStatus, Metadata, Resource, names,
    },
    provider::SigningRequest,
};
use serde_json::json;

use crate::{
    environment::{Clock, entropy},
    failure::{Failure, Result},
    home::{Home, awaits_signature},
};

/// Signs every request that is approved and has no certificate. Returns whether any
/// request got an answer. The home is saved before and after that.
pub(crate) fn sign_approved(home: &mut Home, clock: Clock) -> Result<bool> {
    let is_open = |request: &&CertificateSigningRequest| awaits_signature(request);
    if home.is_live()
        || home.is_signed_elsewhere()
        || !home
            .all::<CertificateSigningRequest>()
            .any(awaits_signature)
    {
        return Ok(false);
    }
    home.save()?;
    let (authority, now) = (home.authority()?, clock.now()?);
    let mut effects = Vec::new();
    for request in home.all::<CertificateSigningRequest>().filter(is_open) {
        let mut status = request.status.clone();
        match authority.sign_approved(request, now, &entropy()?) {
            Ok(None) => continue,
            Ok(Some(chain)) => status.certificate = Bytes::from(chain.pem()),
            Err(error @ AuthorityError::Request) => {
                status
                    .conditions
                    .push(condition("Failed", "SigningError", error.to_string()));
            }
            Err(error) => return Err(cannot_sign(&error)),
        }
        effects.push(Effect::Patch {
            id: request.id(),
            version: version_of(&request.metadata),
            part: Part::Status,
            patch: json!({ "status": status }),
        });
    }
    for effect in &effects {
        home.apply(effect, now)?;
    }
    home.save()?;
    Ok(!effects.is_empty())
}

/// Signs a request that does not need an approval.
pub(crate) fn sign(authority: &Authority, request: &SigningRequest) -> Result<CertificateChain> {
    // The request's ID is a hash over the content of the request. No two requests
    // have the same ID, and nobody can predict it.
    let serial_number = Entropy::from_bytes(*request.id.as_bytes());
    let chain = authority.issue(
        &request.csr,
        &request.subject,
        &request.public_key,
        request.now,
        request.lifetime,
        &serial_number,
    );
    chain.map_err(|error| cannot_sign(&error))
}

/// The status of a request that this home has approved and signed.
pub(crate) fn issued(chain: &CertificateChain, why: &str) -> CertificateSigningRequestStatus {
    CertificateSigningRequestStatus {
        certificate: Bytes::from(chain.pem()),
        conditions: vec![approved(why)],
    }
}

/// Approves a request on a cluster that has no condition yet, as `kubectl certificate
/// approve` does.
pub(crate) fn approval(request: &CertificateSigningRequest, why: &str) -> Effect {
    Effect::Patch {
        id: request.id(),
        version: version_of(&request.metadata),
        part: Part::Approval,
        patch: json!({ "status": { "conditions": [approved(why)] } }),
    }
}

/// The version of an object, as an effect on this object requires it.
pub(crate) fn version_of(metadata: &Metadata) -> Version {
    Version {
        uid: metadata.uid.clone(),
        resource_version: metadata.resource_version.clone(),
    }
}

fn approved(why: &str) -> CertificateSigningRequestCondition {
    let message = format!("Approved by liqo-auth: {why}");
    condition(APPROVED, names::APPROVAL_REASON, message)
}

fn condition(
    condition_type: &str,
    reason: &str,
    message: String,
) -> CertificateSigningRequestCondition {
    CertificateSigningRequestCondition {
        condition_type: condition_type.to_owned(),
        status: "True".to_owned(),
        reason: reason.to_owned(),
        message,
    }
}

fn cannot_sign(error: &AuthorityError) -> Failure {
    Failure::at_odds(format!("the authority of this home cannot sign: {error}"))
}

const APPROVED: &str = "Approved";
