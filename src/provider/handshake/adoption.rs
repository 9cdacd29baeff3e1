//! Adopts the running peerings of Liqo.

use crate::{
    crypto::{CertificateChain, PublicKey},
    machine::Holder,
    provider::look::Look,
};

/// Whether Liqo has let this key in, and the provider adopts that. No peer can write the
/// status of a Tenant, so its certificate proves more than a nonce, which a peering user can
/// replace. A drained peer has no rights: only an administrator's word lets it in again.
pub(super) fn is_adoptable(look: &Look<'_>) -> bool {
    let (configuration, observed) = (look.configuration, look.observed);
    let is_unknown = observed.record().is_none() && observed.check_record().is_ok();
    let adopts = configuration.settings.adopt_from_liqo && is_unknown;
    let Some(tenant) = observed.tenant.filter(|_| adopts && observed.has_rights()) else {
        return false;
    };
    let given = tenant.status.auth_params.as_ref();
    let given = given.map_or(&[][..], |given| given.signed_crt.as_slice());
    let key = PublicKey::claimed_spki_der(tenant.spec.public_key.as_slice(), look.policy());
    let (Ok(chain), Ok(key)) = (CertificateChain::from_pem(given, look.policy()), key) else {
        return false;
    };
    let certificate = chain.leaf();
    let subject = Holder::ControlPlane.subject(look.peer());
    certificate.spki_der == key
        && certificate.subject_is(&subject)
        && look.now <= certificate.not_after
}
