//! AWS users at the provider: `set aws-user`, `get aws-keys` and `delete aws-key`.

use liqo_auth::{
    Machine,
    error::{ApiMisuse, Error, Fault},
    machine::{Awaited, Holder},
    model::{AwsConfig, ClusterId},
};
use serde::Serialize;
use serde_json::json;

use crate::{
    arguments::{
        AwsKeyFormat, DeleteAwsKey, GetAwsKeys, SetAwsUser,
        output_format::{DocumentFormat, Output},
    },
    context::Context,
    failure::{Failure, Result},
    home::{Signer, Use},
    input,
    output::{Side, Table, escaped, program},
    overview::{self, Role},
    peering::provider_side::ProviderSide,
};

/// Gives the AWS user that a person made to the consumer that waits for one.
pub(super) fn set_user(context: &Context, arguments: &SetAwsUser) -> Result<()> {
    let peer = &arguments.remote_cluster_id;
    let secret = input::token(&arguments.secret_access_key_file)?;
    let secret = std::str::from_utf8(&secret)
        .map_err(|_| Failure::usage("--secret-access-key-file: the file is not text"))?;
    let user = AwsConfig {
        aws_user_arn: arguments.user_arn.clone(),
        aws_access_key_id: arguments.access_key_id.clone(),
        aws_secret_access_key: secret.into(),
        aws_region: arguments.region.clone(),
        aws_cluster_name: arguments.eks_cluster.clone(),
    };
    let holder = match &arguments.resourceslice {
        None => Holder::ControlPlane,
        Some(slice) => Holder::Slice(slice.clone()),
    };
    let mut home = context.open(Use::Write)?;
    if home.settings.signer != Signer::Aws {
        return Err(Failure::usage(format!(
            "{} gives its peers certificates, not AWS users: those need `signer: aws` in {}",
            home.site(),
            home.settings_place()
        )));
    }
    let mut provider = ProviderSide::giving(
        &mut home,
        peer,
        &context.policy,
        context.clock,
        (&holder, user),
    )?;
    let status = Machine::look(&provider.machine, &provider.view(), context.clock.now()?);
    let status = status.map_err(|error| provider.failure(&error))?;
    let phase = status.holders().find(|one| one.holder == holder);
    let phase = phase.map_or("unknown", |one| one.phase);
    if phase != NEEDS_CREDENTIAL {
        return Err(Failure::waiting(format!(
            "the {holder} of {peer} is not waiting for an AWS user: its phase is {phase}"
        )));
    }
    let step = Machine::reconcile(&provider.machine, &provider.view(), context.clock.env()?);
    let refused: Vec<&Error> = match &step {
        Ok(step) => step.refused.iter().map(|refused| &refused.error).collect(),
        Err(error) => vec![error],
    };
    for error in refused {
        if let Fault::ApiMisuse(ApiMisuse::CredentialForm { expected }) = error.fault() {
            return Err(Failure::usage(format!(
                "the AWS user cannot be given: expected {expected}"
            )));
        }
    }
    provider.settle()?;
    context.printer.info(
        Side::Only,
        &format!("The {holder} of {peer} has its AWS user"),
    )
}

/// An access key that a person has to delete at AWS.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct KeyToDelete {
    consumer: String,
    user_arn: String,
    #[serde(rename = "accessKeyID")]
    access_key_id: String,
}

/// Lists the keys that wait for their deletion at AWS.
pub(super) fn keys(context: &Context, arguments: &GetAwsKeys) -> Result<()> {
    let mut home = context.open(Use::Read)?;
    let peers = overview::peers(&home).into_iter();
    let consumers = peers.filter(|(_, role)| *role == Role::Consumer);
    let consumers = consumers.map(|(peer, _)| peer).filter(|peer| {
        let wanted = arguments.remote_cluster_id.as_ref();
        wanted.is_none_or(|wanted| wanted == peer)
    });
    let mut keys = Vec::new();
    for consumer in consumers.collect::<Vec<_>>() {
        let side = ProviderSide::new(&mut home, &consumer, &context.policy, context.clock)?;
        for awaited in side.look()?.wait.awaiting {
            if let Awaited::AwsRevocation {
                user_arn,
                access_key_id,
            } = awaited
            {
                keys.push(KeyToDelete {
                    consumer: consumer.to_string(),
                    user_arn,
                    access_key_id,
                });
            }
        }
    }
    let document = |output| context.document(&json!({ "keys": keys }), &output);
    match &arguments.output {
        Some(Output::Format(AwsKeyFormat::Json)) => {
            return document(Output::Format(DocumentFormat::Json));
        }
        Some(Output::Format(AwsKeyFormat::Yaml)) => {
            return document(Output::Format(DocumentFormat::Yaml));
        }
        Some(Output::JsonPath(template)) => return document(Output::JsonPath(template.clone())),
        Some(Output::Format(AwsKeyFormat::Name)) => {
            let names = keys.iter().map(|key| format!("{}\n", key.access_key_id));
            return context.printer.result(&names.collect::<String>());
        }
        None if keys.is_empty() => {
            context.printer.message("No key has to be deleted at AWS.");
            return Ok(());
        }
        None => {}
    }
    let mut table = Table::new(["CONSUMER", "ACCESS KEY", "USER"]);
    for KeyToDelete {
        consumer,
        user_arn,
        access_key_id,
    } in &keys
    {
        table.row([consumer.clone(), access_key_id.clone(), user_arn.clone()]);
    }
    context.printer.result(&table.to_text())?;
    context.printer.message(&format!(
        "Delete these keys at AWS, and then run for each: {} delete aws-key KEY {} --remote-cluster-id CONSUMER",
        program(),
        home.site().options()
    ));
    Ok(())
}

/// Records that a key was deleted at AWS.
pub(super) fn delete_key(context: &Context, arguments: &DeleteAwsKey) -> Result<()> {
    let (peer, key): (&ClusterId, _) = (&arguments.remote_cluster_id, &arguments.access_key_id);
    let mut home = context.open(Use::Write)?;
    context.confirm(&format!("Is the key {} deleted at AWS?", escaped(key)))?;
    let mut provider = ProviderSide::new(&mut home, peer, &context.policy, context.clock)?;
    let subject = format!("the key {} is not forgotten", escaped(key));
    let step = provider.administer(&subject, |provider, view, _| {
        provider.aws_key_revoked(view, key)
    })?;
    if step.effects.is_empty() {
        return Err(Failure::waiting(format!(
            "{} has no access key {} of {peer} on record",
            home.site(),
            escaped(key)
        )));
    }
    provider.settle()?;
    context
        .printer
        .result(&format!("aws-key \"{}\" forgotten\n", escaped(key)))
}

/// The phase in which a control plane or a slice waits for its AWS user.
const NEEDS_CREDENTIAL: &str = "NeedsCredential";
