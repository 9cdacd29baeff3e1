//! A Tenant without a handshake. This side's administrator applies it for a peer
//! that does not need a handshake, according to the settings.

use liqo_auth::{
    admission::tenant as admission,
    machine::Effect,
    model::{AuthzPolicy, ClusterId, Metadata, Namespace, Resource, Tenant, names},
};

use crate::{
    commands::get,
    context::Context,
    failure::{Code, Failure, Result},
    home::Home,
};

use super::received::Received;

/// Whether the Tenant asks for no handshake, and the settings allow that.
pub(super) fn is_tolerated(home: &Home, peer: &ClusterId, tenant: &Tenant) -> bool {
    let settings = home.settings.peers.get(peer);
    tenant.spec.authz_policy == Some(AuthzPolicy::TolerateNoHandshake)
        && settings.is_some_and(|settings| settings.tolerate_no_handshake)
}

/// The peer of a tolerated Tenant, which may have any name: the one that label and spec name.
pub(super) fn labelled_peer(home: &Home, object: &Received) -> Option<ClusterId> {
    let Received::Tenant(tenant) = object else {
        return None;
    };
    let label = tenant.metadata.labels.get(names::REMOTE_CLUSTER_ID_LABEL)?;
    let peer = label.parse().ok()?;
    (tenant.spec.cluster_id == *label && is_tolerated(home, &peer, tenant)).then_some(peer)
}

/// Stores the Tenant in memory, as `kubectl apply` would, unless it exists already.
pub(super) fn receive(
    context: &Context,
    home: &mut Home,
    peer: &ClusterId,
    tenant: &Tenant,
    subject: &str,
) -> Result<()> {
    if let Some(stored) = get::tenant_of(home, peer) {
        if stored.spec.authz_policy == tenant.spec.authz_policy {
            return Ok(());
        }
        return Err(Failure::at_odds(format!(
            "{subject}: {peer} has a Tenant with a handshake. End that peering first, with `unauthenticate`."
        )));
    }
    let now = context.clock.now()?;
    let namespace = names::tenant_namespace(peer);
    if home.get::<Namespace>("", &namespace).is_none() {
        let made = Namespace::for_tenant(peer);
        home.apply(&Effect::Create(made.into()), now)?;
    }
    let tenant = admission::defaulted(&Tenant {
        metadata: Metadata {
            name: tenant.metadata.name.clone(),
            namespace: namespace.clone(),
            labels: tenant.metadata.labels.clone(),
            ..Metadata::default()
        },
        spec: tenant.spec.clone(),
        ..Tenant::default()
    });
    let tenants: Vec<&Tenant> = home.all().collect();
    let surroundings = admission::Surroundings {
        namespace: home.get("", &namespace),
        tenants: &tenants,
    };
    if let Err(denial) = admission::create(&tenant, &surroundings) {
        return Err(Failure::new(
            Code::Refused,
            format!("{subject}: {}: {denial}", tenant.id()),
        ));
    }
    home.apply(&Effect::Create(tenant.into()), now)
}
