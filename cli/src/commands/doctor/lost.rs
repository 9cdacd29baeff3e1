//! What a home has lost of a peering, and an answer that does not come. The other side is not asked,
//! so that only this side's objects say so.

use liqo_auth::model::{ClusterId, Kind, ObjectRef, Timestamp, names};

use super::Finding;
use crate::{
    home::Home,
    output::{escaped, program},
    overview::{Peering, Role, Waits},
    peering::provider_side::has_tenant,
    remedies::authenticate_again,
};

/// The Identity that a consumer waits for: a finding if it was there, or if its nonce has expired,
/// and else a note.
pub(in crate::commands) fn identity(
    home: &Home,
    peering: &Peering,
    now: Timestamp,
) -> Option<Result<Finding, String>> {
    let is_awaited = peering.waits_for.iter().any(Waits::is_for_an_identity);
    if !is_awaited || peering.certificate.is_some() {
        return None;
    }
    let peer = &peering.peer;
    let (again, anew) = (print_again(home, peer), authenticate_again(home, peer));
    if let Some(trace) = trace(home, peering) {
        return Some(Ok(Finding::new(
            format!("the Identity from {peer} is lost: {trace}"),
            format!("{again} If {peer} has none any more: {anew}"),
        )));
    }
    let expired = peering.nonce_until.filter(|until| *until <= now);
    Some(match expired {
        Some(until) => Ok(Finding::new(
            format!(
                "{peer} has not answered, and the nonce in this side's Tenant expired at {until}"
            ),
            format!("{anew} If {peer} took the Tenant before: {again}"),
        )),
        None => Err(format!(
            "{peer} has not answered this side's Tenant. It is printed again by `{} generate tenant {} --remote-cluster-id {peer}`. {again} If {peer} has taken its invitation back: {anew}",
            program(),
            home.site().options()
        )),
    })
}

/// How a consumer gets the present Identity of a provider.
fn print_again(home: &Home, peer: &str) -> String {
    let (program, options, own) = (program(), home.site().options(), home.cluster_id());
    format!(
        "The administrator of {peer} prints the Identity by `{program} generate identity --remote-cluster-id {own}`, and this side takes it by `{program} apply -f FILE {options}`."
    )
}

/// What shows that there was an Identity: its kubeconfig, or a slice that the provider has taken.
fn trace(home: &Home, peering: &Peering) -> Option<String> {
    if let Some(secret) = kubeconfig(home, &peering.peer) {
        return Some(format!("its kubeconfig is there, in {secret}"));
    }
    let mut slices = peering.slices.iter();
    let taken = slices.find(|slice| slice.authentication == "Accepted")?;
    Some(format!(
        "{} has accepted the slice {}",
        peering.peer,
        escaped(&taken.name)
    ))
}

/// The Secret with the kubeconfig of the control plane, readable or not.
pub(super) fn kubeconfig(home: &Home, peer: &str) -> Option<ObjectRef> {
    let peer: ClusterId = peer.parse().ok()?;
    let name = names::kubeconfig_secret(&names::identity_name(&peer));
    let mut ids = home.objects().map(|object| object.id());
    ids.find(|id| id.kind == Kind::Secret && id.name == name)
}

/// What a home has lost that its run would take for deleted.
pub(super) fn of(home: &Home, peering: &Peering) -> Vec<Finding> {
    match (peering.role, peering.peer.parse()) {
        (Role::Provider, Ok(provider)) => slices(home, &provider),
        _ => tenant(home, peering).into_iter().collect(),
    }
}

/// The slices of a provider that are gone, while this side has their Identities.
pub(in crate::commands) fn slices(home: &Home, provider: &ClusterId) -> Vec<Finding> {
    let namespace = names::tenant_namespace(provider);
    let is_there = |slice: &ObjectRef| home.objects().any(|object| object.id() == *slice);
    let lost = home.objects().filter_map(|object| {
        let identity = object.id();
        let name = identity
            .name
            .strip_prefix(names::RESOURCE_SLICE_IDENTITY_PREFIX)?;
        let slice = ObjectRef::new(Kind::ResourceSlice, namespace.as_str(), name);
        let is_of_slice = identity.kind == Kind::Identity && identity.namespace == namespace;
        (is_of_slice && !is_there(&slice)).then_some((slice, identity))
    });
    let lost = lost.map(|(slice, identity)| {
        let (program, options, name) = (program(), home.site().options(), escaped(&slice.name));
        Finding::new(
            format!("the slice {name} of {provider} is gone, and {identity} is of it"),
            format!(
                "If it was lost, restore it from a backup: {}. Without a backup, ask for it again, with the options for its resources: `{program} create resourceslice {name} {options} --remote-cluster-id {provider}`. If it was deleted, `{program} renew {options}` deletes the rest.",
                home.site_of(&slice)
            ),
        )
    });
    lost.collect()
}

/// The Tenant of a consumer that still has its rights. A Tenant that is deleted stays until they
/// are withdrawn.
fn tenant(home: &Home, peering: &Peering) -> Option<Finding> {
    let peer: ClusterId = peering.peer.parse().ok()?;
    let is_ending = peering.role == Role::Consumer && peering.phase == "Ending";
    if !is_ending || has_tenant(&home.view(&peer)) {
        return None;
    }
    let place = ObjectRef::new(Kind::Tenant, names::tenant_namespace(&peer), peer.as_str());
    let (program, options) = (program(), home.site().options());
    Some(Finding::new(
        format!("the Tenant of {peer} is gone, and the rights of {peer} are still there"),
        format!(
            "If it was lost, restore it from a backup before anything else: {}. Without a backup, or if it was deleted, `{program} renew {options}` takes the rights back, and ends the peering. Then `{program} create nonce {options} --remote-cluster-id {peer}` invites {peer} again.",
            home.site_of(&place)
        ),
    ))
}
