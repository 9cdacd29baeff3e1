//! The addresses where `run` answers.

use std::{net::SocketAddr, path::PathBuf};

use clap::Args;

/// The addresses of the probes, the metrics and the webhook.
#[derive(Debug, Args)]
pub(crate) struct ListenOptions {
    /// Where to answer the kubelet's probes, /healthz and /readyz
    #[arg(
        long,
        value_name = "ADDRESS",
        default_value = "127.0.0.1:8080",
        alias = "listen"
    )]
    pub(crate) probes: SocketAddr,
    /// Where to answer /metrics; without it, nowhere
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) metrics: Option<SocketAddr>,
    /// The bearer token that whoever reads the metrics has to show; a new one counts at once
    #[arg(long, value_name = "FILE", requires = "metrics")]
    pub(crate) metrics_token_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) webhook: WebhookOptions,
}

/// The admission webhook beside the controllers.
#[derive(Debug, Args)]
pub(crate) struct WebhookOptions {
    /// Where to answer the API server's admission reviews of Tenants and ResourceSlices,
    /// by HTTPS
    #[arg(long, value_name = "ADDRESS", requires_all = ["webhook_tls_cert", "webhook_tls_key"])]
    pub(crate) webhook: Option<SocketAddr>,
    /// The certificate of the webhook, and its chain (PEM); it is read again after a change
    #[arg(long, value_name = "FILE", requires = "webhook")]
    pub(crate) webhook_tls_cert: Option<PathBuf>,
    /// The private key of this certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "webhook")]
    pub(crate) webhook_tls_key: Option<PathBuf>,
    /// The CA of the API server's client certificate (PEM): who has none by this CA is not
    /// answered. Not the CA of the cluster's users, since peers have certificates by it
    #[arg(long, value_name = "FILE", requires = "webhook")]
    pub(crate) webhook_client_ca: Option<PathBuf>,
}
