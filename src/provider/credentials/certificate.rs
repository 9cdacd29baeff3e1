//! Having a holder's request signed, the first time and again.

use core::time::Duration;

use super::{Credential, Holding, RequestBasis, SigningRequest, kubernetes};
use crate::{
    audit::{Decision, Event},
    crypto::{Answer, CertificateChain, Fingerprint, RequestId},
    error::{Backend, Error, PolicyRefusal, shortened},
    machine::{Awaited, Holder},
    model::ClusterId,
    provider::{
        configuration::{Configuration, Signer},
        record::{HeldCredentials, IssuedCertificate, Plan, RefusedRenewal},
    },
};

/// What came of asking for a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// The certificate came, and is to be recorded.
    Taken,
    /// It comes later, or not at all.
    NotTaken,
}

/// The certificate that was issued for exactly this holder's request and can
/// still be used: the one on record. Before there is a record, it is what Liqo
/// left, and who vouches for the nonce vouches for it.
///
/// One that is not valid yet is of no use: a clock that was ahead when it was
/// issued has been set right. Another one is signed then, once for each time
/// that the clock jumps.
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

/// The request to be signed. The certificate on record is whole: when another
/// one is asked for, it is of no use any more, or about to be.
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

/// Asks the signer, if there is one, and stores what comes. `renews` is the
/// certificate in force, if the request is to renew it: a denied renewal is
/// noted in the record, and a certificate that ends no later is refused.
pub(super) fn ask(
    holding: &Holding<'_>,
    request: &SigningRequest,
    renews: Option<&IssuedCertificate>,
    plan: &mut Plan<'_>,
) -> Result<Asked, Error> {
    let answer = match &holding.look.configuration.signer {
        None => Answer::Pending,
        Some(Signer::Backend(signer)) => signer
            .sign(request)
            .map_err(|error| Error::backend(Backend::Credentials, error))?,
        Some(Signer::Kubernetes) => kubernetes::ask(holding, request, plan)?,
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

/// Takes the certificate that the signer gave: remembers in the peer's record
/// until when the peer has to be remembered for it, notes it in the holder's,
/// then keeps it where Liqo does.
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
        // Nothing is renewed again and again without getting anywhere.
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

/// Notes that a renewal was refused. The renewal is not asked for again for a
/// tenth of the life of the certificate, which stays in force.
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

/// The lifetime that is asked for: what is configured, as far as the peer's
/// policy takes it.
pub(in crate::provider) fn lifetime(configuration: &Configuration, peer: &ClusterId) -> Duration {
    let limit = configuration.policy(peer).limits().certificate_lifetime;
    configuration
        .certificate_lifetime
        .min(limit.saturating_sub(BACKDATED))
}

/// What a signer may set notBefore back, and then some.
const BACKDATED: Duration = Duration::from_secs(10 * 60);
