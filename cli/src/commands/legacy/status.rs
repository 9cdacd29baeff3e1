//! `legacy status`: shows the state of each cluster, but no token.

use liqo_auth::{
    legacy::Phase,
    machine::Interest,
    model::{ClusterId, ForeignCluster, Kind, ObjectRef, Timestamp, names},
};

use crate::{
    context::Context,
    failure::Result,
    home::{Home, Use},
    legacy::{
        foreign_side::{ForeignChoices, ForeignSide},
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
        let id = foreign.spec.cluster_identity.cluster_id.clone();
        let next = match id.parse::<ClusterId>() {
            Err(_) if id.is_empty() => "is asked for its cluster ID".to_owned(),
            Err(error) => error.to_string(),
            Ok(peer) => match cluster.look(&home.view(&peer)) {
                Ok(phase) => next(&phase),
                Err(error) => error.to_string(),
            },
        };
        table.row([
            foreign.metadata.name.clone(),
            id,
            foreign.spec.auth_url().to_owned(),
            foreign.status.auth_status().to_string(),
            next,
        ]);
    }
    Ok(table)
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
        let (form, identity) = match claimed {
            Ok(Some(claimed)) => (
                claimed.version.to_string(),
                if claimed.is_delivered {
                    "delivered".to_owned()
                } else {
                    "on its way".to_owned()
                },
            ),
            Ok(None) => (String::new(), String::new()),
            Err(error) => (String::new(), error.to_string()),
        };
        table.row([peer.to_string(), form, identity]);
    }
    Ok((table, token))
}
