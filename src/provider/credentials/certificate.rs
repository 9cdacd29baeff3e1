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

/// The certificate in force, which a request renews.
#[derive(Clone, Copy)]
pub(super) struct Renewed<'a> {
    pub(super) issued: &'a IssuedCertificate,
    /// Whether no client CA of the API server has issued it.
    pub(super) is_distrusted: bool,
}

/// Asks the configured signer, and stores the certificate. If the request renews a
/// certificate, a denial is recorded, and a new certificate that does not end later than the
/// one in force is refused, unless it [may](HolderContext::may_end_earlier). Returns whether a
/// new certificate is stored.
pub(super) fn ask(
    context: &HolderContext<'_>,
    request: &SigningRequest,
    renews: Option<Renewed<'_>>,
    plan: &mut Plan<'_>,
) -> Result<bool, Error> {
    let configuration = context.look.configuration;
    let answer = match &configuration.signer {
        _ if configuration.settings.kubernetes_signer => kubernetes::ask(context, request, plan)?,
        Some(signer) => plan
            .ask(|| signer.sign(request))
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
                Some(Renewed { issued, .. }) => {
                    let refused = RefusedRenewal::denied(request.id, request.now, reason);
                    refuse_renewal(context, issued, refused, plan);
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
    renews: Option<Renewed<'_>>,
    chain: &CertificateChain,
    plan: &mut Plan<'_>,
) -> Result<bool, Error> {
    context.check(chain)?;
    let now = request.now;
    let until = chain.leaf().not_after;
    if let Some(renewed) = renews
        && until <= renewed.issued.until()
        && !context.may_end_earlier(renewed, chain)
    {
        // This check prevents an endless series of renewals.
        let refused = RefusedRenewal::without_progress(request.id, now, until);
        refuse_renewal(context, renewed.issued, refused, plan);
        context.give_up(plan);
        return Ok(false);
    }
    let replaces = replaced(context);
    let records = &mut plan.records;
    records.remember_until(&context.holder, until);
    let certificate = chain.leaf().fingerprint();
    // The first certificate for a request is a renewal of none.
    let renewed = renews.and(replaces);
    let issued = IssuedCertificate::new(chain, certificate, &request.csr, renewed, now);
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

impl HolderContext<'_> {
    /// Whether a certificate that does not end later may take the place of the one in force: the
    /// API server does not let the present one in, or an administrator wants another one, and the API
    /// server may let the new one in. So it happens once for each set of CAs, and once for each
    /// wish.
    fn may_end_earlier(&self, renewed: Renewed<'_>, chain: &CertificateChain) -> bool {
        let is_wanted = || self.held.is_some_and(|held| held.due_now);
        let trust = || self.client_cas.and_then(|cas| cas.trust(chain));
        (renewed.is_distrusted || is_wanted()) && trust() != Some(false)
    }
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
