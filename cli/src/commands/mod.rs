//! The commands, one file each.

mod apply;
mod approve;
mod audit;
mod authenticate;
mod completion;
mod condition;
mod create_nonce;
mod generate;
mod get;
mod init;
mod inspect;
mod legacy;
mod peering_user;
mod release;
mod renew;
mod replicate;
mod sign_again;
mod slices;
mod status;
mod transcript;
mod unauthenticate;

use std::path::Path;

use liqo_auth::{model::ClusterId, policy::Policy};

use crate::{
    arguments::{Arguments, Command, Create, Delete, Format, Generate, Get, Global, Known},
    environment::Clock,
    failure::{Failure, Result},
    home::{Home, SecretValue},
    output::Printer,
};

/// What every command has: where, when, under which policy, and how to say it.
pub(crate) struct Context {
    global: Global,
    pub(crate) policy: Policy,
    pub(crate) clock: Clock,
    pub(crate) printer: Printer,
}

pub(crate) fn run(arguments: Arguments) -> Result<()> {
    let Arguments { global, command } = arguments;
    let context = Context {
        policy: global.policy.policy(),
        clock: Clock::new(global.now),
        printer: Printer::new(global.color),
        global,
    };
    match command {
        Command::Init(arguments) => init::run(&context, &arguments),
        Command::Authenticate(arguments) => authenticate::run(&context, &arguments),
        Command::Create(Create::Nonce(arguments)) => create_nonce::run(&context, &arguments),
        Command::Get(Get::Tenants(arguments)) => get::tenants(&context, &arguments),
        Command::Get(Get::Identities(arguments)) => get::identities(&context, &arguments),
        Command::Get(Get::ResourceSlices(arguments)) => slices::get(&context, &arguments),
        Command::Get(Get::Renews(arguments)) => get::renews(&context, &arguments),
        Command::Get(Get::Nonce(arguments)) => get::nonce(&context, &arguments),
        Command::Get(Get::Kubeconfig {
            remote_cluster_id,
            resourceslice,
        }) => get::kubeconfig(&context, &remote_cluster_id, resourceslice.as_deref()),
        Command::Generate(Generate::Tenant(arguments)) => generate::tenant(&context, &arguments),
        Command::Generate(Generate::Identity(arguments)) => {
            generate::identity(&context, &arguments)
        }
        Command::Generate(Generate::PeeringUser(arguments)) => {
            peering_user::generate(&context, &arguments)
        }
        Command::Delete(Delete::PeeringUser(arguments)) => {
            peering_user::delete(&context, &arguments)
        }
        Command::Transcript(arguments) => transcript::run(&context, &arguments),
        Command::Audit(arguments) => audit::run(&context, &arguments),
        Command::Apply(arguments) => apply::run(&context, &arguments),
        Command::Inspect(arguments) => inspect::run(&context, &arguments),
        Command::Create(Create::ResourceSlice(arguments)) => slices::create(&context, &arguments),
        Command::Delete(Delete::ResourceSlice(arguments)) => slices::delete(&context, &arguments),
        Command::Cordon(command) => condition::cordon(&context, &command),
        Command::Uncordon(command) => condition::uncordon(&context, &command),
        Command::Drain(command) => condition::drain(&context, &command),
        Command::Release(arguments) => release::run(&context, &arguments),
        Command::Unauthenticate(arguments) => unauthenticate::run(&context, &arguments),
        Command::Status(arguments) => status::run(&context, &arguments),
        Command::Renew(arguments) => renew::run(&context, &arguments),
        Command::Approve(command) => approve::approve(&context, &command),
        Command::Deny(command) => approve::deny(&context, &command),
        Command::SignAgain(command) => sign_again::run(&context, &command),
        Command::Replicate(arguments) => replicate::run(&context, &arguments),
        Command::Legacy(command) => legacy::run(&context, command),
        Command::Completion { shell } => completion::run(&context, shell),
    }
}

impl Context {
    /// The home that the command is about.
    pub(crate) fn home(&self) -> Result<&Path> {
        self.optional_home().ok_or_else(|| {
            Failure::usage("name this cluster's home with --home DIR, or in LIQO_AUTH_HOME")
        })
    }

    pub(crate) fn optional_home(&self) -> Option<&Path> {
        self.global.home.as_deref()
    }

    /// Prints a manifest.
    pub(crate) fn manifest(&self, value: &SecretValue, format: Format) -> Result<()> {
        match format {
            Format::Yaml => self.printer.result(&value.to_yaml()?),
            Format::Json => self.printer.result(&value.to_json()),
        }
    }
}

/// Keeps what a person says of a provider. What is not said stays.
fn keep(home: &mut Home, peer: &ClusterId, known: &Known) -> Result<()> {
    if known.proxy_url.is_none()
        && known.provider_keys.is_empty()
        && !known.publicly_trusted
        && !known.accept_aws
    {
        return Ok(());
    }
    let proxy_url = match known.proxy_url.as_deref() {
        None => None,
        Some("") => Some(None),
        Some(url) => {
            Some(Some(url.parse().map_err(|error| {
                Failure::usage(format!("--proxy-url: {error}"))
            })?))
        }
    };
    let settings = home.peer_mut(peer);
    if let Some(proxy_url) = proxy_url {
        settings.proxy_url = proxy_url;
    }
    if !known.provider_keys.is_empty() {
        settings.provider_keys.clone_from(&known.provider_keys);
    }
    settings.publicly_trusted |= known.publicly_trusted;
    settings.accept_aws |= known.accept_aws;
    Ok(())
}
