//! `legacy status`: shows the state of each cluster, but no token.

use liqo_auth::{
    legacy::{HomeCluster, Phase},
    machine::Interest,
    model::{ClusterId, ForeignCluster, Kind, ObjectRef, Timestamp, names},
};
use serde::Serialize;

use crate::{
    context::Context,
    failure::Result,
    home::{Home, Use},
    legacy::{
        foreign_side::{ForeignChoices, ForeignSide, Stand, has_claims},
        home_side::{HomeChoices, home_cluster},
    },
    output::Table,
};

pub(super) fn run(context: &Context) -> Result<()> {
    let home = context.open_folder(Use::Read)?;
    let now = context.clock.now()?;
    for unreadable in home.unreadable() {
        context.printer.warning(&format!(
            "{} cannot be read: {}",
            unreadable.id, unreadable.reason
        ));
    }
    let foreign_clusters = foreign_clusters(context, &home)?;
    let (home_clusters, token) = home_clusters(context, &home, now)?;
    context.printer.result(&format!("Token: {token}\n"))?;
    let nothing = foreign_clusters.is_empty() && home_clusters.is_empty();
    for table in [foreign_clusters, home_clusters] {
        if !table.is_empty() {
            context.printer.result(&format!("\n{}", table.to_text()))?;
        }
    }
    if nothing {
        context
            .printer
            .message("No foreign cluster was asked, and no home cluster has sent a right token.");
    }
    Ok(())
}

/// A peering by the token protocol.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LegacyPeering {
    /// The peer's cluster ID. While nobody has asked for it, the name of the ForeignCluster.
    pub(crate) peer: String,
    /// The role of the peer.
    pub(crate) role: &'static str,
    pub(crate) state: String,
}

/// The peerings by the token protocol. A cluster of Liqo 1.0 or later has none.
pub(crate) fn peerings(context: &Context, home: &Home) -> Result<Vec<LegacyPeering>> {
    if home.is_live() {
        return Ok(Vec::new());
    }
    let cluster = home_cluster(home, &HomeChoices::default(), &context.policy)?;
    let foreign = home.all::<ForeignCluster>().map(|foreign| {
        let id = &foreign.spec.cluster_identity.cluster_id;
        LegacyPeering {
            peer: match id.is_empty() {
                true => foreign.metadata.name.clone(),
                false => id.clone(),
            },
            role: "foreign cluster",
            state: state_of(&cluster, home, foreign),
        }
    });
    let mut peerings: Vec<LegacyPeering> = foreign.collect();
    if !has_claims(home) {
        // A home that does not sign itself cannot be a foreign cluster.
        return Ok(peerings);
    }
    let side = ForeignSide::new(
        home,
        ForeignChoices::default(),
        &context.policy,
        context.clock,
    )?;
    peerings.extend(side.claims(home).into_iter().map(|(peer, claimed)| {
        let [form, identity] = words(claimed);
        let form = if form.is_empty() {
            form
        } else {
            format!(", {form}")
        };
        LegacyPeering {
            peer: peer.to_string(),
            role: "home cluster",
            state: format!("identity {identity}{form}"),
        }
    }));
    Ok(peerings)
}

/// The foreign clusters that this cluster asks.
fn foreign_clusters(context: &Context, home: &Home) -> Result<Table> {
    let cluster = home_cluster(home, &HomeChoices::default(), &context.policy)?;
    let mut table = Table::new([
        "FOREIGN CLUSTER",
        "CLUSTER ID",
        "URL",
        "AUTHENTICATION",
        "NEXT",
    ]);
    for foreign in home.all::<ForeignCluster>() {
        table.row([
            foreign.metadata.name.clone(),
            foreign.spec.cluster_identity.cluster_id.clone(),
            foreign.spec.auth_url().to_owned(),
            foreign.status.auth_status().to_string(),
            state_of(&cluster, home, foreign),
        ]);
    }
    Ok(table)
}

/// Where the exchange with a foreign cluster stands.
fn state_of(cluster: &HomeCluster, home: &Home, foreign: &ForeignCluster) -> String {
    let id = &foreign.spec.cluster_identity.cluster_id;
    match id.parse::<ClusterId>() {
        Err(_) if id.is_empty() => next(&Phase::NeedsIds),
        Err(error) => error.to_string(),
        Ok(peer) => match cluster.look(&home.view(&peer)) {
            Ok(phase) => next(&phase),
            Err(error) => error.to_string(),
        },
    }
}

fn next(phase: &Phase) -> String {
    match phase {
        Phase::NeedsIds => "is asked for its cluster ID",
        Phase::NeedsKey => "this cluster's key is missing",
        Phase::NeedsRecord | Phase::NeedsIdentity { .. } => "is asked for an identity",
        Phase::AwaitsToken => "its token is awaited",
        Phase::Refused => "another token is awaited",
        Phase::AnswerKept => "its answer is kept: legacy peer says which option accepts it",
        Phase::Accepted(identity) => return identity.kubeconfig_secret.to_string(),
        Phase::IdentityLost => "the identity was received, but is missing now",
        Phase::Ending => "is being deleted",
        _ => "",
    }
    .to_owned()
}

/// The home clusters that have sent a right token, and the state of its token.
fn home_clusters(context: &Context, home: &Home, now: Timestamp) -> Result<(Table, &'static str)> {
    let choices = ForeignChoices::default();
    let side = ForeignSide::new(home, choices, &context.policy, context.clock)?;
    let id = ObjectRef::new(
        Kind::Secret,
        names::LIQO_NAMESPACE,
        names::AUTH_TOKEN_SECRET,
    );
    let objects = home.interesting(&[Interest::Object(id)]);
    let is_there = !objects.is_empty();
    let token = match side.foreign().token(objects, now) {
        Ok(Some(_)) => "good",
        Ok(None) if is_there => "expired",
        Ok(None) => "none",
        Err(_) => "not this cluster's own, or unreadable",
    };
    let mut table = Table::new(["HOME CLUSTER", "FORM", "IDENTITY"]);
    for (peer, claimed) in side.claims(home) {
        let [form, identity] = words(claimed);
        table.row([peer.to_string(), form, identity]);
    }
    Ok((table, token))
}

/// The form of the protocol, and the state of the identity.
fn words(claimed: Stand) -> [String; 2] {
    match claimed {
        Ok(Some(claimed)) => {
            let identity = match claimed.is_delivered {
                true => "delivered",
                false => "on its way",
            };
            [claimed.version.to_string(), identity.to_owned()]
        }
        Ok(None) => Default::default(),
        Err(error) => [String::new(), error.to_string()],
    }
}
