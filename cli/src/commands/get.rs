//! `get`: prints objects as tables or as manifests.

mod kubeconfigs;
mod nonces;

pub(super) use self::{kubeconfigs::kubeconfigs, nonces::nonces};

use liqo_auth::{
    crypto::{CertificateChain, Nonce, PublicKey},
    model::{
        AuthParams, ClusterId, Identity, Kind, Namespace, ObjectRef, Renew, Resource, Secret,
        Tenant, TenantCondition, names,
    },
    policy::Policy,
};

use super::listing::{age_of, ids, listed, print, warn};
use crate::{
    arguments::List,
    context::Context,
    failure::{Failure, Result},
    home::{Home, SecretValue, Use},
    output::{Table, masked},
    peering::provider_side::{has_tenant, tenant_in},
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
                masked(tenant.spec.proxy_url.as_deref().unwrap_or_default()),
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
                masked(&auth_params.api_server),
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
