//! The addresses where a running controller answers: the probes, the metrics and the webhook,
//! each with connections of its own.

use std::net::SocketAddr;

use axum::Router;
use kube::Client;
use liqo_auth_kube::Handle;

use super::{
    connections::{Certificate, CertificateFiles, Connections, Listener, listen},
    guard,
    metrics::{self, Token},
    probes, webhook,
};
use crate::{
    arguments::{GuardMode, ListenOptions, WebhookOptions},
    failure::Result,
};

/// What to listen at. The files that it needs have been read.
pub(super) struct Listeners {
    probes: SocketAddr,
    metrics: Option<(SocketAddr, Option<Token>)>,
    webhook: Option<(SocketAddr, Certificate)>,
    client: Client,
    records_in: Option<String>,
    guard: Option<GuardMode>,
}

impl Listeners {
    /// The client is for what the webhook asks. A provider's records are in the namespace
    /// `records_in`. With a mode of the guard, the webhook judges what Liqo may act on, and does
    /// not take the place of Liqo's.
    pub(super) fn new(
        arguments: &ListenOptions,
        client: Client,
        records_in: Option<String>,
        guard: Option<GuardMode>,
    ) -> Result<Self> {
        let token = arguments.metrics_token_file.clone();
        let token = token.map(Token::in_file).transpose()?;
        Ok(Self {
            probes: arguments.probes,
            metrics: arguments.metrics.map(|address| (address, token)),
            webhook: of_webhook(&arguments.webhook)?,
            client,
            records_in,
            guard,
        })
    }

    /// Listens at all of the addresses.
    pub(super) async fn open(self, handle: Handle) -> Result<Vec<Listener>> {
        let mut listeners = Vec::new();
        let (router, connections) = (probes::router(handle.clone()), probes::connections());
        listeners.push(open("the probes", self.probes, router, connections, None).await?);
        if let Some((address, token)) = self.metrics {
            let (router, connections) = (
                metrics::router(handle.clone(), token),
                metrics::connections(),
            );
            listeners.push(open("the metrics", address, router, connections, None).await?);
        }
        if let Some((address, certificate)) = self.webhook {
            let is_heard_alone = certificate.verifies_clients();
            let liqo = self.records_in.clone();
            let cluster = webhook::OnCluster {
                client: self.client,
                records_in: self.records_in.filter(|_| is_heard_alone),
                controllers: is_heard_alone.then(|| handle.clone()),
            };
            let router = match self.guard {
                Some(mode) => guard::router(guard::Machines { handle, cluster }, mode, liqo),
                None => webhook::router(cluster),
            };
            let (connections, certificate) = (webhook::connections(), Some(certificate));
            listeners.push(open("the webhook", address, router, connections, certificate).await?);
        }
        Ok(listeners)
    }
}

fn of_webhook(arguments: &WebhookOptions) -> Result<Option<(SocketAddr, Certificate)>> {
    let (Some(address), Some(chain), Some(key)) = (
        arguments.webhook,
        arguments.webhook_tls_cert.clone(),
        arguments.webhook_tls_key.clone(),
    ) else {
        return Ok(None);
    };
    let certificate = Certificate::read(CertificateFiles {
        chain,
        key,
        client_ca: arguments.webhook_client_ca.clone(),
    })?;
    Ok(Some((address, certificate)))
}

async fn open(
    what: &str,
    address: SocketAddr,
    router: Router,
    connections: Connections,
    certificate: Option<Certificate>,
) -> Result<Listener> {
    let socket = listen(address).await?;
    tracing::info!(address = %socket.local_addr()?, "listens for {what}");
    Ok(Listener {
        socket,
        router,
        certificate,
        connections,
    })
}
