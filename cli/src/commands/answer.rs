//! What a command has done, and what is awaited now, as one document. The peerings are those of
//! `status -o json`.

use std::collections::BTreeSet;

use liqo_auth::{crypto::SigningKey, model::ObjectRef};
use serde_json::{Map, Value, json};

use crate::{
    arguments::Answered,
    context::{Context, load},
    deeds::{Action, Done},
    failure::{Code, Result},
    home::{Home, Site, Use},
    overview,
};

/// Prints the document of a command that is done, or has failed.
pub(super) fn tell(context: &Context, answered: &Answered, ended: Result<()>) -> Result<()> {
    let done = context.deeds.take();
    let mut document = Map::new();
    document.insert("command".to_owned(), json!(answered.command));
    let code = ended.as_ref().err().map(|failure| failure.code);
    document.insert("outcome".to_owned(), json!(outcome(code)));
    document.insert("exitCode".to_owned(), json!(code.map_or(0, Code::number)));
    if let Err(failure) = &ended {
        document.insert("error".to_owned(), json!(failure.to_string()));
    }
    let clusters = clusters(context, answered, &done);
    document.extend(done.told);
    document.insert("clusters".to_owned(), json!(clusters));
    let document = Value::Object(document);
    let printed = context
        .rendered(&document, &answered.output)
        .and_then(|text| context.printer.print(&text));
    ended.and(printed)
}

const fn outcome(code: Option<Code>) -> &'static str {
    match code {
        None => "done",
        Some(Code::Internal | Code::Nagios(_)) => "failed",
        Some(Code::Usage) => "usage",
        Some(Code::Refused) => "refused",
        Some(Code::Waiting) => "waiting",
        Some(Code::AtOdds) => "atOdds",
    }
}

/// The clusters of the command as they are now, with what was written there. One that cannot be
/// read, as by a peering user, is left out.
fn clusters(context: &Context, answered: &Answered, done: &Done) -> Vec<Value> {
    let remote = answered.remote.as_ref().and_then(|remote| remote.named());
    let local = match &remote {
        Some(remote) => context.site_beside(remote),
        None => context.site(),
    };
    let sites = local.ok().into_iter().chain(remote);
    let mut homes: Vec<Home> = sites
        .filter_map(|site| opened(context, &site).ok())
        .collect();
    let ids: Vec<String> = homes
        .iter()
        .map(|home| home.cluster_id().to_string())
        .collect();
    let shown = peers(answered, done, &ids);
    let clusters = homes.iter_mut();
    let clusters = clusters.filter_map(|home| cluster(context, home, done, shown.as_ref()).ok());
    clusters.collect()
}

fn opened(context: &Context, site: &Site) -> Result<Home> {
    let mut home = Home::open(site, Use::Read)?;
    load(&mut home)?;
    home.wait_at_most(context.timeout());
    home.learn_client_cas();
    Ok(home)
}

/// The peers that the command is about. None for all.
fn peers(answered: &Answered, done: &Done, ids: &[String]) -> Option<BTreeSet<String>> {
    if let Some(peer) = &answered.peer {
        return Some(
            [peer.clone()]
                .into_iter()
                .chain(ids.iter().cloned())
                .collect(),
        );
    }
    if answered.command == "apply" {
        let applied = done.told.get(APPLIED).and_then(Value::as_array);
        let applied = applied.into_iter().flatten();
        let peers = applied.filter_map(|one| one.get("peer")?.as_str());
        return Some(peers.map(str::to_owned).collect());
    }
    (ids.len() > 1).then(|| ids.iter().cloned().collect())
}

fn cluster(
    context: &Context,
    home: &mut Home,
    done: &Done,
    shown: Option<&BTreeSet<String>>,
) -> Result<Value> {
    let mut peerings = overview::peerings(context, home)?;
    peerings.retain(|peering| shown.is_none_or(|shown| shown.contains(&peering.peer)));
    let place = home.site().to_string();
    let written = done.written(&place);
    let written: Vec<Value> = written.map(|(id, action)| object(id, action)).collect();
    Ok(json!({
        "clusterID": home.cluster_id().as_str(),
        "key": home.key()?.public_key().fingerprint().to_string(),
        "apiServer": home.settings.api_server.to_string(),
        "written": written,
        "peerings": peerings,
    }))
}

fn object(id: &ObjectRef, action: Action) -> Value {
    json!({ "action": action, "object": id })
}

/// The list of the objects that were applied.
pub(super) const APPLIED: &str = "applied";
