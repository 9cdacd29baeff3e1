//! Gets a holder's request signed, for the first time and for each renewal.

use core::time::Duration;

use super::{Credential, Holding, RequestBasis, SigningRequest, kubernetes};
use crate::{
    audit::{Decision, Event},
    crypto::{Answer, CertificateChain, Fingerprint, RequestId},
    error::{Backend, Error, PolicyRefusal, shortened},
    machine::{Awaited, Holder},
    model::ClusterId,
    provider::{
        configuration::Configuration,
        record::{HeldCredentials, IssuedCertificate, RefusedRenewal},
        records::Plan,
    },
};

/// The result of a request for a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// The signer issued the certificate, and the plan records it.
    Taken,
    /// The certificate comes later, or not at all.
    NotTaken,
}

/// The usable certificate for exactly this holder's request: the one on record. If
/// there is no record, it is the one that Liqo left. An embedder that vouches for
/// the nonce also vouches for that certificate.
///
/// A certificate that is not valid yet is not usable: the clock was ahead at its
/// issue, and has been corrected since. Then the signer signs another one, once for
/// each jump of the clock.
pub(super) fn in_force(holding: &Holding<'_>) -> Option<Credential> {
    let chain = match holding.held {
        Some(held) => {
            let issued = held.issued.as_ref()?;
            let chain = issued.chain_for(holding.csr, holding.look.policy())?;
            holding.check(&chain).is_ok().then_some(chain)?
        }
        None => holding.kept_in.left_by_liqo(holding)?,
    };
    Some(Credential::certificate(chain))
}

/// The request to sign. The provider makes one only if the certificate on record is
/// no longer usable, or soon will not be.
pub(super) fn request(holding: &Holding<'_>) -> SigningRequest {
    let look = holding.look;
    let lifetime = lifetime(look.configuration, look.peer());
    let replaced = replaced(holding);
    let csr = holding.csr;
    let id = match holding.basis {
        RequestBasis::Handshake { nonce, tenant } => {
            RequestId::new(csr, nonce, tenant, lifetime, replaced)
        }
        RequestBasis::Tenant(tenant) => {
            RequestId::of_slice(csr, tenant, holding.uid, lifetime, replaced)
        }
    };
    SigningRequest {
        id,
        peer: look.peer().clone(),
        holder: holding.holder.clone(),
        csr: csr.clone(),
        subject: holding.subject.clone(),
        public_key: holding.key.clone(),
        lifetime,
        now: look.now,
    }
}

fn replaced(holding: &Holding<'_>) -> Option<Fingerprint> {
    let held: &HeldCredentials = holding.held?;
    held.issued.as_ref()?.fingerprint()
}

/// Asks the signer, if there is one, and stores the certificate. `renews` is the
/// certificate in force, if the request renews it. Then a denial is recorded, and a
/// certificate that ends no later is refused.
pub(super) fn ask(
    holding: &Holding<'_>,
    request: &SigningRequest,
    renews: Option<&IssuedCertificate>,
    plan: &mut Plan<'_>,
) -> Result<Asked, Error> {
    let configuration = holding.look.configuration;
    let answer = match &configuration.signer {
        _ if configuration.settings.kubernetes_signer => kubernetes::ask(holding, request, plan)?,
        Some(signer) => signer
            .sign(request)
            .map_err(|error| Error::backend(Backend::Credentials, error))?,
        None => Answer::Pending,
    };
    match answer {
        Answer::Ready(chain) => take(holding, request, renews, &chain, plan),
        Answer::Pending => {
            plan.await_for(Awaited::Credential(request.id));
            Ok(Asked::NotTaken)
        }
        Answer::Denied(reason) => {
            let reason = shortened(&reason);
            match renews {
                Some(present) => {
                    let refused = RefusedRenewal::denied(request.id, request.now, reason);
                    refuse_renewal(holding, present, refused, plan);
                }
                None => {
                    let refusal = PolicyRefusal::CredentialDenied { reason };
                    plan.refuse(Error::new(refusal, Some(holding.about.clone()), "spec.csr"));
                }
            }
            Ok(Asked::NotTaken)
        }
    }
}

/// Accepts the signer's certificate. Writes its expiry to the peer's record, the
/// certificate to the holder's record, then the Secret in which Liqo keeps it.
fn take(
    holding: &Holding<'_>,
    request: &SigningRequest,
    renews: Option<&IssuedCertificate>,
    chain: &CertificateChain,
    plan: &mut Plan<'_>,
) -> Result<Asked, Error> {
    holding.check(chain)?;
    let now = request.now;
    let until = chain.leaf().not_after;
    if let Some(present) = renews.filter(|present| until <= present.until()) {
        // Prevents an endless series of renewals that end no later.
        let refused = RefusedRenewal::without_progress(request.id, now, until);
        refuse_renewal(holding, present, refused, plan);
        return Ok(Asked::NotTaken);
    }
    let replaces = replaced(holding);
    let records = &mut plan.records;
    records.remember_until(&holding.holder, until);
    let issued = IssuedCertificate::new(chain, &request.csr, replaces, now);
    records.held(&holding.holder, |held| held.take(issued));
    if let Holder::Slice(slice) = &holding.holder {
        records.slice(slice).change(|record| {
            record.authenticated.get_or_insert(now.unix());
        });
    }
    holding.kept_in.keep(holding.text, chain, plan);
    let issued = Decision::CertificateIssued {
        request: request.id,
        certificate: chain.leaf().fingerprint(),
        until,
        replaces,
    };
    plan.tell(
        Event::new(&request.peer, issued)
            .about(holding.about.clone())
            .by_key(request.public_key.fingerprint()),
    );
    Ok(Asked::Taken)
}

/// Records a refused renewal. The present certificate stays in force. The provider
/// asks again after a tenth of its lifetime.
fn refuse_renewal(
    holding: &Holding<'_>,
    present: &IssuedCertificate,
    refused: RefusedRenewal,
    plan: &mut Plan<'_>,
) {
    plan.refuse(refused.error(present.until(), holding.about.clone()));
    plan.wake_by(Some(holding.look.now + present.pause()));
    plan.records
        .held(&holding.holder, |held| held.refused_renewal = Some(refused));
}

/// The lifetime to request: the configured one, limited by the peer's policy.
pub(in crate::provider) fn lifetime(configuration: &Configuration, peer: &ClusterId) -> Duration {
    let limit = configuration.policy(peer).limits.certificate_lifetime;
    configuration
        .settings
        .certificate_lifetime
        .min(limit.saturating_sub(BACKDATED))
}

/// The margin for a signer that sets notBefore back.
const BACKDATED: Duration = Duration::from_secs(10 * 60);
