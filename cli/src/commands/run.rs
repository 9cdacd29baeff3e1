//! `run`: the controllers of a cluster, until a signal stops them.

mod metrics;
mod probes;
mod settings;

use std::{
    future::{Future, IntoFuture},
    time::Duration,
};

use anyhow::Context as _;
use liqo_auth_kube::{Cluster, Controller, Handle};
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
    sync::watch,
};
use tracing_subscriber::filter::EnvFilter;

use crate::{
    arguments::Run,
    consumer_side::consumer_with,
    context::Context,
    failure::Result,
    home::{Home, Use},
    provider_side::provider_with,
};

pub(super) fn run(context: &Context, arguments: &Run) -> Result<()> {
    log(&arguments.log);
    let home = Home::open(&context.site()?, Use::Write)?;
    home.on_cluster(|cluster| {
        let (home, cluster) = (&home, cluster.clone());
        let controller = controller(context, arguments, home, &cluster);
        async move {
            let (controller, handle) = controller?;
            let settings = settings::follow(context, home, cluster.principals(), handle.clone());
            serve(arguments, controller, handle, settings).await
        }
    })?
}

fn controller(
    context: &Context,
    arguments: &Run,
    home: &Home,
    cluster: &Cluster,
) -> Result<(Controller, Handle)> {
    let mut builder = Controller::builder(cluster)
        .clock(context.clock.running()?)
        .publish_events();
    if arguments.sides.has_provider() {
        let (settings, principals) = (&home.settings, cluster.principals());
        let provider = provider_with(home, settings, &context.policy, principals)?;
        builder = builder.provider(provider);
    }
    if arguments.sides.has_consumer() {
        builder = builder.consumer(consumer_with(home, &home.settings, &context.policy)?);
    }
    Ok(builder.build())
}

/// Runs the controller, answers probes and follows the settings, until a signal comes. The
/// requests that are in progress are finished first.
async fn serve(
    arguments: &Run,
    controller: Controller,
    handle: Handle,
    settings: impl Future<Output = ()>,
) -> Result<()> {
    let listener = TcpListener::bind(arguments.listen).await;
    let listener = listener.with_context(|| format!("{} cannot be used", arguments.listen))?;
    let address = listener.local_addr()?;
    let (stop, stopped) = watch::channel(());
    let until_stopped = || {
        let mut stopped = stopped.clone();
        async move {
            // The sender is dropped to stop.
            let _ = stopped.changed().await;
        }
    };
    let probes =
        axum::serve(listener, probes::router(handle)).with_graceful_shutdown(until_stopped());
    let signalled = signalled()?;
    let stopping = async {
        signalled.await;
        tracing::info!("stops");
        drop(stop);
    };
    tracing::info!(%address, "runs");
    let probes = tokio::spawn(probes.into_future());
    let settings = async {
        tokio::select! {
            () = settings => {}
            () = until_stopped() => {}
        }
    };
    tokio::join!(controller.run(until_stopped()), stopping, settings);
    // A connection that is left open does not hold up the end.
    match tokio::time::timeout(PATIENCE, probes).await {
        Ok(Ok(served)) => Ok(served.context("the probes")?),
        _ => Ok(()),
    }
}

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

const PATIENCE: Duration = Duration::from_secs(2);
