//! The commands, one file each.

mod answer;
mod apply;
mod approve;
mod audit;
mod authenticate;
mod aws;
mod completion;
mod condition;
mod doctor;
mod endpoint;
mod export;
mod generate;
mod generate_carried;
mod get;
mod homes;
mod init;
mod inspect;
mod known;
mod left;
mod legacy;
mod listing;
mod manual;
mod nonce;
mod peering_user;
mod rbac;
mod release;
mod renew;
mod replicate;
mod rotate;
mod run;
mod set;
mod several;
mod sign_again;
mod slices;
mod status;
mod transcript;
mod unauthenticate;
mod unread;
mod version;

use liqo_auth::model::Kind;

use crate::{
    arguments::{Arguments, Command, Create, Delete, Generate, Get, Rotate},
    context::Context,
    failure::{Code, Failure, Result},
    home::Trial,
    output::{ColorChoice, Printer},
    verbosity,
};

pub(crate) fn run(arguments: Arguments) -> Result<()> {
    let is_plugin = arguments.command.is_plugin();
    let printer = Printer::new(arguments.global.color);
    match done(arguments) {
        Err(failure) if is_plugin && !matches!(failure.code, Code::Nagios(_)) => {
            Err(status::nagios::unknown(printer, &failure.to_string()))
        }
        done => done,
    }
}

/// The failure of a command line that asks for a plugin's line, and is wrong.
pub(crate) fn wrong_plugin(why: &str) -> Failure {
    status::nagios::unknown(Printer::new(ColorChoice::Never), why)
}

fn done(arguments: Arguments) -> Result<()> {
    let Arguments {
        mut global,
        command,
    } = arguments;
    global.local.check()?;
    if let Some(namespace) = command.liqo_namespace() {
        global.local.take(namespace)?;
    }
    if matches!(command, Command::Run(_)) && global.verbose > 0 {
        return Err(Failure::usage(
            "run logs what --log says: give --log in place of --verbose",
        ));
    }
    verbosity::log(global.verbose);
    if global.write_at_this_time && global.now.is_none() {
        return Err(Failure::usage(
            "--write-at-this-time: name the time with --now TIME",
        ));
    }
    if global.now.is_some() && !global.write_at_this_time && command.writes_untried() {
        return Err(Failure::usage(
            "--now: this command cannot be tried. Add --write-at-this-time to write as if it were that time",
        ));
    }
    // What is written at another time stays, and the present time is before or after it.
    let is_preview = global.now.is_some() && !global.write_at_this_time && command.can_be_tried();
    if !global.dry_run && !is_preview {
        let answered = command.answered();
        let context = Context::new(global, None);
        let context = match &answered {
            None => context,
            Some(_) => context.answering(),
        };
        let done = carry_out(&context, command);
        // Changes that are saved count, also if the command fails later.
        context.tell_clusters();
        return match answered {
            None => done,
            Some(answered) => answer::tell(&context, &answered, done),
        };
    }
    if !command.can_be_tried() {
        return Err(Failure::usage(
            "--dry-run: this command changes nothing, or cannot be tried",
        ));
    }
    let unchanged = match global.dry_run {
        true => "Nothing was changed (--dry-run).",
        false => PREVIEWED,
    };
    let trial = Trial::default();
    let context = Context::new(global, Some(trial.clone()));
    let done = carry_out(&context, command);
    let shown = trial.shown();
    context
        .printer
        .print(shown.as_deref().unwrap_or_default())?;
    context.printer.message(match shown {
        None => "Nothing would change.",
        Some(_) => unchanged,
    });
    done
}

const PREVIEWED: &str = "Nothing was changed: with --now, this is a preview. Add --write-at-this-time to write as if it were that time.";

fn carry_out(context: &Context, command: Command) -> Result<()> {
    match command {
        Command::Init(arguments) => init::run(context, &arguments),
        Command::Authenticate(arguments) => authenticate::run(context, &arguments),
        Command::Create(Create::Nonce(arguments)) => nonce::create(context, &arguments),
        Command::Get(Get::Tenants(arguments)) => get::tenants(context, &arguments),
        Command::Get(Get::Identities(arguments)) => get::identities(context, &arguments),
        Command::Get(Get::ResourceSlices(arguments)) => slices::get(context, &arguments),
        Command::Get(Get::Renews(arguments)) => get::renews(context, &arguments),
        Command::Get(Get::Nonce(arguments)) => get::nonces(context, &arguments),
        Command::Get(Get::Kubeconfig(arguments)) => get::kubeconfigs(context, &arguments),
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
        Command::Delete(Delete::Nonce(arguments)) => nonce::delete(context, &arguments),
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
        Command::Activate(command) => condition::activate(context, &command),
        Command::Drain(command) => condition::drain(context, &command),
        Command::Release(arguments) => release::run(context, &arguments),
        Command::Unauthenticate(arguments) => unauthenticate::run(context, &arguments),
        Command::Get(Get::AwsKeys(arguments)) => aws::keys(context, &arguments),
        Command::Delete(Delete::AwsKey(arguments)) => aws::delete_key(context, &arguments),
        Command::Set(command) => set::run(context, &command),
        Command::Rotate(Rotate::Key(arguments)) => rotate::key(context, &arguments),
        Command::Doctor(arguments) => doctor::run(context, &arguments),
        Command::Status(arguments) => status::run(context, &arguments),
        Command::Renew(arguments) => renew::run(context, &arguments),
        Command::Approve(command) => approve::approve(context, &command),
        Command::Deny(command) => approve::deny(context, &command),
        Command::SignAgain(command) => sign_again::run(context, &command),
        Command::Replicate(arguments) => replicate::run(context, &arguments),
        Command::Run(arguments) => run::run(context, &arguments),
        Command::Rbac(arguments) => rbac::run(context, &arguments),
        Command::Legacy(command) => legacy::run(context, command),
        Command::Version(arguments) => version::run(context, &arguments),
        Command::Man { dir } => manual::run(context, dir.as_deref()),
        Command::Options => completion::options(context),
        Command::Completion { shell } => completion::run(context, shell),
    }
}
