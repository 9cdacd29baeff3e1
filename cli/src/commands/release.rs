//! `release`: forgets the pins of a peer, because its administrator has reported a
//! change in another way.

use liqo_auth::{
    audit::Decision,
    crypto::Fingerprint,
    machine::Step,
    model::{ClusterId, Kind, NamespaceName, ObjectRef, names},
};

use super::unread;
use crate::{
    arguments::Release,
    context::Context,
    failure::{Failure, Result},
    home::{Home, Use},
    output::program,
    peering::{consumer_side::ConsumerSide, provider_side::ProviderSide},
    remedies::authenticate_again,
};

pub(super) fn run(context: &Context, arguments: &Release) -> Result<()> {
    let peer = &arguments.remote_cluster_id;
    let mut home = context.open(Use::Write)?;
    check_readable(&home, peer)?;
    context.confirm_by_a_person(&format!("Forget what is pinned for {peer}?"))?;
    let released = as_provider(context, &mut home, peer)?;
    let also = as_consumer(context, &mut home, peer)?;
    home.save()?;
    let mut lines = Vec::new();
    if let Some(Some(key)) = released {
        lines.push(format!(
            "The key {key} is no longer pinned for the consumer {peer}: the next key that signs this cluster's nonce will be. The command that makes the nonce: {} create nonce {} --remote-cluster-id {peer}\n",
            program(),
            home.site().options()
        ));
    }
    if let Some(keys) = also {
        let keys = match keys.as_slice() {
            [] => String::new(),
            keys => {
                let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
                format!(" ({})", keys.join(" and "))
            }
        };
        lines.push(format!(
            "API server, CA and key of the provider {peer}{keys} are no longer pinned: its next Identity is accepted like its first one. {}\n",
            authenticate_again(&home, peer)
        ));
        let unlooked = home.unlooked(&[peer.as_str()]);
        lines.extend(unlooked.map(|unlooked| format!("{unlooked}\n")));
    }
    if lines.is_empty() {
        return Err(Failure::waiting(format!(
            "nothing is pinned for {peer} in {}. The names of its peers are printed by {} status {} -o name",
            home.site(),
            program(),
            home.site().options()
        )));
    }
    context.printer.lines(&lines.concat())
}

/// Releases the key of a consumer. None without a record of the consumer; the inner
/// value is none if no key was pinned.
fn as_provider(
    context: &Context,
    home: &mut Home,
    peer: &ClusterId,
) -> Result<Option<Option<Fingerprint>>> {
    if !has_record(home, names::PROVIDER_RECORD_PREFIX, peer) {
        return Ok(None);
    }
    let mut provider = ProviderSide::new(home, peer, &context.policy, context.clock)?;
    let step = provider.administer("the key is not released", |provider, view, _| {
        provider.release_key(view)
    })?;
    Ok(Some(key(&step)))
}

/// Releases the pins of a provider, and the keys in the settings. Returns the
/// released keys. None if there were none and no record exists.
fn as_consumer(
    context: &Context,
    home: &mut Home,
    peer: &ClusterId,
) -> Result<Option<Vec<Fingerprint>>> {
    let told = home.settings.peers.get_mut(peer);
    let told = told.map(|peer| std::mem::take(&mut peer.provider_keys));
    let told = told.unwrap_or_default();
    if !has_record(home, names::CONSUMER_RECORD_PREFIX, peer) {
        return Ok((!told.is_empty()).then_some(told));
    }
    let mut consumer = ConsumerSide::new(home, peer, &context.policy, context.clock)?;
    let step = consumer.administer("the pins are not released", |consumer, view, _| {
        consumer.release_pins(view)
    })?;
    let mut keys: Vec<Fingerprint> = told;
    keys.extend(key(&step).filter(|key| !keys.contains(key)));
    Ok(Some(keys))
}

fn key(step: &Step) -> Option<Fingerprint> {
    let released =
        |decision: &Decision| matches!(decision, Decision::KeyReleased | Decision::PinsReleased);
    let event = step.events.iter().find(|event| released(&event.decision))?;
    event.key
}

fn has_record(home: &Home, prefix: &str, peer: &ClusterId) -> bool {
    home.value(&record(home, prefix, peer)).is_some()
}

fn record(home: &Home, prefix: &str, peer: &ClusterId) -> ObjectRef {
    let namespace = home.liqo_namespace();
    let namespace = namespace.as_ref().map(NamespaceName::as_str);
    let namespace = namespace.unwrap_or(names::LIQO_NAMESPACE);
    ObjectRef::new(Kind::Secret, namespace, format!("{prefix}{peer}"))
}

/// A record that cannot be read does not count as none.
fn check_readable(home: &Home, peer: &ClusterId) -> Result<()> {
    let prefixes = [names::PROVIDER_RECORD_PREFIX, names::CONSUMER_RECORD_PREFIX];
    let records = prefixes.map(|prefix| record(home, prefix, peer));
    match home.unreadable().find(|it| records.contains(&it.id)) {
        None => Ok(()),
        Some(unreadable) => Err(unread::failure(
            home,
            unreadable,
            "Whoever deletes it forgets all that is pinned in it",
        )),
    }
}
