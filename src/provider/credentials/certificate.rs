//! Requests a holder's certificate from the signer, for the first time and for each
//! renewal.

use core::time::Duration;

use super::{Credential, HolderContext, RequestBasis, SigningRequest, kubernetes};
use crate::{
    audit::Decision,
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

/// The usable certificate for exactly this holder's request: the recorded
/// certificate, or, without a record, the certificate that Liqo issued. An embedder
/// that vouches for the nonce also vouches for that certificate.
///
/// A certificate that is not valid yet is not usable. Its issue time then came from
/// a clock that was ahead and has been corrected since. The signer signs another
/// certificate, once for each such jump of the clock.
pub(super) fn in_force(context: &HolderContext<'_>) -> Option<Credential> {
    let chain = match context.held {
        Some(held) => {
            let issued = held.issued.as_ref()?;
            let chain = issued.chain_for(context.csr, context.look.policy())?;
            context.check(&chain).is_ok().then_some(chain)?
        }
        None => context.kept_in.left_by_liqo(context)?,
    };
    Some(Credential::certificate(chain))
}

/// The request to sign. The provider makes a request only if no certificate is
/// usable, or if its renewal is due.
pub(super) fn request(context: &HolderContext<'_>) -> SigningRequest {
    let look = context.look;
    let lifetime = lifetime(look.configuration, look.peer());
    let replaced = replaced(context);
    let csr = context.csr;
    let id = match context.basis {
        RequestBasis::Handshake { nonce, tenant } => {
            RequestId::new(csr, nonce, tenant, lifetime, replaced)
        }
        RequestBasis::Tenant(tenant) => {
            RequestId::of_slice(csr, tenant, context.uid, lifetime, replaced)
        }
    };
    SigningRequest {
        id,
        peer: look.peer().clone(),
        holder: context.holder.clone(),
        csr: csr.clone(),
        subject: context.subject.clone(),
        public_key: context.key.clone(),
        lifetime,
        now: look.now,
    }
}

fn replaced(context: &HolderContext<'_>) -> Option<Fingerprint> {
    let held: &HeldCredentials = context.held?;
    held.issued.as_ref()?.fingerprint()
}

/// Asks the configured signer, and stores the certificate. `renews` is the
/// certificate in force, if the request renews this certificate. Then a denial is
/// recorded, and a new certificate that does not end later than the one in force is
/// refused. Returns whether a new certificate is stored.
pub(super) fn ask(
    context: &HolderContext<'_>,
    request: &SigningRequest,
    renews: Option<&IssuedCertificate>,
    plan: &mut Plan<'_>,
) -> Result<bool, Error> {
    let configuration = context.look.configuration;
    let answer = match &configuration.signer {
        _ if configuration.settings.kubernetes_signer => kubernetes::ask(context, request, plan)?,
        Some(signer) => signer
            .sign(request)
            .map_err(|error| Error::backend(Backend::Credentials, error))?,
        None => Answer::Pending,
    };
    match answer {
        Answer::Ready(chain) => take(context, request, renews, &chain, plan),
        Answer::Pending => {
            plan.await_for(Awaited::Credential(request.id));
            Ok(false)
        }
        Answer::Denied(reason) => {
            let reason = shortened(&reason);
            match renews {
                Some(present) => {
                    let refused = RefusedRenewal::denied(request.id, request.now, reason);
                    refuse_renewal(context, present, refused, plan);
                }
                None => context.refuse(PolicyRefusal::CredentialDenied { reason }, plan),
            }
            Ok(false)
        }
    }
}

/// Accepts the signer's certificate. Writes its expiry to the peer's record, then
/// the certificate to the holder's record and to the Secret in which Liqo keeps it.
fn take(
    context: &HolderContext<'_>,
    request: &SigningRequest,
    renews: Option<&IssuedCertificate>,
    chain: &CertificateChain,
    plan: &mut Plan<'_>,
) -> Result<bool, Error> {
    context.check(chain)?;
    let now = request.now;
    let until = chain.leaf().not_after;
    if let Some(present) = renews.filter(|present| until <= present.until()) {
        // This check prevents an endless series of renewals.
        let refused = RefusedRenewal::without_progress(request.id, now, until);
        refuse_renewal(context, present, refused, plan);
        context.give_up(plan);
        return Ok(false);
    }
    let replaces = replaced(context);
    let records = &mut plan.records;
    records.remember_until(&context.holder, until);
    let certificate = chain.leaf().fingerprint();
    let issued = IssuedCertificate::new(chain, certificate, &request.csr, replaces, now);
    records.held(&context.holder, |held| held.take(issued));
    if let Holder::Slice(slice) = &context.holder {
        records.slice(slice).change(|record| {
            record.authenticated.get_or_insert(now.unix());
        });
    }
    context.compare_new(chain, plan);
    context.kept_in.store(context.text, chain, plan);
    let issued = Decision::CertificateIssued {
        request: request.id,
        certificate,
        until,
        replaces,
    };
    context.tell(issued, plan);
    Ok(true)
}

/// Records a refused renewal. The present certificate stays in force. The provider
/// asks again after a tenth of the certificate's lifetime.
fn refuse_renewal(
    context: &HolderContext<'_>,
    present: &IssuedCertificate,
    refused: RefusedRenewal,
    plan: &mut Plan<'_>,
) {
    plan.refuse(refused.error(present.until(), context.about.clone()));
    plan.wake_by(Some(context.look.now + present.pause()));
    plan.records
        .held(&context.holder, |held| held.refused_renewal = Some(refused));
}

/// The lifetime to request: the configured one, limited by the peer's policy.
pub(crate) fn lifetime(configuration: &Configuration, peer: &ClusterId) -> Duration {
    let limit = configuration.policy(peer).limits.certificate_lifetime;
    configuration
        .settings
        .certificate_lifetime
        .min(limit.saturating_sub(BACKDATED))
}

/// The margin for a signer that sets notBefore back.
const BACKDATED: Duration = Duration::from_secs(10 * 60);
