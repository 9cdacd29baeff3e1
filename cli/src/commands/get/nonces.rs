//! `get nonce`: the text of a nonce, a table of all nonces, or their Secrets.

use liqo_auth::{
    crypto::Nonce,
    model::{ClusterId, Kind, Metadata, Namespace, ObjectRef, Resource, Secret, names},
    policy::Policy,
    provider::Phase,
};

use super::nonce_text;
use crate::{
    arguments::{GetNonce, List},
    commands::{
        listing::{age_of, all_readable, in_place_of_table, warn},
        nonce::is_of_a_nonce_that_serves_no_more,
        unread,
    },
    context::Context,
    failure::{Failure, Result},
    home::{Home, Use},
    output::{Table, age, program},
    peering::provider_side::{ProviderSide, nonce_secret},
};

pub(in crate::commands) fn nonces(context: &Context, arguments: &GetNonce) -> Result<()> {
    let GetNonce {
        remote_cluster_id: peer,
        shown,
    } = arguments;
    let mut home = context.open(Use::Read)?;
    if let (Some(peer), None) = (peer, &shown.output)
        && let Ok(Some(why)) = serves_no_more(context, &mut home, peer)
    {
        context.printer.warning(&why);
    }
    let nonces: Vec<&Secret> = home
        .all::<Secret>()
        .filter(|secret| {
            let of_peer = peer
                .as_ref()
                .is_none_or(|peer| peer_of(&secret.metadata) == Some(peer.as_str()));
            secret.metadata.name == names::NONCE_SECRET
                && shown.has_namespace_of(&secret.metadata)
                && of_peer
        })
        .collect();
    if let Some(peer) = peer {
        let first = nonces.first().copied();
        let secret = first.ok_or_else(|| missing(&home, peer, arguments))?;
        if shown.output.is_none() {
            // Like liqoctl, print no line feed after the nonce, so that a file contains
            // only the nonce.
            return context.printer.result(&nonce_text(secret)?);
        }
    }
    warn(context, &home);
    let all = List {
        name: Some(names::NONCE_SECRET.to_owned()),
        shown: shown.clone(),
    };
    let readable = match peer {
        Some(_) => Ok(()),
        None => all_readable(&home, &all, Secret::KIND),
    };
    if let Some(printed) = shown.printed() {
        let ids: Vec<ObjectRef> = nonces.iter().map(|secret| secret.id()).collect();
        in_place_of_table(context, &home, &ids, peer.is_some(), &printed)?;
        return readable;
    }
    if nonces.is_empty() {
        context.printer.message("No nonce found.");
        return readable;
    }
    table(context, &nonces, shown.is_wide())?;
    readable
}

/// All nonces have one name, so that the namespace is always there.
fn table(context: &Context, nonces: &[&Secret], is_wide: bool) -> Result<()> {
    let now = context.clock.now()?;
    let mut table = Table::new(["NAMESPACE", "NAME", "TYPE", "DATA", "AGE", "EXPIRES"])
        .optional(["TYPE", "DATA", "AGE"]);
    if is_wide {
        table.add_titles(["REMOTE CLUSTER", "VALID UNTIL"]);
    }
    for secret in nonces {
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
        if is_wide {
            table.add_cells([
                peer_of(&secret.metadata).unwrap_or("-").to_owned(),
                expires.map_or_else(|| "<unknown>".to_owned(), |at| at.to_string()),
            ]);
        }
    }
    context.printer.result(&table.text(is_wide))
}

/// Why the nonce of a peer cannot be signed any more, and what to do then. Whoever cannot know it
/// gets the nonce all the same.
fn serves_no_more(context: &Context, home: &mut Home, peer: &ClusterId) -> Result<Option<String>> {
    let secret = nonce_secret(home, peer);
    let text = secret.and_then(|secret| nonce_text(secret).ok());
    let nonce = text.and_then(|text| Nonce::parse(text.as_bytes(), &Policy::compatible()).ok());
    let expires = nonce.and_then(|nonce| Some(nonce.structured()?.expires()));
    let provider = ProviderSide::new(home, peer, &context.policy, context.clock)?;
    let why = match (provider.status()?.phase, expires) {
        // One that was made for a running peering may never have been signed.
        (_, Some(at)) if at <= context.clock.now()? => format!("this nonce expired at {at}"),
        (
            Phase::NeedsApproval(_)
            | Phase::NeedsCredential(_)
            | Phase::NeedsRights(_)
            | Phase::Authenticated(_),
            _,
        ) if !provider.awaits_tenant()? => format!("{peer} has signed this nonce already"),
        (Phase::Refused(error), _) if is_of_a_nonce_that_serves_no_more(&error) => {
            "this nonce serves no more: it was used or replaced, or its peering has ended"
                .to_owned()
        }
        _ => return Ok(None),
    };
    Ok(Some(format!(
        "{why}. The next one is made by {} create nonce {} --remote-cluster-id {peer} --replace",
        program(),
        home.site().options()
    )))
}

fn missing(home: &Home, peer: &ClusterId, arguments: &GetNonce) -> Failure {
    let create = format!(
        "{} create nonce {} --remote-cluster-id {peer}",
        program(),
        home.site().options()
    );
    if let Some(unreadable) = home.unreadable().find(|it| is_nonce(home, &it.id, peer)) {
        let then = format!(
            "Then this puts the nonce on offer there again, or says that none is needed: {create}"
        );
        return unread::failure(home, unreadable, &then);
    }
    if let Some(namespace) = &arguments.shown.namespace
        && let Some(secret) = nonce_secret(home, peer)
    {
        let found = &secret.metadata.namespace;
        return Failure::waiting(format!(
            "there is no nonce for {peer} in the namespace {namespace}. It is in {found}: leave -n out"
        ));
    }
    Failure::waiting(format!(
        "there is no nonce for {peer} in {}. Create one with: {create}",
        home.site()
    ))
}

/// Whether this is the nonce of a peer, by its namespace alone.
fn is_nonce(home: &Home, id: &ObjectRef, peer: &ClusterId) -> bool {
    let namespace: Option<&Namespace> = home.get("", &id.namespace);
    let of = namespace.and_then(|namespace| peer_of(&namespace.metadata));
    id.kind == Kind::Secret && id.name == names::NONCE_SECRET && of == Some(peer.as_str())
}

fn peer_of(metadata: &Metadata) -> Option<&str> {
    let label = metadata.labels.get(names::REMOTE_CLUSTER_ID_LABEL);
    label.map(String::as_str)
}
