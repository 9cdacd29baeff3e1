//! `generate tenant` and `generate identity`: the files that a person carries to the
//! other cluster.

use liqo_auth::{
    crypto::Nonce,
    error::{Fault, PeerIncompatible},
    model::{Object, Resource, Tenant, names},
};

use liqo_auth_inspection::hint;

use super::{endpoint, known::keep};
use crate::{
    arguments::{Format, GenerateIdentity, GenerateTenant},
    context::Context,
    failure::{Code, Failure, Result},
    home::{Home, SecretValue, Use},
    input,
    output::program,
    peering::{
        consumer_side::{ConsumerSide, ConsumerStand, ensure_key},
        provider_side::{ProviderSide, ProviderStand, refused, unsigned},
    },
    remedies::{lift_drain, present_nonce},
};

pub(super) fn tenant(context: &Context, arguments: &GenerateTenant) -> Result<()> {
    let peer = &arguments.remote_cluster_id;
    let given = arguments.nonce.as_deref().map(input::nonce).transpose()?;
    let mut home = context.open(Use::Write)?;
    keep(&mut home, peer, &arguments.known)?;
    if let Some(namespace) = &arguments.remote_tenant_namespace {
        let namespace =
            match namespace.as_str() {
                "" => None,
                name => Some(name.parse().map_err(|error| {
                    Failure::usage(format!("--remote-tenant-namespace: {error}"))
                })?),
            };
        home.peer_mut(peer).remote_tenant_namespace = namespace;
    }
    // A nonce may be there that was not signed yet.
    if given.is_some() || home.is_known_to(peer) {
        ensure_key(&mut home, peer, &context.policy, context.clock)?;
    }
    let mut consumer = ConsumerSide::new(&mut home, peer, &context.policy, context.clock)?;
    let tenant = match given {
        Some(text) => {
            let nonce = Nonce::parse(&text, &context.policy).map_err(|error| {
                Failure::new(
                    Code::Refused,
                    format!(
                        "the nonce of {peer} is not signed, and nothing was changed: {error} (rule 8).{} \
                         Ask the provider for its nonce again, and pass it on unchanged. {}",
                        hint(&text),
                        present_nonce(consumer.home, peer)
                    ),
                )
            })?;
            consumer.sign(nonce)?
        }
        None => signed_before(&mut consumer)?,
    };
    if let Some(warning) = expired_nonce(&consumer)? {
        context.printer.warning(&warning);
    }
    consumer.home.save()?;
    print(
        context,
        &home,
        placed(tenant, &home).into(),
        arguments.output,
    )
}

/// The object in the namespace that the other cluster has for this one, unless it names
/// another. Liqo's admission refuses a Tenant outside of it.
fn placed<K: Resource>(mut object: K, home: &Home) -> K {
    let metadata = object.metadata_mut();
    if metadata.namespace.is_empty() {
        metadata.namespace = names::tenant_namespace(home.cluster_id());
    }
    object
}

pub(super) fn identity(context: &Context, arguments: &GenerateIdentity) -> Result<()> {
    let peer = &arguments.remote_cluster_id;
    let mut home = context.open(Use::Write)?;
    if super::get::tenant_of(&home, peer).is_none() && home.unreadable().next().is_none() {
        return Err(Failure::waiting(format!(
            "there is no Tenant of {peer} in {}. Create a nonce for it, have it generate its Tenant, and apply that first.",
            home.site()
        )));
    }
    let mut provider = ProviderSide::new(&mut home, peer, &context.policy, context.clock)?;
    let stand = provider.settle()?;
    if let ProviderStand::AwaitsApproval = stand {
        return Err(Failure::waiting(format!(
            "{peer} waits for approval: {} approve tenant {peer} {}",
            program(),
            home.site().options()
        )));
    }
    if let ProviderStand::AwaitsCertificate = stand {
        return Err(unsigned(provider.home, peer));
    }
    if let ProviderStand::Drained = stand {
        return Err(Failure::waiting(lift_drain(provider.home, peer)));
    }
    if let ProviderStand::Tolerated = stand {
        return Err(Failure::waiting(format!(
            "{peer} is let in without a handshake: there is no Identity for it"
        )));
    }
    if let ProviderStand::Refused(error) = stand {
        let waits = matches!(
            error.fault(),
            Fault::PeerIncompatible(
                PeerIncompatible::NonceExpired { .. } | PeerIncompatible::NonceMissing
            )
        );
        let failure = refused(provider.home, peer, &error);
        return Err(if waits {
            Failure::waiting(failure.to_string())
        } else {
            failure
        });
    }
    let identity = provider
        .identity(arguments.remote_tenant_namespace.as_ref())?
        .ok_or_else(|| Failure::waiting(format!("the Tenant of {peer} no longer exists")))?;
    let identity = placed(identity, &home);
    if let Some(warning) = endpoint::loopback(&home) {
        context.printer.warning(&warning);
    }
    print(context, &home, identity.into(), arguments.output)
}

/// The Tenant for the nonce that this side has signed before.
fn signed_before(consumer: &mut ConsumerSide<'_>) -> Result<Tenant> {
    if let Some(ConsumerStand::AwaitsIdentity(tenant)) = consumer.stand()? {
        return Ok(*tenant);
    }
    let peer = &consumer.peer;
    match consumer.signed_nonce() {
        Some(nonce) => consumer.sign(nonce),
        None => Err(Failure::waiting(format!(
            "no nonce of {peer} was signed yet. Ask its administrator for one, and give it with --nonce. {}",
            present_nonce(consumer.home, peer)
        ))),
    }
}

/// The warning of a Tenant whose nonce has expired since it was signed.
fn expired_nonce(consumer: &ConsumerSide<'_>) -> Result<Option<String>> {
    let (peer, now) = (&consumer.peer, consumer.clock.now()?);
    let nonce = consumer.signed_nonce();
    let expires = nonce.and_then(|nonce| Some(nonce.structured()?.expires()));
    Ok(expires.filter(|at| *at <= now).map(|at| {
        format!(
            "The nonce in this Tenant expired at {at}: {peer} takes the Tenant only if it took it before. The administrator of {peer} makes the next nonce by `{} create nonce --remote-cluster-id {} --replace`.",
            program(),
            consumer.home.cluster_id()
        )
    }))
}

fn print(context: &Context, home: &Home, object: Object, format: Format) -> Result<()> {
    context.made(home, &SecretValue::new(object.to_value()), format)
}
