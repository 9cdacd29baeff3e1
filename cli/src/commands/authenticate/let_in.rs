//! Success means that the provider's API server lets the consumer in.
//!
//! After the client CA of an API server was replaced, a certificate on record lets nobody in,
//! however long it is valid. The refused login shows it. So a person who may act at both clusters
//! has it signed again by the same command.

use liqo_auth::{
    consumer,
    machine::Holder,
    model::Identity,
    provider::{Phase, Renewal, SlicePhase},
};

use super::steps::Steps;
use crate::{
    context::Context,
    failure::{Code, Failure, Result},
    home::{Login, NotTrusted},
    output::{Side, counted, program},
    peering::{
        consumer_side::ConsumerSide,
        provider_side::{ProviderSide, refused},
    },
};

/// The URL of an API server that does not accept the certificate.
pub(super) struct NotAccepted(String);

/// What the provider's API server says to an identity whose certificate it may accept.
pub(super) enum LetIn {
    /// It lets the identity in.
    Yes,
    /// It was not asked, or it does not give rights. The text says why, if there is more to say.
    Unknown(Option<String>),
}

impl LetIn {
    /// Prints the step. Returns a warning if the API server was not seen to let the identity in.
    pub(super) fn told(self, steps: &mut Steps) -> Result<Option<String>> {
        match self {
            Self::Yes => {
                steps.done(Side::Local, "Logged in at the provider cluster")?;
                Ok(None)
            }
            Self::Unknown(warning) => Ok(warning),
        }
    }
}

/// Logs in at the provider's API server, if the consumer is a cluster.
pub(super) fn log_in(
    context: &Context,
    consumer: &ConsumerSide<'_>,
) -> Result<std::result::Result<LetIn, NotAccepted>> {
    let (home, provider) = (&consumer.home, &consumer.peer);
    let unlooked = || Ok(Ok(LetIn::Unknown(home.unlooked(&[provider.as_str()]))));
    if !home.is_live() || home.is_trial() {
        return unlooked();
    }
    let consumer::Phase::Authenticated(stored) = consumer.status()?.phase else {
        return unlooked();
    };
    let policy = home.settings.with_addresses(&context.policy);
    let unknown = |why: String| Ok(LetIn::Unknown(Some(why)));
    Ok(match home.log_in(&stored.kubeconfig, &policy.addresses) {
        Login::Succeeds => Ok(LetIn::Yes),
        Login::WithoutRights => unknown(format!(
            "{provider} lets this cluster in, and gives it no rights yet."
        )),
        Login::Fails => Err(NotAccepted(stored.kubeconfig.server.clone())),
        Login::NotTried(reason) | Login::NotTrusted(NotTrusted { reason, .. }) => unknown(format!(
            "{provider} was not seen to let this cluster in: {reason}."
        )),
    })
}

/// Has the consumer's certificate signed again. Returns the Identity with the next one.
pub(super) fn signed_again(provider: &mut ProviderSide<'_>) -> Result<Option<Identity>> {
    sign_again(provider, &Holder::ControlPlane)?;
    provider.settle()?;
    let Phase::Authenticated(issued) = provider.status()?.phase else {
        return Ok(None);
    };
    match &issued.renewal {
        Renewal::Denied { error, .. } => Err(refused(provider.home, &provider.peer, error)),
        _ => Ok(Some(issued.identity(None))),
    }
}

/// Has the certificates of the consumer's slices signed again: they are by the same signer as
/// the one that was not accepted. A slice that is denied keeps what it has.
pub(super) fn sign_slices_again(context: &Context, provider: &mut ProviderSide<'_>) -> Result<()> {
    let slices = provider.status()?.slices.into_iter().filter(|slice| {
        let is_denied = matches!(slice.phase, SlicePhase::Denied(_));
        slice.phase.settled().is_some() && !is_denied
    });
    let holders: Vec<Holder> = slices
        .map(|slice| Holder::Slice(slice.slice.name))
        .collect();
    if holders.is_empty() {
        return Ok(());
    }
    for holder in &holders {
        sign_again(provider, holder)?;
    }
    provider.settle()?;
    let done = format!(
        "{} signed again",
        counted(holders.len(), "slice certificate")
    );
    context.printer.info(Side::Remote, &done)
}

/// The administrator's decision is on the disk before the request is made.
fn sign_again(provider: &mut ProviderSide<'_>, holder: &Holder) -> Result<()> {
    let subject = "the certificate is not signed again";
    provider.administer(subject, |provider, view, env| {
        provider.sign_again(view, holder, true, env.now)
    })?;
    provider.home.save()
}

/// The failure if nobody has the certificate signed again.
pub(super) fn no_login(consumer: &ConsumerSide<'_>, server: &NotAccepted) -> Failure {
    let (provider, own) = (&consumer.peer, consumer.home.cluster_id());
    failure(
        consumer,
        server,
        &format!(
            "does not accept the certificate that {provider} has issued. Its client CA may have been replaced since: have the administrator of {provider} run {} sign-again tenant {own} --force, and authenticate again",
            program()
        ),
    )
}

/// The failure if the next certificate is not accepted either.
pub(super) fn no_login_again(consumer: &ConsumerSide<'_>, server: &NotAccepted) -> Failure {
    let provider = &consumer.peer;
    failure(
        consumer,
        server,
        &format!(
            "accepts neither the certificate that {provider} had issued nor the next one, which was signed just now. Have the administrator of {provider} put the CA of its signer among the client CAs of the API server, and authenticate again"
        ),
    )
}

fn failure(consumer: &ConsumerSide<'_>, NotAccepted(server): &NotAccepted, what: &str) -> Failure {
    let provider = &consumer.peer;
    let text = format!("the API server of {provider} at {server} {what}");
    Failure::new(Code::Refused, text)
}
