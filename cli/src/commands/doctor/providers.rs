//! Whether the providers of a cluster let it in: each is asked with the identity that it gave.

use liqo_auth::{consumer::Phase, model::Kubeconfig};

use super::Finding;
use crate::{
    context::Context,
    failure::Result,
    home::{Distrust, Home, Login, NotTrusted},
    output::program,
    overview::{Peering, Role},
    peering::consumer_side::ConsumerSide,
    remedies::{authenticate_again, release_command},
};

/// What the providers say: what is wrong, and what nobody could look at. A home asks none.
pub(super) fn asked(
    context: &Context,
    home: &mut Home,
    peerings: &[Peering],
) -> Result<(Vec<Finding>, Vec<String>)> {
    let (mut findings, mut unknown) = (Vec::new(), Vec::new());
    if !home.is_live() {
        return Ok((findings, unknown));
    }
    let mut providers = Vec::new();
    for peering in peerings.iter().filter(|it| it.role == Role::Provider) {
        if let Ok(peer) = peering.peer.parse() {
            let side = ConsumerSide::new(home, &peer, &context.policy, context.clock)?;
            // What cannot be judged is told elsewhere.
            if let Ok(status) = side.status() {
                providers.extend(kubeconfig(status.phase));
            }
        }
    }
    let policy = home.settings.with_addresses(&context.policy);
    let logins = home.log_in_at(&providers, &policy.addresses);
    for (provider, login) in providers.iter().zip(logins) {
        match judged(provider, login, home) {
            Ok(finding) => findings.extend(finding),
            Err(reason) => unknown.push(format!(
                "{} was not seen to let this cluster in: {reason}",
                provider.cluster
            )),
        }
    }
    Ok((findings, unknown))
}

fn kubeconfig(phase: Phase) -> Option<Kubeconfig> {
    match phase {
        Phase::Authenticated(stored) => Some(stored.kubeconfig),
        Phase::KubeconfigByHand(made) => Some(made.kubeconfig),
        _ => None,
    }
}

/// What is wrong with a login, or why nobody knows.
fn judged(provider: &Kubeconfig, login: Login, home: &Home) -> Result<Option<Finding>, String> {
    let Kubeconfig {
        cluster, server, ..
    } = provider;
    let (own, program) = (home.cluster_id(), program());
    Ok(match login {
        Login::Succeeds => None,
        Login::NotTried(reason) => return Err(reason),
        Login::WithoutRights => Some(Finding::new(
            format!("{cluster} lets this cluster in, and gives it no rights"),
            format!(
                "Ask the administrator of {cluster} whether this cluster is drained there: `{program} status --remote-cluster-id {own}` says so, and `{program} uncordon tenant {own}` gives the rights back."
            ),
        )),
        Login::Fails => Some(Finding::new(
            format!(
                "the API server of {cluster} at {server} does not accept the certificate of this cluster"
            ),
            format!(
                "Its client CA may have been replaced since: have the administrator of {cluster} run {program} sign-again tenant {own} --force. {}",
                authenticate_again(home, cluster)
            ),
        )),
        Login::NotTrusted(NotTrusted { why, reason }) => {
            let release = release_command(home, cluster);
            Some(Finding::new(
                reason,
                match why {
                    Distrust::Issuer => format!(
                        "The CA that {cluster}'s Identity names has not issued the certificate that answers. If {cluster} has replaced the CA of its API server, release what is pinned, and authenticate again. {release} If not, something else answers at {server}."
                    ),
                    Distrust::Name => format!(
                        "Have the administrator of {cluster} give its API server a certificate for this name, or name another URL: {program} set api-server. After another URL, release what is pinned, and authenticate again. {release}"
                    ),
                    Distrust::Time => format!(
                        "If the clock of this machine is right, have the administrator of {cluster} renew the serving certificate of its API server."
                    ),
                },
            ))
        }
    })
}
