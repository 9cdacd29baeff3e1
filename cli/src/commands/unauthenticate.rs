//! `unauthenticate`: ends a peering, on one home or on both, or as a peering user.

use std::{
    thread,
    time::{Duration, Instant},
};

use liqo_auth::{
    consumer::Phase,
    model::{ClusterId, Kind, Object, names},
    provider,
};

use super::homes::Homes;
use crate::{
    arguments::Unauthenticate,
    context::Context,
    failure::{Failure, Result},
    home::{Home, PeeringUser, ProviderAccess},
    output::{Side, escaped, program},
    overview::{self, Role},
    peering::{
        consumer_side::ConsumerSide,
        pair::Pair,
        provider_side::{ProviderSide, has_tenant, stored_tenant},
    },
};

pub(super) fn run(context: &Context, arguments: &Unauthenticate) -> Result<()> {
    let Homes {
        mut local,
        remote,
        peer,
    } = Homes::reach(context, &arguments.remote)?;
    // In a home, nobody removes the finalizers of other programs meanwhile.
    let is_live = local.is_live() || remote.as_ref().is_some_and(ProviderAccess::is_live);
    let waits = arguments.wait.unwrap_or(is_live);
    let patience = waits.then(|| context.timeout());
    let loss = match arguments.delete_offloaded {
        true => " The offloaded namespaces are deleted, with all that is in them.",
        false => "",
    };
    let Some(remote) = remote else {
        context.confirm_by_a_person(&format!(
            "End the authentication with {peer} in {}?{loss}",
            local.site()
        ))?;
        return alone(context, local, &peer, arguments, patience);
    };
    let mut remote = match remote {
        ProviderAccess::Administrator(remote) => *remote,
        ProviderAccess::PeeringUser(_) if arguments.delete_offloaded => {
            return Err(not_as_peering_user());
        }
        ProviderAccess::PeeringUser(user) => {
            return by_peering_user(context, local, &user, patience);
        }
    };
    check_direction(&local, &remote)?;
    context.confirm_by_a_person(&format!(
        "End the authentication of {} with {peer}, on both clusters?{loss}",
        local.cluster_id()
    ))?;
    // First, replicate the deletion of slices that were deleted without replication.
    Pair::new(&mut local, &mut remote, &context.policy, context.clock)?.settle()?;
    let identity = leave(context, local, &peer, Side::Local)?;
    // What holds the Identity does not keep the rights at the provider.
    let consumer = identity.home.cluster_id().clone();
    let tenant = end(context, remote, &consumer, arguments, Side::Remote)?;
    await_removal([identity, tenant], end_of(patience))
}

/// The time at which the waiting ends, from now on.
fn end_of(patience: Option<Duration>) -> Option<Instant> {
    patience.map(|patience| Instant::now() + patience)
}

/// The failure of a command that deletes what only the provider's administrator may delete.
fn not_as_peering_user() -> Failure {
    Failure::usage(
        "--delete-offloaded: a peering user may not delete NamespaceMaps, and nothing was changed. Run the command with the kubeconfig of the provider's administrator",
    )
}

/// Ends the peering on the consumer, and deletes its Tenant as a peering user. The provider's
/// controllers take the rights back.
fn by_peering_user(
    context: &Context,
    local: Home,
    user: &PeeringUser,
    patience: Option<Duration>,
) -> Result<()> {
    let provider = user.cluster_id();
    let (consumer, is_trial) = (local.cluster_id().clone(), local.is_trial());
    let has_tenant = user.has_tenant()?;
    if !is_consumer(&local, provider) && !has_tenant {
        return Err(Failure::waiting(format!(
            "{consumer} and {provider} have no peering"
        )));
    }
    context.confirm_by_a_person(&format!(
        "End the authentication of {consumer} with {provider}, on both clusters?"
    ))?;
    let identity = leave(context, local, provider, Side::Local)?;
    if is_trial {
        if has_tenant {
            context.printer.message(&format!(
                "The command would also delete the Tenant of {consumer} at {provider}."
            ));
        }
        return Ok(());
    }
    let done = match user.end()? {
        true => "Tenant correctly deleted",
        false => "Tenant already deleted",
    };
    context.printer.info(Side::Remote, done)?;
    let until = end_of(patience);
    await_removal([identity], until)?;
    await_end(user, until)
}

/// Waits until the provider's controllers have let the Tenant go. Without a time, nothing is
/// awaited.
fn await_end(user: &PeeringUser, until: Option<Instant>) -> Result<()> {
    let Some(until) = until else {
        return Ok(());
    };
    while user.has_tenant()? {
        if Instant::now() >= until {
            return Err(Failure::waiting(format!(
                "the Tenant is deleted, and the controllers of {} have not let it go. Run the command again to go on waiting",
                user.cluster_id()
            )));
        }
        thread::sleep(PAUSE);
    }
    Ok(())
}

/// Checks that the local cluster is, or was, the consumer of the remote one.
fn check_direction(local: &Home, remote: &Home) -> Result<()> {
    let knows = |home: &Home, peer: &Home, role| {
        overview::peers(home).contains(&(peer.cluster_id().clone(), role))
    };
    let is_consumer = |consumer: &Home, provider: &Home| {
        knows(consumer, provider, Role::Provider) || knows(provider, consumer, Role::Consumer)
    };
    let (local_id, remote_id) = (local.cluster_id(), remote.cluster_id());
    if is_consumer(local, remote) {
        return Ok(());
    }
    Err(if is_consumer(remote, local) {
        Failure::usage(format!(
            "{local_id} is the provider of {remote_id}, and nothing was changed: name the consumer first. The command is: {} unauthenticate {} {}",
            program(),
            remote.site().options(),
            local.site().remote_options(),
        ))
    } else {
        Failure::waiting(format!("{local_id} and {remote_id} have no peering"))
    })
}

/// Ends the peering on one home only: as the consumer, or else as the provider.
fn alone(
    context: &Context,
    mut home: Home,
    peer: &ClusterId,
    arguments: &Unauthenticate,
    patience: Option<Duration>,
) -> Result<()> {
    let is_consumer = is_consumer(&home, peer);
    let was_provider = || overview::peers(&home).contains(&(peer.clone(), Role::Consumer));
    let is_provider = has_tenant(&home.view(peer)) || (arguments.for_good && was_provider());
    match (is_consumer, is_provider) {
        // An ended peering may have left NamespaceMaps behind.
        (false, false) if !arguments.delete_offloaded => {
            let by_hand = kubeconfig_by_hand(context, &mut home, peer)?;
            let side = ProviderSide::new(&mut home, peer, &context.policy, context.clock)?;
            let phase = side.status().map(|status| status.phase);
            let is_invited = matches!(
                phase,
                Ok(provider::Phase::AwaitsTenant(_) | provider::Phase::NeedsNonce(_))
            );
            Err(by_hand.unwrap_or_else(|| {
                let site = home.site();
                Failure::waiting(match is_invited {
                    false => format!("{site} has no peering with {peer}"),
                    true => format!(
                        "{site} has invited {peer}, and has no peering with it yet. To take the invitation back: {} delete nonce {} --remote-cluster-id {peer}",
                        program(),
                        site.options()
                    ),
                })
            }))
        }
        (true, _) if arguments.delete_offloaded => Err(Failure::usage(format!(
            "--delete-offloaded: this cluster is a consumer of {peer}, and nothing was changed. Name the provider, or leave the option out"
        ))),
        (true, _) => {
            let identity = leave(context, home, peer, Side::Only)?;
            await_removal([identity], end_of(patience))?;
            if is_provider {
                context.printer.message(&format!(
                    "{peer} is still a consumer of this cluster: run the command again to end that, too"
                ));
            }
            Ok(())
        }
        (false, _) => {
            let tenant = end(context, home, peer, arguments, Side::Only)?;
            await_removal([tenant], end_of(patience))
        }
    }
}

/// The failure if there is no Identity to delete, since a person has made the kubeconfig.
fn kubeconfig_by_hand(
    context: &Context,
    home: &mut Home,
    peer: &ClusterId,
) -> Result<Option<Failure>> {
    let consumer = ConsumerSide::new(home, peer, &context.policy, context.clock)?;
    let Phase::KubeconfigByHand(by_hand) = consumer.status()?.phase else {
        return Ok(None);
    };
    Ok(Some(Failure::waiting(format!(
        "there is no Identity from {peer}, and nothing was changed: a person has made the kubeconfig in {}. To end the peering, delete its resource slices, this Secret, and the setting kubeconfigDigest of {peer}",
        by_hand.secret
    ))))
}

/// Ends the peering on the consumer. Returns its Identity, which is deleted.
fn leave(context: &Context, mut home: Home, provider: &ClusterId, side: Side) -> Result<Deleted> {
    let was_there = identity(&home, provider);
    let mut consumer = ConsumerSide::new(&mut home, provider, &context.policy, context.clock)?;
    consumer.administer("the Identity is not deleted", |consumer, view, _| {
        consumer.unauthenticate(view)
    })?;
    context
        .printer
        .info(side, "No leftover resourceslices on consumer cluster")?;
    consumer.settle()?;
    let done = match was_there {
        true => "Identity control plane correctly deleted",
        false => "Identity control plane already deleted",
    };
    context.printer.info(side, done)?;
    Ok(Deleted {
        home,
        peer: provider.clone(),
        kind: Kind::Identity,
        name: names::identity_name(provider),
    })
}

/// Ends the peering on the provider. Returns the consumer's Tenant, which is deleted. Lets
/// Liqo also delete the offloaded namespaces, if that is wanted.
fn end(
    context: &Context,
    mut home: Home,
    consumer: &ClusterId,
    arguments: &Unauthenticate,
    side: Side,
) -> Result<Deleted> {
    let name = stored_tenant(&home.view(consumer)).map(|tenant| tenant.id().name);
    let mut provider = ProviderSide::new(&mut home, consumer, &context.policy, context.clock)?;
    provider.administer(
        "the Tenant is not deleted",
        |provider, view, _| match arguments.for_good {
            true => provider.end_for_good(view),
            false => provider.end(view),
        },
    )?;
    provider.settle()?;
    if arguments.delete_offloaded {
        let subject = "the offloaded namespaces are not deleted";
        provider.administer(subject, |provider, view, _| provider.delete_offloaded(view))?;
        provider.settle()?;
    }
    let done = match name {
        Some(_) => "Tenant correctly deleted",
        None => "Tenant already deleted",
    };
    context.printer.info(side, done)?;
    if arguments.delete_offloaded {
        context
            .printer
            .info(side, "NamespaceMaps correctly deleted")?;
    }
    Ok(Deleted {
        home,
        peer: consumer.clone(),
        kind: Kind::Tenant,
        name: name.unwrap_or_else(|| consumer.to_string()),
    })
}

/// An object that was deleted. It stays while it has finalizers.
struct Deleted {
    home: Home,
    peer: ClusterId,
    kind: Kind,
    name: String,
}

impl Deleted {
    /// The object that is still there, and its finalizers, in words.
    fn rest(&self) -> Option<String> {
        let view = self.home.view(&self.peer);
        let object = view.objects().find(|object| {
            let id = object.id();
            id.kind == self.kind && id.name == self.name
        })?;
        let finalizers = &object.metadata().finalizers;
        let holders = match finalizers.is_empty() {
            true => String::new(),
            false => format!(": it waits for {}", escaped(&finalizers.join(", "))),
        };
        Some(format!(
            "{} is deleted, and still there{holders}",
            object.id()
        ))
    }
}

/// Waits until the deleted objects are gone. Without a time, nothing is awaited.
fn await_removal<const N: usize>(mut deleted: [Deleted; N], until: Option<Instant>) -> Result<()> {
    let is_trial = deleted.iter().any(|deleted| deleted.home.is_trial());
    let Some(until) = until.filter(|_| !is_trial) else {
        return Ok(());
    };
    loop {
        let rest: Vec<String> = deleted.iter().filter_map(Deleted::rest).collect();
        if rest.is_empty() {
            return Ok(());
        }
        if Instant::now() >= until {
            return Err(Failure::waiting(format!(
                "{}. Run the command again to go on waiting",
                rest.join("; ")
            )));
        }
        thread::sleep(PAUSE);
        for deleted in &mut deleted {
            deleted.home.reload()?;
        }
    }
}

/// The pause between two looks at an API server.
const PAUSE: Duration = Duration::from_millis(250);

fn identity(home: &Home, provider: &ClusterId) -> bool {
    let name = names::identity_name(provider);
    let mut ids = home.objects().map(Object::id);
    ids.any(|id| id.kind == Kind::Identity && id.name == name)
}

fn is_consumer(home: &Home, provider: &ClusterId) -> bool {
    identity(home, provider)
        || home.objects().any(|object| {
            let (id, label) = (object.id(), names::REMOTE_CLUSTER_ID_LABEL);
            let label = object.metadata().labels.get(label);
            id.kind == Kind::Secret
                && id.name == names::SIGNED_NONCE_SECRET
                && label.map(String::as_str) == Some(provider.as_str())
        })
}
