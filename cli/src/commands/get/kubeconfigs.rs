//! `get kubeconfig`: the text of a kubeconfig, a table of all kubeconfigs, or their Secrets.

use liqo_auth::model::{
    ClusterId, Identity, Kind, ObjectRef, Resource, ResourceSliceConditionStatus,
    ResourceSliceConditionType, Secret, names,
};

use crate::{
    arguments::{GetKubeconfig, List},
    commands::{
        listing::{age_of, all_readable, in_place_of_table, warn},
        slices, unread,
    },
    context::Context,
    failure::{Failure, Result},
    home::{Home, Use},
    output::{Table, escaped, masked, program},
};

pub(in crate::commands) fn kubeconfigs(context: &Context, arguments: &GetKubeconfig) -> Result<()> {
    let GetKubeconfig {
        name,
        remote_cluster_id: peer,
        resourceslice: slice,
        shown,
    } = arguments;
    let home = context.open(Use::Read)?;
    let wanted = match (name, peer, slice) {
        (Some(name), ..) => Some(name.clone()),
        (None, Some(_), Some(slice)) => Some(names::resource_slice_identity_name(slice)),
        (None, Some(peer), None) => Some(names::identity_name(peer)),
        (None, None, _) => None,
    };
    let identities: Vec<&Identity> = home
        .all::<Identity>()
        .filter(|identity| {
            let is_of_peer = |peer: &ClusterId| identity.spec.cluster_id == peer.as_str();
            let metadata = &identity.metadata;
            wanted.as_ref().is_none_or(|name| metadata.name == *name)
                && peer.as_ref().is_none_or(is_of_peer)
                && shown.has_namespace_of(metadata)
        })
        .collect();
    let kept = identities.iter().map(|identity| Kept::of(&home, identity));
    let found: Vec<Kept<'_>> = kept.flatten().collect();
    if wanted.is_some() {
        let first = found.first();
        let Kept { secret, text, .. } =
            first.ok_or_else(|| missing(&home, &identities, wanted.as_deref(), arguments))?;
        if shown.output.is_none() {
            let text = std::str::from_utf8(text)
                .map_err(|_| Failure::at_odds(format!("{}: it is not text", secret.id())))?;
            return context.printer.result(text);
        }
    }
    warn(context, &home);
    let readable = readable(&home, &identities, arguments);
    if let Some(printed) = shown.printed() {
        let ids: Vec<ObjectRef> = found.iter().map(|kept| kept.secret.id()).collect();
        in_place_of_table(context, &home, &ids, wanted.is_some(), &printed)?;
        return readable;
    }
    if found.is_empty() {
        context.printer.message("No kubeconfig found.");
        return readable;
    }
    table(context, &found, arguments)?;
    readable
}

/// Fails if an Identity cannot be read, or the Secret of one that is shown.
fn readable(home: &Home, identities: &[&Identity], arguments: &GetKubeconfig) -> Result<()> {
    let of = |name: Option<String>| List {
        name,
        shown: arguments.shown.clone(),
    };
    if arguments.name.is_none() && arguments.remote_cluster_id.is_none() {
        all_readable(home, &of(None), Identity::KIND)?;
    }
    for identity in identities {
        let name = names::kubeconfig_secret(&identity.metadata.name);
        all_readable(home, &of(Some(name)), Secret::KIND)?;
    }
    Ok(())
}

/// A kubeconfig, with its Identity.
struct Kept<'h> {
    identity: &'h Identity,
    secret: &'h Secret,
    text: &'h [u8],
}

impl<'h> Kept<'h> {
    /// None if the Identity has no kubeconfig yet.
    fn of(home: &'h Home, identity: &'h Identity) -> Option<Self> {
        let metadata = &identity.metadata;
        let name = names::kubeconfig_secret(&metadata.name);
        let secret: &Secret = home.get(&metadata.namespace, &name)?;
        let text = secret.get(names::KUBECONFIG)?;
        Some(Self {
            identity,
            secret,
            text,
        })
    }
}

fn table(context: &Context, found: &[Kept<'_>], arguments: &GetKubeconfig) -> Result<()> {
    let shown = &arguments.shown;
    let now = context.clock.now()?;
    let mut table = Table::new(["NAMESPACE", "IDENTITY", "AGE", "TYPE", "REMOTE CLUSTER"])
        .optional(["TYPE", "AGE"]);
    if shown.is_wide() {
        table.add_titles(["SECRET", "API SERVER", "CERTIFICATE ENDS"]);
    }
    for Kept {
        identity, secret, ..
    } in found
    {
        let metadata = &identity.metadata;
        table.row([
            metadata.namespace.clone(),
            metadata.name.clone(),
            age_of(&secret.metadata, now),
            identity.spec.identity_type.to_string(),
            identity.spec.cluster_id.clone(),
        ]);
        if shown.is_wide() {
            let auth_params = &identity.spec.auth_params;
            table.add_cells([
                secret.metadata.name.clone(),
                masked(&auth_params.api_server),
                super::ends(Some(auth_params)),
            ]);
        }
    }
    let table = match shown.all_namespaces {
        true => table,
        false => table.without_first(),
    };
    context.printer.result(&table.text(shown.is_wide()))
}

/// Why there is no such kubeconfig.
fn missing(
    home: &Home,
    identities: &[&Identity],
    wanted: Option<&str>,
    arguments: &GetKubeconfig,
) -> Failure {
    let GetKubeconfig {
        name,
        remote_cluster_id: peer,
        resourceslice: slice,
        shown,
    } = arguments;
    if let Some(identity) = identities.first() {
        let again = format!(
            "Make it again: {} renew {}",
            program(),
            home.site().options()
        );
        let name = names::kubeconfig_secret(&identity.metadata.name);
        let secret = ObjectRef::new(Kind::Secret, &identity.metadata.namespace, name);
        return match home.unreadable().find(|it| it.id == secret) {
            Some(unreadable) => unread::failure(home, unreadable, &again),
            None => Failure::waiting(format!(
                "{} has no kubeconfig in {}: its Secret is not there. {again}",
                identity.id(),
                home.site(),
            )),
        };
    }
    if let Some(unreadable) = home.unreadable().find(|unreadable| {
        let id = &unreadable.id;
        id.kind == Kind::Identity && wanted == Some(&id.name)
    }) {
        let (program, options) = (program(), home.site().options());
        let then = format!(
            "Without a backup, apply the Identity again that its administrator generates: {program} apply -f FILE {options}"
        );
        return unread::failure(home, unreadable, &then);
    }
    if let Some(namespace) = &shown.namespace {
        return Failure::waiting(format!(
            "there is no such kubeconfig in the namespace {namespace}. Leave -n out to look in all"
        ));
    }
    match (name, peer, slice) {
        (None, Some(peer), Some(slice)) => without_kubeconfig(home, peer, slice),
        (None, Some(peer), None) => Failure::waiting(format!(
            "there is no kubeconfig for {peer} in {}. Apply the Identity that its administrator generates first.",
            home.site()
        )),
        (name, ..) => {
            let known: Vec<&str> = home
                .all::<Identity>()
                .filter(|identity| {
                    let is_it = |peer: &ClusterId| identity.spec.cluster_id == peer.as_str();
                    peer.as_ref().is_none_or(is_it)
                })
                .map(|identity| identity.metadata.name.as_str())
                .collect();
            let of = peer
                .as_ref()
                .map_or_else(String::new, |peer| format!(" for {peer}"));
            Failure::waiting(format!(
                "there is no kubeconfig of an Identity {}{of} in {}; its Identities: {}",
                escaped(name.as_deref().unwrap_or_default()),
                home.site(),
                match known.is_empty() {
                    true => "none".to_owned(),
                    false => known.join(", "),
                }
            ))
        }
    }
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
