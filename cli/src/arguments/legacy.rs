//! The command line of the token protocol.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use clap::{Args, Subcommand};
use liqo_auth::model::{ApiServerUrl, ClusterId, NamespaceName, ProtocolVersion};

use super::Making;

#[derive(Debug, Subcommand)]
pub(crate) enum Legacy {
    /// Authenticate with a foreign cluster, with access to both homes, over HTTPS on 127.0.0.1
    #[command(visible_alias = "auth", after_help = AUTHENTICATE_EXAMPLES)]
    Authenticate(LegacyAuthenticate),
    /// Answer home clusters over HTTPS (on the foreign cluster)
    #[command(after_help = SERVE_EXAMPLES)]
    Serve(Serve),
    /// Ask a foreign cluster for an identity (on the home cluster)
    #[command(after_help = PEER_EXAMPLES)]
    Peer(Peer),
    /// Get this cluster's token, or the certificate of its server
    #[command(subcommand)]
    Get(LegacyGet),
    /// Set a foreign cluster's token
    #[command(subcommand)]
    Set(LegacySet),
    /// Take the identity and the rights of a home cluster back (on the foreign cluster)
    Release {
        /// The cluster ID of the home cluster
        #[arg(long, value_name = "ID")]
        remote_cluster_id: ClusterId,
    },
    /// Show the state of each foreign and each home cluster
    Status,
}

/// A required flag, so that nobody trusts the holders of the token by accident.
#[derive(Debug, Args)]
pub(crate) struct Trust {
    /// Speak the token protocol: each holder of the token gets an identity, under any cluster
    /// ID that has no identity yet
    #[arg(long, required = true)]
    pub(crate) trust_whoever_holds_the_token: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) trust: Trust,
    /// The address to listen on; port 0 selects a free port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8443")]
    pub(crate) listen: SocketAddr,
    /// The server's certificate with its chain (PEM), instead of the home's own certificate
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The private key of this certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// A name or an address by which peers reach this server, for the home's own certificate;
    /// it may be repeated
    #[arg(long = "tls-name", value_name = "NAME", conflicts_with = "tls_cert")]
    pub(crate) tls_names: Vec<String>,
    /// The cluster's display name; by default, its ID
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// The lifetime of new tokens, such as 24h; by default, a token never expires
    #[arg(long, value_name = "DURATION", value_parser = crate::values::durations::whole_seconds)]
    pub(crate) token_lifetime: Option<Duration>,
    /// Accept a token from one home cluster only, and replace it after that
    #[arg(long)]
    pub(crate) single_use_token: bool,
    /// Accept the empty token from everybody: this switches authentication off
    #[arg(long)]
    pub(crate) allow_empty_token_from_anyone: bool,
    /// Answer home clusters of Liqo 0.2 with service accounts in this namespace, which must
    /// contain nothing else
    #[arg(long, value_name = "NAMESPACE")]
    pub(crate) service_accounts: Option<NamespaceName>,
    /// The maximum number of connections at once, of which one address has an eighth; further
    /// connections wait
    #[arg(long, value_name = "NUMBER", default_value_t = 1024, value_parser = connections)]
    pub(crate) max_connections: usize,
}

#[derive(Debug, Args)]
pub(crate) struct Peer {
    /// The name of the ForeignCluster; it is created if it does not exist
    #[arg(long, value_name = "NAME")]
    pub(crate) foreign_cluster: ClusterId,
    /// The URL of its authentication service; by default, the URL in the ForeignCluster
    #[arg(long, value_name = "URL")]
    pub(crate) auth_url: Option<ApiServerUrl>,
    /// The certificates to trust (PEM): the service's own certificate, or CAs; by default,
    /// those that this system trusts
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
    /// This cluster's display name; by default, its ID
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// The peer's protocol version: 0.2, 0.3 or 0.4 (to 0.10); by default, its answers show it
    #[arg(long, value_name = "VERSION")]
    pub(crate) protocol_version: Option<ProtocolVersion>,
    /// The peer's API server has a publicly trusted certificate: no CA is needed
    #[arg(long)]
    pub(crate) publicly_trusted: bool,
    /// Accept any TLS certificate if the ForeignCluster has insecureSkipTLSVerify, in the
    /// compatible policy only: an attacker on the network can then get the token
    #[arg(long)]
    pub(crate) skip_tls_verification_where_the_foreign_cluster_says_so: bool,
    /// How long to try again if no answer comes, such as 30s
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = crate::values::durations::duration)]
    pub(crate) wait: Duration,
}

#[derive(Debug, Args)]
pub(crate) struct LegacyAuthenticate {
    #[command(flatten)]
    pub(crate) trust: Trust,
    /// The home of the foreign cluster
    #[arg(long, value_name = "DIR", env = "LIQO_AUTH_REMOTE_HOME")]
    pub(crate) remote_home: PathBuf,
    /// Make the homes that do not exist yet
    #[arg(long)]
    pub(crate) init: bool,
    #[command(flatten)]
    pub(crate) making: Making,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LegacyGet {
    /// Only the text of this cluster's token: each holder of the token gets an identity
    Token,
    /// The certificate of this cluster's server (PEM), for the home clusters to trust
    Certificate,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LegacySet {
    /// Set the token that the administrator of a foreign cluster has sent
    #[command(after_help = TOKEN_EXAMPLES)]
    RemoteToken {
        /// The cluster ID of the foreign cluster
        #[arg(long, value_name = "ID")]
        remote_cluster_id: ClusterId,
        /// The file with the token, since other users can see a command line; "-" for standard input
        #[arg(long, value_name = "FILE", default_value = "-")]
        token_file: PathBuf,
    },
}

fn connections(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number @ 1..=65_536) => Ok(number),
        _ => Err("expected a number from 1 to 65536".to_owned()),
    }
}

const AUTHENTICATE_EXAMPLES: &str = "\
Examples:
  liqo-auth legacy authenticate --init --home ./cl-home --remote-home ./cl-foreign \\
      --trust-whoever-holds-the-token";

const SERVE_EXAMPLES: &str = "\
Examples:
  liqo-auth legacy serve --home ./cl-foreign --trust-whoever-holds-the-token
  liqo-auth legacy serve --home ./cl-foreign --trust-whoever-holds-the-token \\
      --listen 0.0.0.0:8443 --tls-name foreign.example --token-lifetime 24h --single-use-token
  liqo-auth legacy serve --home ./cl-foreign --trust-whoever-holds-the-token \\
      --listen 0.0.0.0:8443 --tls-cert tls.crt --tls-key tls.key

The server logs to standard error, one JSON object in each line. SIGTERM and
SIGINT stop it after the requests in progress. Other commands may use the home
while the server runs. After a change of the files by hand, send SIGHUP.";

const PEER_EXAMPLES: &str = "\
Examples:
  liqo-auth legacy get token --home ./cl-foreign |
      liqo-auth legacy set remote-token --home ./cl-home --remote-cluster-id cl-foreign
  liqo-auth legacy get certificate --home ./cl-foreign > cl-foreign.crt
  liqo-auth legacy peer --home ./cl-home --foreign-cluster cl-foreign \\
      --auth-url https://127.0.0.1:8443 --ca cl-foreign.crt
  liqo-auth legacy peer --home ./cl-home --foreign-cluster cl-foreign \\
      --auth-url https://auth.example.com";

const TOKEN_EXAMPLES: &str = "\
Examples:
  liqo-auth legacy set remote-token --home ./cl-home --remote-cluster-id cl-foreign < token.txt";
