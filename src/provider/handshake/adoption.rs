//! Adopts the running peerings of Liqo.

use crate::{
    crypto::{CertificateChain, Nonce, PublicKey},
    error::Error,
    machine::Holder,
    model::{Tenant, Timestamp, names},
    provider::{look::Look, phase::Phase, rights::missing_bindings},
};

/// The nonce of a running peering of Liqo, if the provider adopts the peering, and the
/// Tenant's key has signed the nonce. The signature is verified first: a Tenant that does
/// not have it does not cause a test of an RSA modulus.
pub(super) fn adopted_nonce(look: &Look<'_>, tenant: &Tenant) -> Option<Nonce> {
    let (key, _) = let_in(look, tenant)?;
    let policy = look.policy();
    let text = look.observed.nonce?.get(names::NONCE)?;
    let nonce = Nonce::parse(text, policy).ok()?;
    let key = PublicKey::from_known_spki_der(&key, policy).ok()?;
    let signature = tenant.spec.signature.as_slice();
    let verdict = key.verify(key.nonce_scheme(), nonce.as_bytes(), signature, policy);
    verdict.ok().map(|()| nonce)
}

/// Whether this look takes a running peering over from Liqo: it adds the record of the peer,
/// or waits for a backend to do so. What Liqo granted to the peer's slices is read then.
pub(crate) fn takes_over(look: &Look<'_>, phase: Result<&Phase, &Error>) -> bool {
    let is_verified = matches!(
        phase,
        // An error of a backend.
        Err(_)
            | Ok(Phase::AwaitsNames
                | Phase::NeedsProof(..)
                | Phase::Authenticated(_)
                | Phase::Tolerated)
    );
    let tenant = look.observed.tenant;
    is_verified && tenant.is_some_and(|tenant| let_in(look, tenant).is_some())
}

/// The end of the certificate with which Liqo has let this Tenant's key in, if the
/// provider adopts that.
pub(super) fn adopted_until(look: &Look<'_>, tenant: &Tenant) -> Option<Timestamp> {
    let_in(look, tenant).map(|(_, until)| until)
}

/// The Tenant's key, and the end of the certificate with which Liqo has let the key in.
/// No peer can write the status of the stored Tenant, so its certificate proves more than
/// a nonce, which a peering user can replace. A drained peer has no rights: only an
/// administrator's word lets it in again. Liqo makes all bindings of a peer that is not
/// drained.
fn let_in(look: &Look<'_>, tenant: &Tenant) -> Option<(Vec<u8>, Timestamp)> {
    let (observed, policy) = (look.observed, look.policy());
    let is_unknown = observed.record().is_none() && observed.check_record().is_ok();
    let stored = observed.tenant?;
    if !look.configuration.settings.adopt_from_liqo
        || !is_unknown
        || !observed.has_rights()
        || !missing_bindings(observed, stored).ok()?.is_empty()
    {
        return None;
    }
    let given = stored.status.auth_params.as_ref()?;
    let chain = CertificateChain::from_pem(given.signed_crt.as_slice(), policy).ok()?;
    let key = PublicKey::claimed_spki_der(tenant.spec.public_key.as_slice(), policy).ok()?;
    let (certificate, subject) = (chain.leaf(), Holder::ControlPlane.subject(look.peer()));
    let is_let_in = certificate.spki_der == key
        && certificate.subject_is(&subject)
        && look.now <= certificate.not_after;
    is_let_in.then_some((key, certificate.not_after))
}
