//! `get`: prints objects as tables or as manifests.

use liqo_auth::{
    crypto::Nonce,
    model::{
        ClusterId, Identity, Kind, Metadata, Namespace, NamespaceName, ObjectRef, Renew, Resource,
        Secret, Tenant, TenantCondition, Timestamp, names,
    },
    policy::Policy,
};
use serde_json::json;

use crate::{
    arguments::{Format, GetNonce, List},
    context::Context,
    failure::{Failure, Result},
    home::{Home, SecretValue, Use},
    output::{Table, age},
    provider_side::nonce_secret,
};

pub(super) fn tenants(context: &Context, list: &List) -> Result<()> {
    let home = context.open(Use::Read)?;
    warn(context, &home);
    let tenants: Vec<&Tenant> = home
        .all::<Tenant>()
        .filter(|tenant| list.asks_for(&tenant.metadata))
        .collect();
    if let Some(format) = list.output {
        return manifests(context, &home, &ids(&tenants), format);
    }
    let now = context.clock.now()?;
    let mut table = Table::new(["NAMESPACE", "NAME", "AGE", "CONDITION"]);
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
    }
    print(context, list, table, "Tenant")
}

pub(super) fn identities(context: &Context, list: &List) -> Result<()> {
    let home = context.open(Use::Read)?;
    warn(context, &home);
    let wanted = |identity: &&Identity| list.asks_for(&identity.metadata);
    let identities: Vec<&Identity> = home.all::<Identity>().filter(wanted).collect();
    if let Some(format) = list.output {
        return manifests(context, &home, &ids(&identities), format);
    }
    let now = context.clock.now()?;
    let mut table = Table::new(["NAMESPACE", "NAME", "AGE", "TYPE", "KUBECONFIGSECRET"]);
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
    }
    print(context, list, table, "Identity")
}

pub(super) fn renews(context: &Context, list: &List) -> Result<()> {
    let home = context.open(Use::Read)?;
    warn(context, &home);
    let wanted = |renew: &&Renew| list.asks_for(&renew.metadata);
    let renews: Vec<&Renew> = home.all::<Renew>().filter(wanted).collect();
    if let Some(format) = list.output {
        return manifests(context, &home, &ids(&renews), format);
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
    print(context, list, table, "Renew")
}

pub(super) fn nonce(context: &Context, arguments: &GetNonce) -> Result<()> {
    let home = context.open(Use::Read)?;
    if let Some(peer) = &arguments.remote_cluster_id {
        let secret = nonce_secret(&home, peer).ok_or_else(|| {
            Failure::waiting(format!(
                "there is no nonce for {peer} in {path}. Create one with: liqo-auth create nonce {options} --remote-cluster-id {peer}",
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
    let mut table = Table::new(["NAMESPACE", "NAME", "TYPE", "DATA", "AGE", "EXPIRES"]);
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

pub(super) fn kubeconfig(context: &Context, peer: &ClusterId, slice: Option<&str>) -> Result<()> {
    let home = context.open(Use::Read)?;
    let name = slice.map_or_else(
        || names::identity_name(peer),
        names::resource_slice_identity_name,
    );
    let waits = || {
        Failure::waiting(format!(
            "there is no kubeconfig for {peer} in {}. Apply the Identity that its administrator generates first.",
            home.site()
        ))
    };
    let identity = home
        .all::<Identity>()
        .find(|identity| {
            identity.metadata.name == name && identity.spec.cluster_id == peer.as_str()
        })
        .ok_or_else(waits)?;
    let secret: &Secret = home
        .get(
            &identity.metadata.namespace,
            &names::kubeconfig_secret(&name),
        )
        .ok_or_else(waits)?;
    let text = secret.get(names::KUBECONFIG).ok_or_else(waits)?;
    let text = std::str::from_utf8(text)
        .map_err(|_| Failure::at_odds(format!("{}: it is not text", secret.id())))?;
    context.printer.result(text)
}

/// Prints objects like kubectl: one object as itself, several objects as a List. They are
/// [portable](SecretValue::portable), so that `kubectl apply` takes them.
pub(super) fn manifests(
    context: &Context,
    home: &Home,
    ids: &[ObjectRef],
    format: Format,
) -> Result<()> {
    let values = ids.iter().filter_map(|id| home.value(id));
    let values: Vec<SecretValue> = values.map(SecretValue::portable).collect();
    print_all(context, &values, format)
}

/// Prints one manifest as itself, and several as a List.
pub(super) fn print_all(context: &Context, values: &[SecretValue], format: Format) -> Result<()> {
    if let [value] = values {
        return context.manifest(value, format);
    }
    let items: Vec<_> = values.iter().map(|value| (**value).clone()).collect();
    let list = SecretValue::new(json!({
        "apiVersion": "v1",
        "items": items,
        "kind": "List",
    }));
    context.manifest(&list, format)
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

/// The Tenant of a peer, in any namespace.
pub(super) fn tenant_of<'h>(home: &'h Home, peer: &ClusterId) -> Option<&'h Tenant> {
    home.all::<Tenant>()
        .find(|tenant| tenant.metadata.name == peer.as_str())
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

impl List {
    pub(super) fn asks_for(&self, metadata: &Metadata) -> bool {
        let namespace = self.namespace.as_ref().map(NamespaceName::as_str);
        namespace.is_none_or(|namespace| namespace == metadata.namespace)
            && self.name.as_ref().is_none_or(|name| *name == metadata.name)
    }
}

pub(super) fn ids<K: Resource>(objects: &[&K]) -> Vec<ObjectRef> {
    objects.iter().map(|object| object.id()).collect()
}

pub(super) fn print(context: &Context, list: &List, table: Table, kind: &str) -> Result<()> {
    match &list.name {
        Some(name) if table.is_empty() => {
            let name = crate::output::escaped(name);
            return Err(Failure::waiting(format!(
                "there is no {kind} {name} in this home"
            )));
        }
        None if table.is_empty() => {
            context.printer.message(&format!("No {kind} found."));
            return Ok(());
        }
        _ => {}
    }
    let table = if list.all_namespaces {
        table
    } else {
        table.without_first()
    };
    context.printer.result(&table.to_text())
}

pub(super) fn age_of(metadata: &Metadata, now: Timestamp) -> String {
    match metadata.creation_timestamp {
        None => "<unknown>".to_owned(),
        Some(created) => age(now.since(created)),
    }
}

/// Warns of the objects that cannot be read, and so are missing from a table.
pub(super) fn warn(context: &Context, home: &Home) {
    for unreadable in home.unreadable() {
        context
            .printer
            .warning(&format!("{}: {}", unreadable.id, unreadable.reason));
    }
}
