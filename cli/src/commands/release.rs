//! `release`: forgets what a peer was known by, because its administrator said
//! by another way that it was changed.

use liqo_auth::{
    audit::Decision,
    crypto::Fingerprint,
    machine::Step,
    model::{ClusterId, Kind, ObjectRef, names},
};

use super::Context;
use crate::{
    arguments::Release,
    consumer_side::ConsumerSide,
    failure::{Failure, Result},
    home::{Home, Use},
    provider_side::ProviderSide,
};

pub(super) fn run(context: &Context, arguments: &Release) -> Result<()> {
    let peer = &arguments.remote_cluster_id;
    let mut home = Home::open(context.home()?, Use::Write)?;
    let released = as_provider(context, &mut home, peer)?;
    let also = as_consumer(context, &mut home, peer)?;
    home.save()?;
    let mut lines = Vec::new();
    if let Some(Some(key)) = released {
        lines.push(format!(
            "The key {key} is no longer that of the consumer {peer}: the next one that signs this cluster's nonce is.\n"
        ));
    }
    if let Some(keys) = also {
        let keys = match keys.as_slice() {
            [] => String::new(),
            keys => {
                let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
                format!(", known by {}", keys.join(" and "))
            }
        };
        lines.push(format!(
            "API server, CA and key of the provider {peer}{keys} are no longer pinned: its next Identity is believed as the first was.\n"
        ));
    }
    if lines.is_empty() {
        return Err(Failure::waiting(format!(
            "nothing of {peer} is pinned in {}",
            home.path().display()
        )));
    }
    context.printer.result(&lines.concat())
}

/// The consumer's key: none if none was pinned.
fn as_provider(
    context: &Context,
    home: &mut Home,
    peer: &ClusterId,
) -> Result<Option<Option<Fingerprint>>> {
    if !has_record(home, "liqo-auth-provider-", peer) {
        return Ok(None);
    }
    let mut provider = ProviderSide::new(home, peer, &context.policy, context.clock)?;
    let step = provider.administer("the key is not released", |provider, view, _| {
        provider.release_key(view)
    })?;
    Ok(Some(key(&step)))
}

/// The provider's keys that this home was told of, which go too.
fn as_consumer(
    context: &Context,
    home: &mut Home,
    peer: &ClusterId,
) -> Result<Option<Vec<Fingerprint>>> {
    let told = home.settings.peers.get_mut(peer);
    let told = told.map(|peer| std::mem::take(&mut peer.provider_keys));
    let told = told.unwrap_or_default();
    if !has_record(home, "liqo-auth-consumer-", peer) {
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
    let id = ObjectRef::new(
        Kind::Secret,
        names::LIQO_NAMESPACE,
        format!("{prefix}{peer}"),
    );
    home.value(&id).is_some()
}
