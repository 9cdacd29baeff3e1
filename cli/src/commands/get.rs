//! `get`: prints objects as tables or as manifests.

use liqo_auth::{
    crypto::{CertificateChain, Nonce, PublicKey},
    model::{
        AuthParams, ClusterId, Identity, Kind, Namespace, ObjectRef, Renew, Resource,
        ResourceSliceConditionStatus, ResourceSliceConditionType, Secret, Tenant, TenantCondition,
        names,
    },
    policy::Policy,
};

use super::{
    listing::{age_of, ids, listed, print, warn},
    slices,
};
use crate::{
    arguments::{GetNonce, List},
    context::Context,
    failure::{Failure, Result},
    home::{Home, SecretValue, Use},
    output::{Table, age, escaped, program},
    provider_side::{has_tenant, nonce_secret, tenant_in},
};

pub(super) fn tenants(context: &Context, list: &List) -> Result<()> {
    let home = context.open(Use::Read)?;
    warn(context, &home);
    let tenants: Vec<&Tenant> = home
        .all::<Tenant>()
        .filter(|tenant| list.asks_for(&tenant.metadata))
        .collect();
    if let Some(printed) = list.printed() {
        let ids = ids(&tenants);
        return listed(context, &home, list, Kind::Tenant, &ids, &printed);
    }
    let now = context.clock.now()?;
    let mut table = Table::new(["NAMESPACE", "NAME", "AGE", "CONDITION"]);
    if list.is_wide() {
        table.add_titles(["KEY", "PROXY", "CERTIFICATE ENDS"]);
    }
    for tenant in tenants {
        let condition = match tenant.spec.tenant_condition {
            None | Some(TenantCondition::Active) => "Active",
            Some(TenantCondition::Cordoned) => "Cordoned",
            Some(TenantCondition::Drained) => "Drained",
        };
        let metadata = &tenant.metadata;
        table.row([
            metadata.namespace.clone(),
            metadata.name.clone(),
            age_of(metadata, now),
            condition.to_owned(),
        ]);
        if list.is_wide() {
            let key = tenant.spec.public_key.as_slice();
            let key = PublicKey::from_tenant_field(key, &Policy::compatible());
            table.add_cells([
                key.map_or_else(
                    |_| "<unusable>".to_owned(),
                    |key| key.fingerprint().to_string(),
                ),
                tenant.spec.proxy_url.clone().unwrap_or_default(),
                ends(tenant.status.auth_params.as_ref()),
            ]);
        }
    }
    print(context, &home, list, table, Kind::Tenant)
}

pub(super) fn identities(context: &Context, list: &List) -> Result<()> {
    let home = context.open(Use::Read)?;
    warn(context, &home);
    let wanted = |identity: &&Identity| list.asks_for(&identity.metadata);
    let identities: Vec<&Identity> = home.all::<Identity>().filter(wanted).collect();
    if let Some(printed) = list.printed() {
        let ids = ids(&identities);
        return listed(context, &home, list, Kind::Identity, &ids, &printed);
    }
    let now = context.clock.now()?;
    let mut table = Table::new(["NAMESPACE", "NAME", "AGE", "TYPE", "KUBECONFIGSECRET"])
        .optional(["KUBECONFIGSECRET", "AGE"]);
    if list.is_wide() {
        table.add_titles(["PROVIDER", "API SERVER", "CERTIFICATE ENDS"]);
    }
    for identity in identities {
        let secret = identity.status.kubeconfig_secret_ref.as_ref();
        let metadata = &identity.metadata;
        table.row([
            metadata.namespace.clone(),
            metadata.name.clone(),
            age_of(metadata, now),
            identity.spec.identity_type.to_string(),
            secret.map(|secret| secret.name.clone()).unwrap_or_default(),
        ]);
        if list.is_wide() {
            let auth_params = &identity.spec.auth_params;
            table.add_cells([
                identity.spec.cluster_id.clone(),
                auth_params.api_server.clone(),
                ends(Some(auth_params)),
            ]);
        }
    }
    print(context, &home, list, table, Kind::Identity)
}

/// When a certificate ends.
fn ends(auth_params: Option<&AuthParams>) -> String {
    let pem = auth_params.map(|auth_params| auth_params.signed_crt.as_slice());
    let chain = pem.and_then(|pem| CertificateChain::from_pem(pem, &Policy::compatible()).ok());
    chain.map_or_else(
        || "-".to_owned(),
        |chain| chain.leaf().not_after.to_string(),
    )
}

pub(super) fn renews(context: &Context, list: &List) -> Result<()> {
    let home = context.open(Use::Read)?;
    warn(context, &home);
    let wanted = |renew: &&Renew| list.asks_for(&renew.metadata);
    let renews: Vec<&Renew> = home.all::<Renew>().filter(wanted).collect();
    if let Some(printed) = list.printed() {
        let ids = ids(&renews);
        return listed(context, &home, list, Kind::Renew, &ids, &printed);
    }
    let now = context.clock.now()?;
    let mut table = Table::new(["NAMESPACE", "NAME", "AGE"]);
    for renew in renews {
        let metadata = &renew.metadata;
        table.row([
            metadata.namespace.clone(),
            metadata.name.clone(),
            age_of(metadata, now),
        ]);
    }
    print(context, &home, list, table, Kind::Renew)
}

pub(super) fn nonce(context: &Context, arguments: &GetNonce) -> Result<()> {
    let home = context.open(Use::Read)?;
    if let Some(peer) = &arguments.remote_cluster_id {
        let secret = nonce_secret(&home, peer).ok_or_else(|| {
            Failure::waiting(format!(
                "there is no nonce for {peer} in {path}. Create one with: {program} create nonce {options} --remote-cluster-id {peer}",
                program = program(),
                path = home.site(),
                options = home.site().options()
            ))
        })?;
        // Like liqoctl, print no line feed after the nonce, so that a file contains
        // only the nonce.
        return context.printer.result(&nonce_text(secret)?);
    }
    warn(context, &home);
    let now = context.clock.now()?;
    let mut table = Table::new(["NAMESPACE", "NAME", "TYPE", "DATA", "AGE", "EXPIRES"])
        .optional(["TYPE", "DATA", "AGE"]);
    for secret in home
        .all::<Secret>()
        .filter(|secret| secret.metadata.name == names::NONCE_SECRET)
    {
        let nonce = secret
            .get(names::NONCE)
            .and_then(|text| Nonce::parse(text, &Policy::compatible()).ok());
        let expires = nonce.and_then(|nonce| Some(nonce.structured()?.expires()));
        table.row([
            secret.metadata.namespace.clone(),
            secret.metadata.name.clone(),
            secret.secret_type.clone().unwrap_or_default(),
            secret.data.len().to_string(),
            age_of(&secret.metadata, now),
            match expires {
                None => "<unknown>".to_owned(),
                Some(at) if at <= now => "<expired>".to_owned(),
                Some(at) => age(at.since(now)),
            },
        ]);
    }
    if table.is_empty() {
        context.printer.message("No nonce found.");
        return Ok(());
    }
    context.printer.result(&table.to_text())
}

/// Prints the kubeconfig of the Identity with this name.
pub(super) fn kubeconfig_named(
    context: &Context,
    name: &str,
    peer: Option<&ClusterId>,
) -> Result<()> {
    let home = context.open(Use::Read)?;
    let of_peer =
        |identity: &&Identity| peer.is_none_or(|peer| identity.spec.cluster_id == peer.as_str());
    let waits = || {
        let known: Vec<&str> = home
            .all::<Identity>()
            .filter(of_peer)
            .map(|identity| identity.metadata.name.as_str())
            .collect();
        let peer = peer.map_or_else(String::new, |peer| format!(" for {peer}"));
        Failure::waiting(format!(
            "there is no kubeconfig of an Identity {}{peer} in {}; its Identities: {}",
            escaped(name),
            home.site(),
            match known.is_empty() {
                true => "none".to_owned(),
                false => known.join(", "),
            }
        ))
    };
    let mut identities = home.all::<Identity>().filter(of_peer);
    let identity = identities
        .find(|identity| identity.metadata.name == name)
        .ok_or_else(waits)?;
    print_kubeconfig(context, &home, identity)?.ok_or_else(waits)
}

/// Prints the kubeconfig of an Identity. None if it has none yet.
fn print_kubeconfig(context: &Context, home: &Home, identity: &Identity) -> Result<Option<()>> {
    let metadata = &identity.metadata;
    let secret: Option<&Secret> = home.get(
        &metadata.namespace,
        &names::kubeconfig_secret(&metadata.name),
    );
    let Some((secret, text)) =
        secret.and_then(|secret| Some((secret, secret.get(names::KUBECONFIG)?)))
    else {
        return Ok(None);
    };
    let text = std::str::from_utf8(text)
        .map_err(|_| Failure::at_odds(format!("{}: it is not text", secret.id())))?;
    context.printer.result(text)?;
    Ok(Some(()))
}

pub(super) fn kubeconfig(
    context: &Context,
    peer: Option<&ClusterId>,
    slice: Option<&str>,
) -> Result<()> {
    let peer =
        peer.ok_or_else(|| Failure::usage("name the remote cluster with --remote-cluster-id ID"))?;
    let home = context.open(Use::Read)?;
    let name = slice.map_or_else(
        || names::identity_name(peer),
        names::resource_slice_identity_name,
    );
    let waits = || match slice {
        Some(slice) => without_kubeconfig(&home, peer, slice),
        None => Failure::waiting(format!(
            "there is no kubeconfig for {peer} in {}. Apply the Identity that its administrator generates first.",
            home.site()
        )),
    };
    let identity = home
        .all::<Identity>()
        .find(|identity| {
            identity.metadata.name == name && identity.spec.cluster_id == peer.as_str()
        })
        .ok_or_else(waits)?;
    print_kubeconfig(context, &home, identity)?.ok_or_else(waits)
}

/// Why there is no kubeconfig of a resource slice.
fn without_kubeconfig(home: &Home, peer: &ClusterId, name: &str) -> Failure {
    let (site, shown) = (home.site(), escaped(name));
    let Some(slice) = slices::of_peer(home, peer, name) else {
        return Failure::waiting(format!(
            "there is no ResourceSlice {shown} for {peer} in {site}. Ask for it with: {} create resourceslice {shown} {} --remote-cluster-id {peer}",
            program(),
            site.options()
        ));
    };
    let decision = slice
        .status
        .condition(ResourceSliceConditionType::Authentication);
    Failure::waiting(match decision {
        None => format!(
            "{peer} has not answered the ResourceSlice {shown} yet. If there is no replicator, send it to {peer}, and apply the answer: {} generate resourceslice {shown} {} --remote-cluster-id {peer}",
            program(),
            site.options()
        ),
        Some(decision) if decision.status == ResourceSliceConditionStatus::Denied => format!(
            "{peer} denied the ResourceSlice {shown}: {}",
            escaped(&decision.message)
        ),
        Some(_) => format!(
            "{peer} accepted the ResourceSlice {shown}, and its Identity is not complete. See: {} status {}",
            program(),
            site.options()
        ),
    })
}

/// The text of a stored nonce.
pub(super) fn nonce_text(secret: &Secret) -> Result<String> {
    let text = secret.get(names::NONCE).filter(|text| !text.is_empty());
    let text = text.ok_or_else(|| {
        Failure::waiting(format!("{}: the nonce is not filled in yet", secret.id()))
    })?;
    Nonce::parse(text, &Policy::compatible())
        .map(|nonce| nonce.as_str().to_owned())
        .map_err(|error| Failure::at_odds(format!("{}, data.nonce: {error}", secret.id())))
}

/// Opens the cluster of a command that changes what a tenant gets. A Tenant that cannot be
/// read is there as well.
pub(super) fn open_with_tenant(context: &Context, peer: &ClusterId) -> Result<Home> {
    let home = context.open(Use::Write)?;
    if has_tenant(&home.view(peer)) {
        return Ok(home);
    }
    Err(Failure::waiting(format!(
        "unable to get tenant: there is no Tenant of {peer} in {}",
        home.site()
    )))
}

/// The Tenant of a peer.
pub(super) fn tenant_of<'h>(home: &'h Home, peer: &ClusterId) -> Option<&'h Tenant> {
    tenant_in(&home.view(peer))
}

/// The stored object of a kind and a name, in any namespace or in none.
pub(super) fn stored(home: &Home, (kind, name): &(Kind, String)) -> Option<SecretValue> {
    let namespaces = home
        .all::<Namespace>()
        .map(|namespace| namespace.metadata.name.as_str());
    namespaces
        .chain([""])
        .map(|namespace| ObjectRef::new(*kind, namespace, name.as_str()))
        .find_map(|id| home.value(&id))
}
