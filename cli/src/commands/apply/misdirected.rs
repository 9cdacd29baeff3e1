//! Objects that belong to another cluster: the commonest mistakes of people who carry
//! files.

use liqo_auth::{
    crypto::CertificateChain,
    model::{ClusterId, Identity, Resource, Tenant},
    policy::Policy,
};

use liqo_auth_inspection::subject;

use super::received::Received;
use crate::{
    home::Home,
    output::escaped,
    peering::provider_side::{has_tenant, nonce_secret},
};

/// Why an object is not for this cluster, and where it belongs. None if it may be.
pub(super) fn reason(home: &Home, object: &Received) -> Option<String> {
    match object {
        Received::Tenant(tenant) => of_tenant(home.cluster_id(), tenant),
        Received::Identity(identity) => of_identity(home.cluster_id(), identity),
        Received::ResourceSlice(_) | Received::Renew(_) | Received::Request(_) => None,
    }
}

/// What a message about a Tenant begins with. The Tenant does not name its provider, so that one
/// for another provider is recognised by the missing invitation.
pub(super) fn with_doubt(home: &Home, consumer: &ClusterId, subject: String) -> String {
    match nonce_secret(home, consumer).is_some() || has_tenant(&home.view(consumer)) {
        true => subject,
        false => format!(
            "{subject}: {} has not invited {consumer}. If {consumer} made the Tenant for another provider, apply it there",
            home.cluster_id()
        ),
    }
}

fn of_tenant(own: &ClusterId, tenant: &Tenant) -> Option<String> {
    let names_own = |name: &str| name == own.as_str();
    if !names_own(&tenant.spec.cluster_id) && !names_own(&tenant.metadata.name) {
        return None;
    }
    Some(format!(
        "{}: this Tenant is this cluster's own. Send it to the provider, whose administrator applies it there.",
        tenant.id()
    ))
}

fn of_identity(own: &ClusterId, identity: &Identity) -> Option<String> {
    let consumer = consumer_of(identity);
    let id = identity.id();
    if identity.spec.cluster_id == own.as_str() {
        let consumer = consumer.map_or("the consumer".to_owned(), |id| id.to_string());
        return Some(format!(
            "{id}: this cluster generated this Identity for {consumer}. Send it to {consumer}, whose administrator applies it there."
        ));
    }
    let consumer = consumer.filter(|consumer| consumer != own)?;
    Some(format!(
        "{id}: this Identity of {} is for {consumer}, and this cluster is {own}. Apply it on {consumer}.",
        escaped(&identity.spec.cluster_id)
    ))
}

/// The cluster that the certificate of an Identity names.
fn consumer_of(identity: &Identity) -> Option<ClusterId> {
    let pem = identity.spec.auth_params.signed_crt.as_slice();
    let chain = CertificateChain::from_pem(pem, &Policy::compatible()).ok()?;
    subject::consumer(&chain.leaf().subject())
}
