//! `authenticate`: the whole exchange, with access to both clusters, or as a peering user of
//! the provider's.

mod by_peering_user;
mod in_band;
mod let_in;
mod steps;

use liqo_auth::{
    crypto::{Nonce, SignatureError, SigningKey},
    error::{CommitmentFault, Fault, PeerIncompatible},
    machine::{Notice, replication},
    model::{ClusterId, Identity, Metadata, ObjectRef, Renew, ResourceSlice, Timestamp},
};

use serde_json::json;

use self::steps::Steps;
use super::{
    endpoint,
    init::{self, create},
    known::keep,
    nonce::is_of_a_nonce_that_serves_no_more,
};
use crate::{
    arguments::{Authenticate, Known},
    context::Context,
    failure::{Failure, Result},
    home::{Home, ProviderAccess, Signer},
    output::{Side, program},
    overview::{self, Peering, Role},
    peering::{
        consumer_side::{self, ConsumerSide, ConsumerStand},
        pair::Pair,
        provider_side::{self, ProviderSide, ProviderStand, end_of_trial, refused, unsigned},
    },
    remedies::noticed,
};

pub(super) fn run(context: &Context, arguments: &Authenticate) -> Result<()> {
    let remote = arguments.remote.required()?;
    let local = context.site_beside(&remote)?;
    let is_in_band = in_band::is_asked(arguments, &local, &remote)?;
    if arguments.init {
        let (Some(path), Some(remote_path)) = (local.folder(), remote.folder()) else {
            return Err(Failure::usage(
                "--init makes homes: name them with --home DIR and --remote-home DIR",
            ));
        };
        let (making, local_id) = (&arguments.making, arguments.cluster_id.as_ref());
        let local = init::blueprint(context, path, local_id, making, &making.api_server)?;
        let remote_id = arguments.remote_cluster_id.as_ref();
        let remote = init::blueprint(
            context,
            remote_path,
            remote_id,
            making,
            &arguments.remote_api_server,
        )?;
        let is_new = create(context, path, &local)?;
        let is_any_new = create(context, remote_path, &remote)? || is_new;
        if is_any_new && context.trial().is_some() {
            context
                .printer
                .message("The exchange cannot be tried before the homes are made.");
            return Ok(());
        }
    }
    let (mut local, mut remote) = context.open_with_provider(
        &local,
        &remote,
        |local, provider| {
            local.learn_service_ranges()?;
            local.load_for(provider, consumer_side::watches(local)?)
        },
        |remote, consumer| remote.load_for(consumer, provider_side::watches(remote)?),
    )?;
    let proxy_url = match is_in_band {
        true => Some(in_band::proxy_url(context, &local, &remote)?),
        false => arguments.known.proxy_url.clone(),
    };
    let known = Known {
        proxy_url,
        provider_keys: arguments.known.provider_keys.clone(),
        ..arguments.known
    };
    let secret = match &mut remote {
        ProviderAccess::Administrator(remote) => exchange(context, &known, &mut local, remote)?,
        ProviderAccess::PeeringUser(user) => {
            by_peering_user::exchange(context, &known, &mut local, user)?
        }
    };
    let Some(secret) = secret else {
        return Ok(());
    };
    context.deeds.tell("kubeconfigs", json!(secret));
    if let ProviderAccess::Administrator(remote) = &mut remote {
        if has_replicated(&local, remote.cluster_id()) {
            // What the provider has told before the exchange would be compared with it.
            Pair::new(&mut local, remote, &context.policy, context.clock)?.settle()?;
        }
        if let Some(warning) = endpoint::loopback(remote) {
            context.printer.warning(&warning);
        }
    }
    context.printer.lines(&format!(
        "The kubeconfig is in {secret}: {}\nPrint it with: {} get kubeconfig {} --remote-cluster-id {}\n",
        local.site_of(&secret),
        program(),
        local.site().options(),
        remote.cluster_id(),
    ))
}

/// Whether a home has a provider's answer to a renewal, or a slice that this provider was asked for.
/// On a cluster, a replicator carries them.
fn has_replicated(home: &Home, provider: &ClusterId) -> bool {
    let is_its = |metadata: &Metadata| replication::is_shared_with(metadata, provider);
    let mut renews = home.all::<Renew>();
    let mut slices = home.all::<ResourceSlice>();
    !home.is_live()
        && (renews.any(|it| is_its(&it.metadata) && it.status.auth_params.is_some())
            || slices.any(|it| is_its(&it.metadata)))
}

/// Runs the whole exchange. Returns the Secret with the kubeconfig. `None` if a trial ends
/// before, since a cluster's signer sees nothing of it.
fn exchange(
    context: &Context,
    known: &Known,
    local: &mut Home,
    remote: &mut Home,
) -> Result<Option<ObjectRef>> {
    let (consumer_id, provider_id) = (local.cluster_id().clone(), remote.cluster_id().clone());
    know_provider(known, local, remote)?;
    let printer = context.printer;
    let mut steps = Steps::begin(context);
    consumer_side::ensure_key(local, &provider_id, &context.policy, context.clock)?;
    let mut consumer = ConsumerSide::new(local, &provider_id, &context.policy, context.clock)?;
    let mut provider = ProviderSide::new(remote, &consumer_id, &context.policy, context.clock)?;

    // Each side saves what it has received before it sends anything back. All
    // changes between two messages are saved together.
    consumer.ensure_namespace()?;
    steps.done(Side::Local, "Tenant namespace correctly ensured")?;

    let stand = provider.invite()?;
    let held = matches!(consumer.stand()?, Some(ConsumerStand::Authenticated(_)));
    let has_new_key = held && consumer.home.has_new_key(&provider_id)?;
    let is_running = held && !has_new_key && matches!(stand, ProviderStand::Authenticated);
    let is_unproven = is_running && is_unproven(&provider, &consumer)?;
    // A nonce that was made for the running peering is still to be signed.
    let done = is_running && !is_unproven && !provider.awaits_tenant()?;
    let serves_no_more = matches!(
        &stand,
        ProviderStand::Refused(error) if is_of_a_nonce_that_serves_no_more(error)
    );
    if has_new_key || is_unproven || serves_no_more {
        // The new key signs a nonce that no key has signed.
        provider.replace_nonce()?;
    }
    let nonce = usable_nonce(&mut provider, &consumer, done, context.clock.now()?)?;
    steps.done(Side::Remote, "Tenant namespace correctly ensured")?;
    steps.done(Side::Remote, "Nonce secret ensured")?;
    steps.done(Side::Remote, "Nonce generated successfully")?;
    steps.done(Side::Remote, "Nonce retrieved")?;

    let tenant = if done {
        None
    } else {
        let tenant = consumer.sign(nonce)?;
        consumer.home.save()?;
        Some(tenant)
    };
    steps.done(Side::Local, "Signed nonce secret ensured")?;
    steps.done(Side::Local, "Nonce is signed")?;
    steps.done(Side::Local, "Signed nonce retrieved")?;
    steps.done(Side::Local, "Tenant correctly generated")?;

    if let Some(tenant) = tenant {
        provider.receive_tenant(&tenant, "the provider refuses the Tenant")?;
    }
    steps.done(Side::Remote, "Tenant correctly applied on provider cluster")?;
    match provider.settle()? {
        ProviderStand::Authenticated => {}
        ProviderStand::Refused(error) => return Err(refused(provider.home, &consumer_id, &error)),
        ProviderStand::AwaitsApproval => {
            return Err(Failure::waiting(format!(
                "{provider_id} has to approve {consumer_id} first: {} approve tenant {consumer_id} {}; then authenticate again",
                program(),
                provider.home.site().options()
            )));
        }
        ProviderStand::AwaitsCertificate => {
            let end = end_of_trial(provider.home, &consumer_id);
            let Some(end) = end.filter(|_| !provider.home.is_signed_elsewhere()) else {
                return Err(unsigned(provider.home, &consumer_id));
            };
            printer.message(&end);
            return Ok(None);
        }
        ProviderStand::Tolerated => {
            return Err(Failure::waiting(format!(
                "{provider_id} lets {consumer_id} in without a handshake: there is no Identity to apply"
            )));
        }
        ProviderStand::Drained => {
            return Err(Failure::waiting(format!(
                "{provider_id} drained the tenant {consumer_id}, and has to lift that first: {} uncordon tenant {consumer_id} {}; then authenticate again",
                program(),
                provider.home.site().options()
            )));
        }
        ProviderStand::AwaitsTenant | ProviderStand::Ended => {
            return Err(Failure::waiting(format!(
                "the Tenant of {consumer_id} is being deleted on {provider_id}: try again"
            )));
        }
    }
    steps.done(Side::Remote, "Tenant status is filled")?;

    let identity = provider.identity(None)?.ok_or_else(|| {
        Failure::at_odds(format!("{provider_id} has no Identity for {consumer_id}"))
    })?;
    steps.done(Side::Remote, "Identity correctly generated")?;
    let mut is_signed_again = false;
    let secret = take_identity(context, &mut steps, &mut consumer, &identity, || {
        is_signed_again = true;
        let_in::signed_again(&mut provider)
    })?;
    if is_signed_again {
        let_in::sign_slices_again(context, &mut provider)?;
    }
    Ok(Some(secret))
}

/// The last part of the consumer: it takes the Identity, and logs in. If the API server does
/// not accept the Identity's certificate, `sign_again` may give another Identity. Returns the
/// Secret with the kubeconfig.
fn take_identity(
    context: &Context,
    steps: &mut Steps,
    consumer: &mut ConsumerSide<'_>,
    identity: &Identity,
    sign_again: impl FnOnce() -> Result<Option<Identity>>,
) -> Result<ObjectRef> {
    let printer = context.printer;
    consumer.delete_expired_answer(identity)?;
    let mut notices = consumer.receive_identity(identity, "the consumer refuses the Identity")?;
    steps.done(
        Side::Local,
        "Identity correctly applied on consumer cluster",
    )?;
    let (mut secret, mut later) = settled(consumer)?;
    steps.done(Side::Local, "Identity status is filled")?;
    let warning = match let_in::log_in(context, consumer)? {
        Ok(let_in) => let_in.told(steps)?,
        Err(server) => {
            let Some(identity) = sign_again()? else {
                return Err(let_in::no_login(consumer, &server));
            };
            steps.done(Side::Remote, "Certificate signed again")?;
            later
                .extend(consumer.receive_identity(&identity, "the consumer refuses the Identity")?);
            let (again, of_next) = settled(consumer)?;
            secret = again;
            later.extend(of_next);
            match let_in::log_in(context, consumer)? {
                Ok(let_in) => let_in.told(steps)?,
                Err(server) => return Err(let_in::no_login_again(consumer, &server)),
            }
        }
    };
    for notice in later {
        if !notices.contains(&notice) {
            notices.push(notice);
        }
    }
    let told = |notice| noticed(consumer.home, &consumer.peer, Role::Provider, notice);
    for told in notices.iter().map(told).chain(warning) {
        printer.warning(&told);
    }
    if let Some(whole) = steps.whole() {
        let summary = summary(context, consumer.home, &consumer.peer, whole)?;
        printer.result(&summary)?;
    }
    Ok(secret)
}

/// Runs the consumer's side. Returns the Secret with the kubeconfig, and the notices.
fn settled(consumer: &mut ConsumerSide<'_>) -> Result<(ObjectRef, Vec<Notice>)> {
    let (stand, notices) = consumer.settle()?;
    match stand {
        ConsumerStand::Authenticated(secret) => Ok((secret, notices)),
        ConsumerStand::Refused(error) => Err(Failure::of("the Identity", &error)),
        ConsumerStand::AwaitsNonce | ConsumerStand::AwaitsIdentity(_) | ConsumerStand::Ending => {
            Err(Failure::at_odds(
                "the Identity was applied, but it is missing",
            ))
        }
    }
}

/// What a person at a terminal does next.
fn summary(
    context: &Context,
    home: &mut Home,
    provider: &ClusterId,
    whole: u128,
) -> Result<String> {
    let peerings = overview::peerings(context, home)?;
    let is_this =
        |peering: &&Peering| peering.role == Role::Provider && peering.peer == provider.as_str();
    let certificate = peerings
        .iter()
        .find(is_this)
        .and_then(|peering| peering.certificate.as_ref());
    let printer = context.printer;
    let mut text = printer.prose(&format!(
        "\n{} is authenticated with {provider}, after {whole} ms.",
        home.cluster_id()
    ));
    if let Some(certificate) = certificate {
        text.push_str(&printer.field("Certificate", &format!("until {}", certificate.until)));
        if let Some(due) = &certificate.due {
            text.push_str(&printer.field("Renewal", &format!("from {due} on")));
        }
    }
    let next = format!(
        "{} create resourceslice NAME {} --remote-cluster-id {provider}",
        program(),
        home.site().options()
    );
    text.push_str(&format!("  Next\n    {next}\n"));
    Ok(text)
}

/// Stores the fingerprint of the provider's key in the consumer's settings, so that
/// no other cluster can pass as the provider. The command can read both homes.
fn know_provider(given: &Known, local: &mut Home, remote: &Home) -> Result<()> {
    let provider_id = remote.cluster_id().clone();
    let known = local.settings.peers.get(&provider_id);
    let provider_keys = match known {
        _ if !given.provider_keys.is_empty() => given.provider_keys.clone(),
        Some(known) if !known.provider_keys.is_empty() => Vec::new(),
        _ => vec![remote.key()?.public_key().fingerprint()],
    };
    let said = Known {
        proxy_url: given.proxy_url.clone(),
        provider_keys,
        accept_aws: given.accept_aws || remote.settings.signer == Signer::Aws,
        ..*given
    };
    keep(local, &provider_id, &said)
}

/// Whether the provider's Identity does not prove the key that the nonce names which this consumer
/// has signed last: the consumer was restored from before it signed the present one, or the
/// provider has another key now.
fn is_unproven(provider: &ProviderSide<'_>, consumer: &ConsumerSide<'_>) -> Result<bool> {
    let Some(identity) = provider.identity(None)? else {
        return Ok(false);
    };
    let refusal = consumer.would_accept(identity)?.err();
    Ok(refusal.is_some_and(|error| {
        matches!(
            error.fault(),
            Fault::PeerIncompatible(
                PeerIncompatible::CommitmentMissing
                    | PeerIncompatible::Commitment(CommitmentFault::Signature(
                        SignatureError::Mismatch
                    ))
            )
        )
    }) && consumer.signed_nonce().is_some())
}

/// The provider's nonce. A new one replaces it if a nonce is needed, and it has expired, or the
/// consumer has ended the peering that was made with it.
fn usable_nonce(
    provider: &mut ProviderSide<'_>,
    consumer: &ConsumerSide<'_>,
    done: bool,
    now: Timestamp,
) -> Result<Nonce> {
    let expired = |nonce: &Nonce| {
        nonce
            .structured()
            .is_some_and(|nonce| nonce.expires() <= now)
    };
    let signed = consumer.signed_nonce();
    let serves = |nonce: &Nonce| -> Result<bool> {
        let refusal = consumer.would_accept(nonce.clone())?.err();
        let is_used = refusal.is_some_and(|error| is_of_a_nonce_that_serves_no_more(&error));
        Ok(!is_used && (signed.as_ref() == Some(nonce) || !expired(nonce)))
    };
    if let Some(nonce) = provider.nonce()
        && (done || serves(&nonce)?)
    {
        return Ok(nonce);
    }
    provider.replace_nonce()?;
    provider
        .nonce()
        .ok_or_else(|| Failure::at_odds("the nonce was made, but it is missing"))
}
