//! The commands, one file each.

mod apply;
mod approve;
mod audit;
mod authenticate;
mod completion;
mod condition;
mod create_nonce;
mod export;
mod generate;
mod generate_carried;
mod get;
mod init;
mod inspect;
mod known;
mod legacy;
mod peering_user;
mod rbac;
mod release;
mod renew;
mod replicate;
mod run;
mod sign_again;
mod slices;
mod status;
mod transcript;
mod unauthenticate;

use liqo_auth::model::Kind;

use crate::{
    arguments::{Arguments, Command, Create, Delete, Generate, Get},
    context::Context,
    failure::Result,
};

pub(crate) fn run(arguments: Arguments) -> Result<()> {
    let Arguments { global, command } = arguments;
    let context = Context::new(global);
    let result = run_one(&context, command);
    // Changes that are saved count, also if the command fails later.
    context.tell_clusters();
    result
}

fn run_one(context: &Context, command: Command) -> Result<()> {
    match command {
        Command::Init(arguments) => init::run(context, &arguments),
        Command::Authenticate(arguments) => authenticate::run(context, &arguments),
        Command::Create(Create::Nonce(arguments)) => create_nonce::run(context, &arguments),
        Command::Get(Get::Tenants(arguments)) => get::tenants(context, &arguments),
        Command::Get(Get::Identities(arguments)) => get::identities(context, &arguments),
        Command::Get(Get::ResourceSlices(arguments)) => slices::get(context, &arguments),
        Command::Get(Get::Renews(arguments)) => get::renews(context, &arguments),
        Command::Get(Get::Nonce(arguments)) => get::nonce(context, &arguments),
        Command::Get(Get::Kubeconfig {
            remote_cluster_id,
            resourceslice,
        }) => get::kubeconfig(context, &remote_cluster_id, resourceslice.as_deref()),
        Command::Generate(Generate::Tenant(arguments)) => generate::tenant(context, &arguments),
        Command::Generate(Generate::Identity(arguments)) => generate::identity(context, &arguments),
        Command::Generate(Generate::ResourceSlice(carried)) => {
            generate_carried::run(context, Kind::ResourceSlice, &carried)
        }
        Command::Generate(Generate::Renew(carried)) => {
            generate_carried::run(context, Kind::Renew, &carried)
        }
        Command::Export(arguments) => export::run(context, &arguments),
        Command::Generate(Generate::PeeringUser(arguments)) => {
            peering_user::generate(context, &arguments)
        }
        Command::Delete(Delete::PeeringUser(arguments)) => {
            peering_user::delete(context, &arguments)
        }
        Command::Transcript(arguments) => transcript::run(context, &arguments),
        Command::Audit(arguments) => audit::run(context, &arguments),
        Command::Apply(arguments) => apply::run(context, &arguments),
        Command::Inspect(arguments) => inspect::run(context, &arguments),
        Command::Create(Create::ResourceSlice(arguments)) => slices::create(context, &arguments),
        Command::Delete(Delete::ResourceSlice(arguments)) => slices::delete(context, &arguments),
        Command::Cordon(command) => condition::cordon(context, &command),
        Command::Uncordon(command) => condition::uncordon(context, &command),
        Command::Drain(command) => condition::drain(context, &command),
        Command::Release(arguments) => release::run(context, &arguments),
        Command::Unauthenticate(arguments) => unauthenticate::run(context, &arguments),
        Command::Status(arguments) => status::run(context, &arguments),
        Command::Renew(arguments) => renew::run(context, &arguments),
        Command::Approve(command) => approve::approve(context, &command),
        Command::Deny(command) => approve::deny(context, &command),
        Command::SignAgain(command) => sign_again::run(context, &command),
        Command::Replicate(arguments) => replicate::run(context, &arguments),
        Command::Run(arguments) => run::run(context, &arguments),
        Command::Rbac(sides) => rbac::run(context, &sides),
        Command::Legacy(command) => legacy::run(context, command),
        Command::Completion { shell } => completion::run(context, shell),
    }
}
