//! The access to an API server: by a kubeconfig, or from inside the cluster.

use std::fmt;

use axum::http::{HeaderValue, header::USER_AGENT};
use kube::{Config, config::KubeConfigOptions};
use liqo_auth_kube::config_of;
use pem::{EncodeConfig, LineEnding, Pem, encode_config};

use super::{
    kubeconfig_check::{check_fields, check_login},
    kubeconfig_file,
    site::Connection,
};
use crate::failure::{Failure, Result};

/// How others reach the API server.
pub(super) struct Endpoint {
    pub(super) api_server: String,
    pub(super) ca: Option<String>,
}

impl Connection {
    /// The current context of the default kubeconfig, by its name.
    pub(crate) fn current() -> Result<Self> {
        Ok(Self {
            context: kubeconfig_file::read(None)?.current_context,
            ..Self::default()
        })
    }
}

impl Endpoint {
    pub(super) fn of(config: &Config) -> Self {
        let certificates = config.root_cert.iter().flatten();
        // Peers pin the text, so it is in the form that kubeconfigs have.
        let form = EncodeConfig::new().set_line_ending(LineEnding::LF);
        let pem: String = certificates
            .map(|der| encode_config(&Pem::new("CERTIFICATE", der.as_slice()), form))
            .collect();
        Self {
            api_server: config
                .cluster_url
                .to_string()
                .trim_end_matches('/')
                .to_owned(),
            ca: Some(pem).filter(|pem| !pem.is_empty()),
        }
    }
}

/// What a client needs, from a kubeconfig or from the cluster itself.
pub(super) async fn config(connection: &Connection) -> Result<Config> {
    Ok(with_user_agent(access(connection).await?))
}

/// The same with the name of this program, which the API server's audit log shows.
pub(crate) fn with_user_agent(mut config: Config) -> Config {
    let program = HeaderValue::from_static(concat!("liqo-auth/", env!("CARGO_PKG_VERSION")));
    config.headers.push((USER_AGENT, program));
    config
}

async fn access(connection: &Connection) -> Result<Config> {
    if connection.in_cluster {
        return Config::incluster().map_err(|error| {
            Failure::usage(format!(
                "--in-cluster: this program does not run in a pod with a service account: {error}"
            ))
        });
    }
    let kubeconfig = kubeconfig_file::read(connection.kubeconfig.as_deref())?;
    let options = KubeConfigOptions {
        context: connection.context.clone(),
        cluster: connection.cluster.clone(),
        user: connection.user.clone(),
    };
    check_fields(&kubeconfig, &options).map_err(unusable)?;
    let config = config_of(kubeconfig, &options).await.map_err(unusable)?;
    check_login(&config).map_err(unusable)?;
    Ok(config)
}

fn unusable(error: impl fmt::Display) -> Failure {
    // The text of the error already contains the text of its cause.
    Failure::usage(format!("the kubeconfig cannot be used: {error}"))
}
