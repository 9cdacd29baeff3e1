//! The exchange with a provider that a peering user reaches. The consumer's part is the same;
//! the provider's own controllers do the provider's part.

use liqo_auth::{
    crypto::Nonce,
    error::{Error, Fault, Precondition},
    model::{Identity, ObjectRef, names},
};

use super::{keep, steps::Steps, take_identity};
use crate::{
    arguments::Known,
    context::Context,
    failure::Result,
    home::{Home, PeeringUser},
    output::Side,
    peering::consumer_side::{ConsumerSide, ConsumerStand, ensure_key},
};

/// Runs the whole exchange. Returns the Secret with the kubeconfig. `None` if a trial ends
/// before, where the provider's controllers would have to answer.
pub(super) fn exchange(
    context: &Context,
    known: &Known,
    local: &mut Home,
    user: &PeeringUser,
) -> Result<Option<ObjectRef>> {
    let provider_id = user.cluster_id();
    // A peering user cannot read the provider's key, so that nothing but the options tells it.
    keep(local, provider_id, known)?;
    let mut steps = Steps::begin(context);
    let who = format!("By a peering user: the controllers of {provider_id} answer");
    steps.done(Side::Remote, &who)?;
    ensure_key(local, provider_id, &context.policy, context.clock)?;
    let mut consumer = ConsumerSide::new(local, provider_id, &context.policy, context.clock)?;
    consumer.ensure_namespace()?;
    steps.done(Side::Local, "Tenant namespace correctly ensured")?;

    let identity = match held_identity(&consumer, user)? {
        Some(identity) => identity,
        None => match ask_for_identity(context, &mut steps, &mut consumer, user)? {
            Some(identity) => identity,
            None => return Ok(None),
        },
    };
    steps.done(Side::Remote, "Tenant status is filled")?;
    steps.done(Side::Remote, "Identity correctly generated")?;
    // Only the provider's administrator has a certificate signed again.
    take_identity(context, &mut steps, &mut consumer, &identity, || Ok(None)).map(Some)
}

/// The provider's answer, if the consumer is authenticated by its present key, and the
/// provider still has its Tenant with an answer for this key. Then nothing has to be asked for.
fn held_identity(consumer: &ConsumerSide<'_>, user: &PeeringUser) -> Result<Option<Identity>> {
    let is_held = matches!(consumer.stand()?, Some(ConsumerStand::Authenticated(_)))
        && !consumer.home.has_new_key(user.cluster_id())?;
    if !is_held {
        return Ok(None);
    }
    let Some(identity) = user.identity()? else {
        return Ok(None);
    };
    match consumer.would_accept(identity.clone())? {
        Ok(()) => Ok(Some(identity)),
        // A renewal came later than this answer.
        Err(error) if is_older(&error) => {
            let name = names::identity_name(&consumer.peer);
            let mut stored = consumer.home.all::<Identity>();
            Ok(stored.find(|stored| stored.metadata.name == name).cloned())
        }
        Err(_) => Ok(None),
    }
}

/// Whether the consumer refuses an Identity only because it has a newer one.
fn is_older(refusal: &Error) -> bool {
    matches!(
        refusal.fault(),
        Fault::Precondition(Precondition::NotNewer { .. } | Precondition::Older { .. })
    )
}

/// Carries the messages up to the provider's answer. `None` if a trial ends before.
fn ask_for_identity(
    context: &Context,
    steps: &mut Steps,
    consumer: &mut ConsumerSide<'_>,
    user: &PeeringUser,
) -> Result<Option<Identity>> {
    let Some(nonce) = ask_for_nonce(context, steps, consumer, user)? else {
        consumer.home.save()?;
        return Ok(None);
    };
    let tenant = consumer.sign(nonce)?;
    consumer.home.save()?;
    for text in [
        "Signed nonce secret ensured",
        "Nonce is signed",
        "Signed nonce retrieved",
        "Tenant correctly generated",
    ] {
        steps.done(Side::Local, text)?;
    }
    if context.trial().is_some() {
        end_of_trial(context, user, "answer the Tenant");
        return Ok(None);
    }
    user.send_tenant(&tenant)?;
    steps.done(Side::Remote, "Tenant correctly applied on provider cluster")?;
    let identity = user.await_identity(context.timeout(), |identity| {
        consumer.would_accept(identity.clone())
    })?;
    Ok(Some(identity))
}

/// The provider's nonce. `None` if a trial would have to ask for one.
fn ask_for_nonce(
    context: &Context,
    steps: &mut Steps,
    consumer: &ConsumerSide<'_>,
    user: &PeeringUser,
) -> Result<Option<Nonce>> {
    if context.trial().is_some() {
        let nonce = user.nonce()?;
        if nonce.is_none() {
            end_of_trial(context, user, "make a nonce");
        }
        return Ok(nonce);
    }
    user.ask_for_nonce()?;
    steps.done(Side::Remote, "Tenant namespace correctly ensured")?;
    steps.done(Side::Remote, "Nonce secret ensured")?;
    let nonce = user.await_nonce(context.timeout(), |nonce| {
        consumer.would_accept(nonce.clone())
    })?;
    steps.done(Side::Remote, "Nonce generated successfully")?;
    steps.done(Side::Remote, "Nonce retrieved")?;
    Ok(Some(nonce))
}

fn end_of_trial(context: &Context, user: &PeeringUser, deed: &str) {
    context.printer.message(&format!(
        "The trial ends here: {}'s controllers would have to {deed}.",
        user.cluster_id()
    ));
}
