//! The command line.

mod administration;
mod answering;
pub(crate) mod audit;
mod aws;
mod continued;
mod examples;
mod exporting;
mod first_page;
mod get;
mod habits;
mod inspect;
mod kinds;
mod legacy;
mod listening;
mod nonce;
pub(crate) mod output_format;
mod pages;
pub(crate) mod peering_user;
mod plugin;
mod repeated;
mod rotate;
pub(crate) mod running;
mod set;
mod sign_again;
pub(crate) mod sites;
mod slices;
mod start;
mod switches;
pub(crate) mod transcript;
mod trial;
mod version;

use std::{path::PathBuf, time::Duration};

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use liqo_auth::{
    crypto::Fingerprint,
    model::{ApiServerUrl, ClusterId, NamespaceName},
};

use crate::{
    environment::Now,
    home::Signer,
    output::ColorChoice,
    values::{key_algorithm::KeyAlgorithm, policy_name::PolicyName},
};

pub(crate) use administration::{
    Activate, Approve, Cordon, Deny, Doctor, Drain, FailIf, NamedSlice, NamedTenants, Picture,
    Release, Remote, Renew, Replicate, Status, StatusFormat, Unauthenticate, Uncordon,
};
pub(crate) use answering::{Answered, Answering};
pub(crate) use aws::{AwsKeyFormat, DeleteAwsKey, GetAwsKeys, SetAwsUser};
use examples::*;
pub(crate) use exporting::{Export, GenerateCarried};
pub(crate) use get::{Get, GetKubeconfig, GetNonce, List, ListFormat, Shown};
pub(crate) use habits::explained;
pub(crate) use inspect::Inspect;
pub(crate) use legacy::{Legacy, LegacyAuthenticate, LegacyGet, LegacySet, Peer, Serve};
pub(crate) use listening::{ListenOptions, WebhookOptions};
pub(crate) use nonce::{CreateNonce, DeleteNonce};
pub(crate) use pages::{command, parser};
pub(crate) use plugin::asks_for_a_plugin;
pub(crate) use rotate::{Rotate, RotateKey};
pub(crate) use running::{GuardMode, Rbac, Run};
pub(crate) use set::Set;
pub(crate) use sign_again::SignAgain;
use sites::{LiqoNamespace, REMOTE_NAMESPACE, also_without_liqo};
pub(crate) use sites::{LocalSite, RemoteSite};
pub(crate) use slices::{CreateResourceSlice, DeleteResourceSlice};
pub(crate) use version::Version;

/// Authenticate Liqo clusters, by their API servers or by files.
///
/// The consumer uses resources of the provider. A cluster is named by its kubeconfig, or
/// by its home. A home is a folder that represents a cluster. It contains the cluster's
/// keys and, as Kubernetes manifests, the objects that Liqo's authentication stores in
/// the cluster's API server.
#[derive(Debug, Parser)]
#[command(name = "liqo-auth", version, after_help = EXIT_CODES, after_long_help = LONG_HELP)]
#[command(arg_required_else_help = true, propagate_version = true)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Args)]
pub(crate) struct Global {
    #[command(flatten)]
    pub(crate) local: LocalSite,
    /// Which forms of a peer's messages to accept; the rules on keys and names are always the same
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        help_heading = "Global options"
    )]
    pub(crate) policy: PolicyName,
    /// When to print in colours
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        value_name = "WHEN",
        help_heading = "Global options"
    )]
    pub(crate) color: ColorChoice,
    /// Use this time (RFC 3339), or a time in the future (+300d), instead of the present time:
    /// to judge old files, and to preview renewals. Implies --dry-run
    #[arg(
        long,
        global = true,
        value_name = "TIME",
        help_heading = "Global options"
    )]
    pub(crate) now: Option<Now>,
    /// With --now: write as if it were that time, instead of a preview
    #[arg(long, global = true, help_heading = "Global options")]
    pub(crate) write_at_this_time: bool,
    /// Change nothing, and show what the command would write: in numbers, and as a diff
    #[arg(long, global = true, help_heading = "Global options")]
    pub(crate) dry_run: bool,
    /// Do not ask for a confirmation. Without a terminal, `unauthenticate` and `release` require
    /// this, and the other commands do not ask
    #[arg(
        short = 'y',
        long,
        visible_alias = "yes",
        global = true,
        help_heading = "Global options"
    )]
    pub(crate) skip_confirm: bool,
    /// Log on standard error what the command decides and changes; with -v=4, also what it
    /// reads; with -v=6, also each request to the API server
    #[arg(
        short,
        long,
        alias = "v",
        global = true,
        value_name = "LEVEL",
        num_args = 0..=1,
        require_equals = true,
        default_value_t = 0,
        default_missing_value = "1",
        hide_default_value = true,
        value_parser = habits::level,
        help_heading = "Global options"
    )]
    pub(crate) verbose: u8,
    /// How long to wait for the other side, such as 90s, 2m30s or 1d: for a cluster's signer,
    /// for the controllers that answer a peering user, for a slice's decision, and with --wait
    #[arg(
        long,
        global = true,
        value_name = "DURATION",
        default_value = "30s",
        value_parser = crate::values::durations::duration,
        help_heading = "Global options"
    )]
    pub(crate) timeout: Duration,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a home: cluster ID, keys, API server and CA
    #[command(after_help = INIT_EXAMPLES)]
    Init(Init),
    /// Authenticate with a provider, with access to both clusters
    ///
    /// The kubeconfig of one of the provider's peering users is enough for the provider. Then
    /// the provider's own controllers answer, and the command waits for them.
    #[command(visible_alias = "auth", after_help = AUTHENTICATE_EXAMPLES, mut_arg(REMOTE_NAMESPACE, also_without_liqo))]
    Authenticate(Authenticate),
    /// Create a nonce or a resource slice
    ///
    /// The provider creates a nonce, and the consumer a resource slice.
    #[command(subcommand, after_help = MANUAL_FLOW)]
    Create(Create),
    /// Delete a nonce, a resource slice, a peering user or an AWS key
    ///
    /// The consumer deletes a resource slice, and the provider the others.
    #[command(subcommand)]
    Delete(Delete),
    /// Get a kubeconfig or a nonce, or list objects
    ///
    /// The objects are tenants, identities, resource slices, renews, nonces and AWS keys.
    #[command(subcommand)]
    Get(Get),
    /// Generate what the peer applies, or a peering user
    ///
    /// The consumer generates the Tenant, and the provider the Identity.
    #[command(subcommand, after_help = MANUAL_FLOW)]
    Generate(Generate),
    /// Apply what the peer sent
    ///
    /// This is a Tenant, an Identity, a ResourceSlice or a Renew.
    #[command(after_help = APPLY_EXAMPLES)]
    Apply(Apply),
    /// Print what a home's real cluster takes by `kubectl apply`
    #[command(after_help = exporting::EXAMPLES)]
    Export(Export),
    /// Explain an object: what is verified, and what is wrong
    #[command(after_help = INSPECT_EXAMPLES)]
    Inspect(Inspect),
    /// Change an address, a CA, the renewal, or an AWS user
    #[command(subcommand, after_help = SET_EXAMPLES)]
    Set(Set),
    /// Replace a key of this cluster
    ///
    /// It is a key that the cluster has as a consumer.
    #[command(subcommand, after_help = ROTATE_EXAMPLES)]
    Rotate(Rotate),
    /// Show peers, certificates, slices, and who waits for whom
    Status(Status),
    /// Find what keeps this cluster from working, and the remedy
    Doctor(Doctor),
    /// Carry slices and renewals to the provider, and answers back
    ///
    /// On clusters, Liqo's replicator does it.
    Replicate(Replicate),
    /// Renew the certificates that are due
    #[command(after_help = RENEW_EXAMPLES)]
    Renew(Renew),
    /// Stop granting anything new to a tenant or a slice
    ///
    /// The provider does this.
    #[command(subcommand, after_help = CORDON_EXAMPLES)]
    Cordon(Cordon),
    /// Take a tenant's rights and slices back
    ///
    /// The provider does this.
    #[command(subcommand)]
    Drain(Drain),
    /// Lift a cordon or a drain
    ///
    /// The provider lifts the cordon or the drain of a tenant, or the cordon of a slice.
    #[command(subcommand)]
    Uncordon(Uncordon),
    /// Lift the cordon or the drain of a tenant
    ///
    /// The provider does this.
    #[command(subcommand)]
    Activate(Activate),
    /// Approve a request that waits for approval
    ///
    /// The provider approves a request, or what Liqo has granted before.
    #[command(subcommand, after_help = APPROVE_EXAMPLES)]
    Approve(Approve),
    /// Deny a request that waits for approval
    ///
    /// The provider does this.
    #[command(subcommand, after_help = APPROVE_EXAMPLES)]
    Deny(Deny),
    /// Have a request signed again
    ///
    /// The provider does this after a denied or failed request, or before a renewal is due.
    #[command(subcommand, after_help = sign_again::EXAMPLES)]
    SignAgain(SignAgain),
    /// Forget a peer's pins, after its owner has reported a change
    Release(Release),
    /// End the authentication with a provider
    #[command(visible_alias = "unauth", after_help = UNAUTHENTICATE_EXAMPLES, mut_arg(REMOTE_NAMESPACE, also_without_liqo))]
    Unauthenticate(Unauthenticate),
    /// Print the code of a peering, for two people to compare
    #[command(after_help = transcript::EXAMPLES)]
    Transcript(transcript::TranscriptOf),
    /// Show or verify the log of this home's decisions
    #[command(subcommand, after_help = audit::EXAMPLES)]
    Audit(audit::Audit),
    /// Run the controllers of a cluster
    ///
    /// They take the place of a person's commands.
    #[command(after_help = running::EXAMPLES)]
    Run(Box<Run>),
    /// Print the least rights that the controllers need
    ///
    /// `kubectl apply -f -` takes them.
    Rbac(Rbac),
    /// Speak the shared-token protocol of Liqo 0.2 to 0.10
    #[command(subcommand)]
    Legacy(Legacy),
    /// Print the script that completes command lines in a shell
    #[command(after_help = COMPLETION_EXAMPLES)]
    Completion {
        /// The shell
        shell: Shell,
    },
    /// Print the version of this program
    Version(Version),
    /// Print the manual page, or write the pages of all commands
    Man {
        /// Write the pages of all commands into this folder
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
    /// Print the global options, which every command takes
    Options,
}

#[derive(Debug, Args)]
pub(crate) struct Init {
    /// The cluster's ID; by default, the folder's name in lower case
    #[arg(long, value_name = "ID")]
    pub(crate) cluster_id: Option<ClusterId>,
    #[command(flatten)]
    pub(crate) making: Making,
    /// Who signs the requests of peers
    #[arg(long, value_enum, default_value_t, value_name = "SIGNER")]
    pub(crate) signer: Signer,
    /// The home stands for a real cluster: after each change, say what to apply there. Implied
    /// by --ca-key and --signer kubernetes
    #[arg(long)]
    pub(crate) for_cluster: bool,
    /// The certificate of the CA that signs for peers (PEM), instead of a new CA
    #[arg(long, value_name = "FILE", requires = "ca_key")]
    pub(crate) ca_cert: Option<PathBuf>,
    /// The private key of this CA (PEM: PKCS#8, PKCS#1 or SEC1)
    #[arg(long, value_name = "FILE", requires = "ca_cert")]
    pub(crate) ca_key: Option<PathBuf>,
    /// The CA of the API server's certificate (PEM), if it is not the CA that signs for peers
    #[arg(long, value_name = "FILE")]
    pub(crate) api_server_ca: Option<PathBuf>,
    /// Require a person's approval of each peer's request before it is signed
    #[arg(long)]
    pub(crate) require_approval: bool,
    /// Make a key of its own for each provider, so that providers cannot tell that they
    /// have the same consumer
    #[arg(long)]
    pub(crate) key_per_provider: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Making {
    /// The algorithm of the cluster's keys
    #[arg(long, value_enum, default_value_t, value_name = "ALGORITHM")]
    pub(crate) key_algorithm: KeyAlgorithm,
    /// The URL of the cluster's API server, as peers reach it
    #[arg(long, value_name = "URL", default_value = "https://127.0.0.1:6443")]
    pub(crate) api_server: ApiServerUrl,
}

#[derive(Debug, Args)]
pub(crate) struct Authenticate {
    #[command(flatten)]
    pub(crate) remote: RemoteSite,
    #[command(flatten)]
    pub(crate) liqo: LiqoNamespace,
    /// Make the homes that do not exist yet
    #[arg(long)]
    pub(crate) init: bool,
    /// The local cluster's ID, for a new home; by default, the folder's name
    #[arg(long, value_name = "ID", requires = "init")]
    pub(crate) cluster_id: Option<ClusterId>,
    /// The remote cluster's ID, for a new home; by default, the folder's name
    #[arg(long, value_name = "ID", requires = "init")]
    pub(crate) remote_cluster_id: Option<ClusterId>,
    /// The URL of the remote cluster's API server, for a new home
    #[arg(
        long,
        value_name = "URL",
        requires = "init",
        default_value = "https://127.0.0.1:6443"
    )]
    pub(crate) remote_api_server: ApiServerUrl,
    #[command(flatten)]
    pub(crate) making: Making,
    /// Reach the remote cluster's API server through Liqo's network, by its proxy there, unless
    /// --proxy-url names another one
    #[arg(long)]
    pub(crate) in_band: bool,
    #[command(flatten)]
    pub(crate) known: Known,
    #[command(flatten)]
    pub(crate) answering: Answering,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Create {
    /// Create a nonce for a consumer to sign
    Nonce(CreateNonce),
    /// Ask a provider for a part of its resources
    #[command(name = "resourceslice", visible_aliases = kinds::RESOURCE_SLICE, after_help = CREATE_RESOURCE_SLICE)]
    ResourceSlice(Box<CreateResourceSlice>),
}

#[derive(Debug, Subcommand)]
pub(crate) enum Delete {
    /// Take the invitation of a consumer back
    Nonce(DeleteNonce),
    /// Give a part of a provider's resources back
    #[command(name = "resourceslice", visible_aliases = kinds::RESOURCE_SLICE)]
    ResourceSlice(DeleteResourceSlice),
    /// Delete an existing user with the permissions to peer with this cluster
    PeeringUser(peering_user::DeletePeeringUser),
    /// Forget an access key that is deleted at AWS
    #[command(after_help = aws::EXAMPLES)]
    AwsKey(DeleteAwsKey),
}

#[derive(Debug, Subcommand)]
pub(crate) enum Generate {
    /// Generate the Tenant to be applied on the remote provider cluster
    #[command(visible_aliases = kinds::TENANT)]
    Tenant(GenerateTenant),
    /// Generate the Identity to be applied on the remote consumer cluster
    #[command(visible_aliases = kinds::IDENTITY)]
    Identity(GenerateIdentity),
    /// Generate the replica of a slice for the provider, or the provider's answer to it
    #[command(name = "resourceslice", visible_aliases = kinds::RESOURCE_SLICE)]
    ResourceSlice(GenerateCarried),
    /// Generate the replica of a Renew for the provider, or the provider's answer to it
    #[command(visible_alias = "renews")]
    Renew(GenerateCarried),
    /// Generate a new user with the permissions to peer with this cluster
    PeeringUser(peering_user::GeneratePeeringUser),
}

#[derive(Debug, Args)]
pub(crate) struct GenerateTenant {
    /// The ID of the remote cluster
    #[arg(long, value_name = "ID")]
    pub(crate) remote_cluster_id: ClusterId,
    /// The nonce to sign for the authentication with the remote cluster; "-" reads it
    /// from standard input; by default, the nonce that was signed before
    #[arg(long, value_name = "NONCE")]
    pub(crate) nonce: Option<String>,
    /// The namespace where the Tenant is to be applied; by default, the provider's default one
    #[arg(long, value_name = "NAMESPACE")]
    pub(crate) remote_tenant_namespace: Option<String>,
    #[command(flatten)]
    pub(crate) known: Known,
    /// The format of the manifest
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: Format,
}

/// The administrator's settings for a provider. They are stored in home.yaml.
#[derive(Debug, Default, Args)]
pub(crate) struct Known {
    /// The URL of the proxy to use for the communication with the remote cluster; "" for none
    #[arg(long, value_name = "URL")]
    pub(crate) proxy_url: Option<String>,
    /// The fingerprint of a key that the provider has to prove; it may be repeated
    #[arg(long = "provider-key", value_name = "SHA256:HEX")]
    pub(crate) provider_keys: Vec<Fingerprint>,
    /// The Identity may come without the proof of the key that the provider's nonce promised
    #[arg(long)]
    pub(crate) accept_unproven_provider: bool,
    /// The provider's API server has a publicly trusted certificate: no CA is needed
    #[arg(long)]
    pub(crate) publicly_trusted: bool,
    /// The provider runs on EKS: its Identity may carry an AWS user's keys
    #[arg(long)]
    pub(crate) accept_aws: bool,
}

#[derive(Debug, Args)]
pub(crate) struct GenerateIdentity {
    /// The ID of the remote cluster
    #[arg(long, value_name = "ID")]
    pub(crate) remote_cluster_id: ClusterId,
    /// The remote namespace where the Identity is to be applied; by default, the consumer's
    /// default one
    #[arg(long, value_name = "NAMESPACE")]
    pub(crate) remote_tenant_namespace: Option<NamespaceName>,
    /// The format of the manifest
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: Format,
}

#[derive(Debug, Args)]
pub(crate) struct Apply {
    /// The file with the manifests; "-" for standard input; it may be repeated
    #[arg(short, long = "filename", value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) known: Known,
    #[command(flatten)]
    pub(crate) answering: Answering,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    #[default]
    Yaml,
    Json,
}
