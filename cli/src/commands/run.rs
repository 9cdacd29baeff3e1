//! `run`: the controllers of a cluster, until a signal stops them.

mod connections;
mod guard;
mod listeners;
mod machines;
mod metrics;
mod probes;
mod settings;
mod webhook;

use std::{future::Future, time::Duration};

use futures::FutureExt;
use liqo_auth_kube::{Cluster, Controller, Handle, ProviderKeys, client_within};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::watch,
    task::JoinSet,
    time::sleep,
};
use tracing_subscriber::filter::EnvFilter;

use self::{listeners::Listeners, machines::Machines};
use crate::{
    arguments::Run,
    context::Context,
    failure::{Failure, Result},
    home::{Home, Use, with_user_agent},
};

pub(super) fn run(context: &Context, arguments: &Run) -> Result<()> {
    if arguments.replicate && !arguments.sides.has_consumer() {
        return Err(Failure::usage(
            "--replicate is for the consumer's side: add --consumer, or leave out --provider",
        ));
    }
    log(&arguments.log);
    let mut home = Home::open(&context.site()?, Use::Write)?;
    // The controllers list what they need themselves.
    home.forget_opening();
    if arguments.sides.has_consumer() {
        home.learn_service_ranges()?;
    }
    if arguments.sides.has_provider() && arguments.guard.guard.is_none() {
        home.learn_storage_classes()?;
    }
    home.on_cluster(|cluster| {
        let (home, cluster) = (&home, cluster.clone());
        let keys = ProviderKeys::of(&cluster);
        let machines = Machines::new(context, home, arguments, &cluster, keys);
        let controller = controller(context, arguments, &machines, &cluster);
        async move {
            let (controller, handle) = controller?;
            let settings = settings::follow(machines, handle.clone());
            let is_provider = arguments.sides.has_provider();
            let records_in = is_provider.then(|| home.liqo_namespace_name().to_owned());
            let (client, guard) = (home.client()?, arguments.guard.guard);
            let listeners = Listeners::new(&arguments.listeners, client, records_in, guard)?;
            serve(controller, handle, settings, listeners).await
        }
    })?
}

fn controller(
    context: &Context,
    arguments: &Run,
    machines: &Machines<'_>,
    cluster: &Cluster,
) -> Result<(Controller, Handle)> {
    let mut builder = Controller::builder(cluster)
        .clock(context.clock.running()?)
        .publish_events();
    builder = match arguments.guard.guard {
        Some(_) => builder.guard(),
        None => builder.provider_keys(machines.keys().clone()),
    };
    let settings = &machines.home().settings;
    if arguments.sides.has_provider() {
        builder = builder.provider(machines.provider(settings)?);
    }
    if arguments.sides.has_consumer() {
        builder = builder.consumer(machines.consumer(settings));
    }
    if arguments.replicate {
        builder = builder
            .replicate(|config, addresses| client_within(with_user_agent(config), addresses));
    }
    if let Some(enforcement) = arguments.offloading.enforcement() {
        builder = builder.offloading(enforcement);
    }
    if let Some(name) = &arguments.rights.service_account {
        builder = builder.service_account(name);
    }
    if arguments.rights.watch_all_secrets {
        builder = builder.watch_all_secrets();
    }
    Ok(builder.build())
}

/// Runs the controller, answers requests and follows the settings, until a signal comes. The
/// requests that are in progress are finished first, if the API server answers them soon.
async fn serve(
    controller: Controller,
    handle: Handle,
    settings: impl Future<Output = ()>,
    listeners: Listeners,
) -> Result<()> {
    let (stop, stopped) = watch::channel(());
    let until_stopped = async move {
        let mut stopped = stopped;
        // The sender is dropped to stop.
        let _ = stopped.changed().await;
    };
    let until_stopped = until_stopped.boxed().shared();
    let mut servers = JoinSet::new();
    for listener in listeners.open(handle).await? {
        servers.spawn(listener.serve(until_stopped.clone()));
    }
    let signalled = signalled()?;
    let stopping = async {
        signalled.await;
        tracing::info!("stops");
        drop(stop);
    };
    tracing::info!("runs");
    let settings = async {
        tokio::select! {
            () = settings => {}
            () = until_stopped.clone() => {}
        }
    };
    let running = async {
        tokio::join!(controller.run(until_stopped.clone()), stopping, settings);
        servers.join_all().await;
    };
    let given_up = async {
        until_stopped.clone().await;
        sleep(PATIENCE).await;
    };
    tokio::select! {
        () = running => {}
        // What was begun is complete or is not, as after a crash: the next run goes on.
        () = given_up => tracing::warn!("stops before the API server has answered"),
    }
    Ok(())
}

/// The time to finish the requests that are in progress. A cluster kills a program after
/// half a minute.
const PATIENCE: Duration = Duration::from_secs(10);

fn signalled() -> Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// One JSON object a line, on standard error.
fn log(filter: &EnvFilter) {
    tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_writer(std::io::stderr)
        .with_env_filter(filter.to_string())
        .init();
}
